"""How words that came from elsewhere become part of a message."""

_ENDS = (".", "!", "?", "…")


def sentence(text: str) -> str:
    """Return a text that ends as sentences do, so that another one may follow."""
    words = text.rstrip(" \t\r\n:;,")
    return words if words.endswith(_ENDS) else f"{words}."
