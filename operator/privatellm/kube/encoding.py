"""How request bodies are written: JSON that is YAML at the same time.

The API server reads the body of a server-side apply as YAML. YAML knows no surrogate pairs, so characters
beyond U+FFFF must be written as themselves and not as two escapes. It refuses some characters that JSON
allows and takes others for line breaks, so those must be escapes and not themselves (YAML 1.1, sections
5.1 and 5.4).
"""

import json
import re
from typing import Any

_MISREAD_BY_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def encoded(body: Any) -> bytes:
    """Return a body's bytes."""
    text = json.dumps(body, ensure_ascii=False)
    return _MISREAD_BY_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()
