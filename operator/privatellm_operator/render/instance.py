"""All children of an instance, from the facts that decide what they look like.

Builders are pure: they read the facts, build new dictionaries and never change what they were given. A
child carries a digest of its own manifest, so that a label which we no longer want is noticed too, and the
instance's UID as a label beside its owner reference, so that it is known when somebody takes that away.
"""

import hashlib
import json
from dataclasses import dataclass, field

from privatellm import labels
from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import child_name, label_value, slug_of
from privatellm_operator.settings import Settings

DIGEST_ANNOTATION = f"{kinds.GROUP}/applied"
"""Digest of the manifest that we applied last."""


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """What the children of an instance are built from.

    Attributes:
        instance: The instance.
        model: The model that it names.
        settings: What the platform team decided.
        backend_key: The key that the edge shows the model server.
    """

    instance: LLMInstance
    model: LLMModel
    settings: Settings
    backend_key: str = field(repr=False)

    @property
    def namespace(self) -> str:
        """The namespace of the instance and of its children."""
        return self.instance.metadata.namespace

    @property
    def name(self) -> str:
        """The name of most children."""
        return child_name(self.instance.metadata.name)

    @property
    def slug(self) -> str:
        """The path segment that leads to the instance."""
        return slug_of(self.instance.metadata.uid)


def selector_labels(instance: LLMInstance) -> dict[str, str]:
    """Return the labels that select the pods; they hold only what never changes."""
    return {
        labels.NAME: labels.MODEL_SERVER,
        labels.LLM_INSTANCE: label_value(instance.metadata.name),
    }


def common_labels(instance: LLMInstance) -> dict[str, str]:
    """Return the labels of every child and of every pod."""
    return selector_labels(instance) | {
        labels.INSTANCE: label_value(instance.metadata.name),
        labels.PART_OF: labels.PART_OF_US,
        labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
    }


def child(kind: Kind, facts: InstanceFacts, body: Manifest, *, name: str = "") -> Manifest:
    """Return a child with its name, labels and owner around ``body``.

    Args:
        kind: The child's kind.
        facts: Whose child it is.
        body: Its ``spec`` or ``data``; may carry ``metadata`` with annotations.
        name: A name other than the usual one.
    """
    instance = facts.instance
    metadata = {
        "name": name or facts.name,
        "namespace": facts.namespace,
        "labels": common_labels(instance) | {labels.INSTANCE_UID: instance.metadata.uid},
        "ownerReferences": [_owner(instance)],
    }
    metadata |= body.get("metadata", {})
    return with_digest(
        {"apiVersion": kind.api_version, "kind": kind.name} | body | {"metadata": metadata}
    )


def with_digest(manifest: Manifest) -> Manifest:
    """Return the manifest with the digest of itself among its annotations."""
    metadata = manifest["metadata"]
    annotations = metadata.get("annotations", {}) | {DIGEST_ANNOTATION: digest(manifest)}
    return manifest | {"metadata": metadata | {"annotations": annotations}}


def digest(value: Manifest) -> str:
    """Return a short digest of a JSON value that does not depend on the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _owner(instance: LLMInstance) -> Manifest:
    return {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": kinds.LLM_INSTANCE.name,
        "name": instance.metadata.name,
        "uid": instance.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
