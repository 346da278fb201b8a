"""The one way in which templates fail."""

from privatellm.errors import InvalidInputError


class TemplateError(InvalidInputError):
    """The template cannot be read, or cannot be evaluated for this object."""
