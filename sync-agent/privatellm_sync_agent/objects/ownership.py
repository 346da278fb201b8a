"""Whose copy an object is: the marks on local copies, and those on copies in a workspace.

Local copies carry upstream's labels and annotations, so an existing deployment's copies are found, plus the
UID of the object they mirror. Names are labelled by their hash (a label value ends at 63 characters) and
annotated in full. Copies in a workspace carry one opaque mark that says nothing about the provider.
"""

import hashlib
from dataclasses import dataclass

from privatellm.kube import Manifest
from privatellm_sync_agent.naming.hashes import sha1
from privatellm_sync_agent.naming.names import Identity

DOMAIN = "syncagent.kcp.io"
AGENT = f"{DOMAIN}/agent-name"
CLUSTER = f"{DOMAIN}/remote-object-cluster"
NAMESPACE_HASH = f"{DOMAIN}/remote-object-namespace-hash"
NAME_HASH = f"{DOMAIN}/remote-object-name-hash"
NAMESPACE = f"{DOMAIN}/remote-object-namespace"
NAME = f"{DOMAIN}/remote-object-name"
WORKSPACE_PATH = f"{DOMAIN}/remote-object-workspace-path"
UID = f"{DOMAIN}/remote-object-uid"
MEMORY = f"{DOMAIN}/last-copied"
"""Annotation: the digests of :class:`~privatellm_sync_agent.objects.state.Memory`."""

COPY = f"{DOMAIN}/copy"
"""Label on every copy in a workspace, so that customers can narrow a permission claim to copies."""

COPY_OF = f"{DOMAIN}/copy-of"
"""Label on a copy in a workspace: a digest of the agent and of the object it was made for."""

RELATED_PREFIX = f"related-resources.{DOMAIN}/"
"""Annotations on the customer's object that name the copies made for it."""

LEGACY_FINALIZER = f"{DOMAIN}/cleanup"
"""Upstream's finalizer, which every one of its agents shares."""

SOURCE_GENERATION = f"{DOMAIN}/source-generation"


def finalizer_of(agent: str) -> str:
    """Return the finalizer of one agent; two agents on one object must not share theirs."""
    return f"{DOMAIN}/cleanup-{sha1(agent)[:12]}"


@dataclass(frozen=True, slots=True)
class Owner:
    """The object of a workspace that a local copy belongs to, and the agent that made it."""

    agent: str
    identity: Identity
    uid: str
    workspace_path: str = ""

    def labels(self) -> dict[str, str]:
        """Return the labels of the local copy."""
        return {
            AGENT: self.agent,
            CLUSTER: self.identity.cluster,
            NAME_HASH: sha1(self.identity.name),
            **({NAMESPACE_HASH: sha1(self.identity.namespace)} if self.identity.namespace else {}),
        }

    def annotations(self) -> dict[str, str]:
        """Return the annotations of the local copy."""
        known = {
            NAME: self.identity.name,
            NAMESPACE: self.identity.namespace,
            WORKSPACE_PATH: self.workspace_path,
            UID: self.uid,
        }
        return {key: value for key, value in known.items() if value}

    def owns(self, local: Manifest) -> bool:
        """Return whether a local object is this agent's copy of this object, by name.

        The UID is left out on purpose: an object that was re-created or restored under its name takes
        its copy over, and nobody loses a running service to a restored backup.
        """
        metadata = local["metadata"]
        labels = metadata.get("labels") or {}
        annotations = metadata.get("annotations") or {}
        wanted = self.labels()
        found = {
            key: labels[key] for key in (AGENT, CLUSTER, NAME_HASH, NAMESPACE_HASH) if key in labels
        }
        return (
            found == wanted
            and annotations.get(NAME) == self.identity.name
            and annotations.get(NAMESPACE, "") == self.identity.namespace
        )

    def copy_mark(self, identifier: str) -> str:
        """Return the mark on copies that are made in the workspace for one related resource."""
        parts = (self.agent, self.identity.cluster, self.uid, identifier)
        return hashlib.sha256("|".join(parts).encode()).hexdigest()[:40]


def remote_identity(local: Manifest) -> Identity | None:
    """Return which object a local copy says it mirrors; ``None`` when it carries no such marks."""
    metadata = local["metadata"]
    cluster = (metadata.get("labels") or {}).get(CLUSTER)
    annotations = metadata.get("annotations") or {}
    if not cluster or NAME not in annotations:
        return None
    return Identity(cluster, annotations.get(NAMESPACE, ""), annotations[NAME])


def marked_as_copy(manifest: Manifest, mark: str) -> bool:
    """Return whether an object in a workspace is our copy with this mark."""
    return bool((manifest["metadata"].get("labels") or {}).get(COPY_OF) == mark)
