"""What a provider grants in each local namespace that the agent makes, beyond upstream's fields.

An annotation ``onboard.syncagent.kcp.io/<identifier>`` on the PublishedResource holds a JSON object:
``clusterRole`` is bound to ``serviceAccount`` (``<namespace>/<name>``). So the part that serves a kind gets
rights where its customers are, and no others. The agent's own rights are the limit: Kubernetes lets it bind
the roles that it has the verb ``bind`` for. Upstream ignores the annotation.
"""

import re
from typing import Annotated

from pydantic import Field, ValidationError

from privatellm.errors import InvalidInputError, InvalidObjectError
from privatellm.foreign import parse_json
from privatellm.kube import Manifest
from privatellm.kube.kinds import ROLE_BINDING
from privatellm_sync_agent.published.model import SpecModel

PREFIX = "onboard.syncagent.kcp.io/"

_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_ACCOUNT = re.compile(rf"{_LABEL}/{_LABEL}(\.{_LABEL})*")
_PATH_SEGMENT = r"^[A-Za-z0-9][^/%]*$"
"""What the name of a role and of a binding may be: a segment of a path."""


class Grant(SpecModel):
    """One role for one service account."""

    cluster_role: Annotated[str, Field(pattern=_PATH_SEGMENT, max_length=253)]
    service_account: str

    @property
    def binding_name(self) -> str:
        """Name of the RoleBinding: that of the role, so one that exists already is found."""
        return self.cluster_role

    def binding(self, namespace: str, labels: dict[str, str]) -> Manifest:
        """Return the RoleBinding for a namespace."""
        of, name = self.service_account.split("/")
        return {
            "apiVersion": ROLE_BINDING.api_version,
            "kind": ROLE_BINDING.name,
            "metadata": {"name": self.binding_name, "namespace": namespace, "labels": labels},
            "roleRef": {
                "apiGroup": ROLE_BINDING.group,
                "kind": "ClusterRole",
                "name": self.cluster_role,
            },
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": of}],
        }


def grants_of(manifest: Manifest) -> tuple[Grant, ...]:
    """Return the grants of a PublishedResource, in the order of their identifiers.

    Raises:
        InvalidObjectError: when one cannot be read.
    """
    annotations = manifest["metadata"].get("annotations") or {}
    return tuple(
        _parsed(key, annotations[key]) for key in sorted(annotations) if key.startswith(PREFIX)
    )


def _parsed(key: str, text: str) -> Grant:
    try:
        found = Grant.model_validate(parse_json(text))
    except (InvalidInputError, ValidationError) as error:
        raise _fault(key, text) from error
    if not _ACCOUNT.fullmatch(found.service_account):
        raise _fault(key, text)
    return found


def _fault(key: str, text: str) -> InvalidObjectError:
    return InvalidObjectError(
        f"The annotation {key} must be a JSON object of clusterRole and serviceAccount "
        f"(<namespace>/<name>); got {text!r}."
    )
