"""The demo's error.

::

    PrivateLLMError
    └── EmbeddedError
        └── DemoError       the demo's model, order or question failed
"""

from privatellm_local.errors import EmbeddedError


class DemoError(EmbeddedError):
    """The demo cannot go on; the message says what failed and what to do."""
