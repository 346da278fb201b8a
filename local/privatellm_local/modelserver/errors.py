"""Errors of the model server launcher.

::

    PrivateLLMError
    └── ModelServerError            exit code 1: the server cannot start here
        └── InvalidArgumentsError   exit code 2: the arguments cannot be obeyed

Each message is one line that names the rule, what was received, and what to do. It ends up as the
container's termination message and from there in a condition of the instance.
"""

from typing import ClassVar

from privatellm.errors import PrivateLLMError


class ModelServerError(PrivateLLMError):
    """The model server cannot start or go on, for a reason its operator can act on."""

    exit_code: ClassVar[int] = 1


class InvalidArgumentsError(ModelServerError):
    """An argument is unknown, incomplete or out of range."""

    exit_code: ClassVar[int] = 2
