"""How Go sees values: as text, and as true or false."""

import json
from typing import Any

from privatellm_sync_agent.templates.errors import TemplateError


def text_of(value: Any) -> str:
    """Return a value as Go prints it."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def truthy(value: Any) -> bool:
    """Return whether Go counts a value as true: zero values and empty things are not."""
    return bool(value)


def required_text(value: Any) -> str:
    """Return a value as text where Go wants one.

    Raises:
        TemplateError: when it is missing; a hash of nothing would make names meet.
    """
    if value is None:
        raise TemplateError("A value is missing where a text is needed; give it a default.")
    return text_of(value)
