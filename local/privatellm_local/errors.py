"""Errors of the embedded environment.

::

    PrivateLLMError
    └── EmbeddedError             the environment cannot do what was asked
        ├── MachineError          this machine cannot run or build it: platform, library, memory, disk
        ├── StateError            the state or cache directory cannot be used
        ├── AddressError          an address or a port that we need is taken
        ├── BuildError            a control plane program could not be built
        ├── StartError            a component does not become ready
        └── NotRunningError       the request needs a running environment

Every message is one line for a person at a terminal: what is wrong, what we got, what to do.
"""

from privatellm.errors import PrivateLLMError


class EmbeddedError(PrivateLLMError):
    """The embedded environment cannot do what was asked."""


class MachineError(EmbeddedError):
    """This machine lacks something that the environment needs."""


class StateError(EmbeddedError):
    """The state or cache directory cannot be used."""


class AddressError(EmbeddedError):
    """An address or a port that the environment needs is taken."""


class BuildError(EmbeddedError):
    """A control plane program could not be built."""


class StartError(EmbeddedError):
    """A component did not become ready."""


class NotRunningError(EmbeddedError):
    """The request needs a running environment."""
