"""The customer's Secret ``<request>-token``: the key and the two URLs that OpenAI clients read.

A new Secret is built whole; a stored one is mended by the smallest merge patch (RFC 7386), so what others
put beside our keys stays. Every patch carries the resource version it was made for: the key that was
checked is the key that is kept. Pure functions; none changes its arguments.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from privatellm import labels
from privatellm.api.api_token_request import APITokenRequest
from privatellm.names import label_value, token_secret_name
from privatellm.tokens import Token

Manifest = dict[str, Any]

API_KEY = "OPENAI_API_KEY"
"""The key, where the OpenAI SDKs and the chat UI look for it."""

API_URL = "OPENAI_API_URL"
"""The endpoint as the chat UI reads it, without ``/v1``."""

BASE_URL = "OPENAI_BASE_URL"
"""The endpoint with ``/v1``, which the OpenAI SDKs read by themselves."""

TYPE = "Opaque"
_NAME = "llm-token"


def new_secret(request: APITokenRequest, endpoint: str, token: Token | None) -> Manifest:
    """Return the whole Secret of a request.

    Args:
        request: Its owner.
        endpoint: URL of the instance, without ``/v1``.
        token: The key; ``None`` for a dry run, which needs none.
    """
    metadata = request.metadata
    wanted = _kept_in_shape(request, endpoint)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": TYPE,
        "metadata": {
            "name": token_secret_name(metadata.name),
            "namespace": metadata.namespace,
            "ownerReferences": [_owner(request)],
            "labels": wanted["metadata"]["labels"],
            "annotations": _present(wanted["metadata"]["annotations"]),
        },
        "data": wanted["data"] | (_key(token) if token else {}),
    }


def with_key(
    live: Mapping[str, Any], request: APITokenRequest, endpoint: str, token: Token
) -> Manifest:
    """Return the patch that puts a key, and all that belongs to it, into a stored Secret."""
    wanted = _kept_in_shape(request, endpoint)
    return _guarded(live, wanted | {"data": wanted["data"] | _key(token)})


def in_shape(live: Mapping[str, Any], request: APITokenRequest, endpoint: str) -> Manifest | None:
    """Return the patch that mends everything but the key; ``None`` when nothing is wrong."""
    return _patch(live, _kept_in_shape(request, endpoint))


def without_key(live: Mapping[str, Any]) -> Manifest | None:
    """Return the patch that removes a dead key; ``None`` when there is none.

    The label by which the chat UI offers the Secret goes with the key; the URLs stay.
    """
    compatibility = {"labels": {labels.CHAT_UI_COMPATIBILITY: None}}
    return _patch(live, {"metadata": compatibility, "data": {API_KEY: None}})


def _kept_in_shape(request: APITokenRequest, endpoint: str) -> Manifest:
    """Everything of the Secret that we own and may write without a new key; ``None`` means absent."""
    return {
        "metadata": {
            "labels": {
                labels.NAME: _NAME,
                labels.PART_OF: labels.PART_OF_US,
                labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
                labels.LLM_INSTANCE: label_value(request.spec.instance_name),
                labels.API_TOKEN_REQUEST: label_value(request.metadata.name),
                labels.CHAT_UI_COMPATIBILITY: "openai",
            },
            "annotations": {labels.DESCRIPTION: request.spec.description or None},
        },
        "data": {API_URL: _encoded(endpoint), BASE_URL: _encoded(f"{endpoint}/v1")},
    }


def _owner(request: APITokenRequest) -> Manifest:
    return {
        "apiVersion": request.KIND.api_version,
        "kind": request.KIND.name,
        "name": request.metadata.name,
        "uid": request.metadata.uid,
        "controller": True,
    }


def _key(token: Token) -> dict[str, str]:
    return {API_KEY: _encoded(token.reveal())}


def _patch(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> Manifest | None:
    difference = _difference(live, wanted)
    return _guarded(live, difference) if difference else None


def _guarded(live: Mapping[str, Any], patch: Mapping[str, Any]) -> Manifest:
    identity = {key: live["metadata"][key] for key in ("uid", "resourceVersion")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **identity}}


def _difference(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> Manifest:
    """Return the part of ``wanted`` that does not hold in ``live``, as a merge patch."""
    patch: Manifest = {}
    for name, value in wanted.items():
        stored = live.get(name)
        if isinstance(value, Mapping):
            nested = _difference(stored or {}, value)
            patch |= {name: nested} if nested else {}
        elif stored != value:
            patch[name] = value
    return patch


def _present(annotations: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if value is not None}


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
