"""The PublishedResources of our own two kinds: what a chart installs and ``privatellm up --kcp`` applies.

Each (workspace, namespace) gets a local namespace of its own and objects keep their names. So
``spec.instanceName`` of a token request stays true, and equal names of two customers never meet. The
namespace is the cluster's name (16 characters) and 40 hex characters of a hash: at most 57 of 63.
"""

import json

from privatellm.kube import Manifest
from privatellm.kube.kinds import API_TOKEN_REQUEST, LLM_INSTANCE, Kind
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE
from privatellm_sync_agent.related.guards import PREFIX

NAMESPACE = "{{ .ClusterName }}-{{ sha3short .Object.metadata.namespace 40 }}"
NAME = "{{ .Object.metadata.name }}"

TOKEN_KEYS = ("OPENAI_API_KEY", "OPENAI_API_URL", "OPENAI_BASE_URL")
"""The keys of a token's Secret that reach the customer."""

TOKEN_IDENTIFIER = "token"  # noqa: S105 - the name of a rule


def published_resources() -> tuple[Manifest, ...]:
    """Return the PublishedResources for LLMInstance and APITokenRequest."""
    request = _published(API_TOKEN_REQUEST)
    request["metadata"]["annotations"] = {f"{PREFIX}{TOKEN_IDENTIFIER}": _token_guard()}
    request["spec"]["related"] = [_token_secret()]
    return _published(LLM_INSTANCE), request


def _published(kind: Kind) -> Manifest:
    return {
        "apiVersion": PUBLISHED_RESOURCE.api_version,
        "kind": PUBLISHED_RESOURCE.name,
        "metadata": {"name": f"private-llm-{kind.plural}"},
        "spec": {
            "resource": {"apiGroup": kind.group, "kind": kind.name, "versions": [kind.version]},
            "naming": {"namespace": NAMESPACE, "name": NAME},
        },
    }


def _token_secret() -> Manifest:
    return {
        "identifier": TOKEN_IDENTIFIER,
        "origin": "service",
        "version": "v1",
        "resource": "secrets",
        "cleanup": True,
        "watch": {"byOwner": {}},
        "object": {"reference": {"path": "status.secretName"}},
    }


def _token_guard() -> str:
    return json.dumps({"keys": list(TOKEN_KEYS), "controlled": True})
