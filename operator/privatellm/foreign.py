"""Text of others, parsed without harm.

Answers of tenants' pods, last words of their containers and annotations that customers write may say
anything. JSON may also be nested deeper than its parser can follow; Python reports that with an error that
no reader of JSON expects, and a few thousand brackets would end whoever met it. So here, and nowhere else,
both become one error. What the content means is for the caller to find out, by the type of each value.
"""

import json
from typing import Any

from privatellm.errors import InvalidInputError


def parse_json(text: str | bytes) -> Any:
    """Return what a text says in JSON.

    Raises:
        InvalidInputError: when it is no JSON, or JSON that is nested too deeply; nothing of it is repeated.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"This must be JSON of moderate depth: {error}.") from error
