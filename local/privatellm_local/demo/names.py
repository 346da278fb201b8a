"""The names that the demo uses; they are part of the printed instructions."""

NAMESPACE = "demo"
INSTANCE = "demo"
TOKEN_REQUEST = "demo"  # noqa: S105 - the name of an object
MODEL = "gemma-3-270m"
