"""The portal's view of Secrets: keys are masked and can be copied; the portal never creates one.

How the portal's GraphQL gateway calls Secrets differs between its versions, so ``resource`` is put in by
the chart.
"""

from typing import Any

CHAT_UI_KEY = "OPENAI_API_KEY"

_KEYS = (
    ("API key", CHAT_UI_KEY, {"displayAs": "secret", "withCopyButton": True}),
    ("Base URL", "OPENAI_BASE_URL", {"withCopyButton": True}),
    ("API URL", "OPENAI_API_URL", {"withCopyButton": True}),
)
"""Label, key in the Secret, and how it is shown: what the operator writes for a token request."""


def secret_view() -> dict[str, Any]:
    """Return the view."""
    name = {"label": "Name", "property": "metadata.name"}
    created = {"label": "Created", "property": "metadata.creationTimestamp"}
    keys = [_key(*key) for key in _KEYS]
    return {
        "id": "core_secret",
        "path": "llm_privatellms_msp_secrets",
        "contextKey": "secretId",
        "label": "Credentials",
        "icon": "locked",
        "listView": {"fields": [name, *keys[:2], created]},
        "detailView": {"fields": [name, *keys, created]},
    }


def _key(label: str, key: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "label": label,
        "property": "data",
        "propertyField": {"key": key, "transform": ["decode"]},
        "uiSettings": settings,
    }
