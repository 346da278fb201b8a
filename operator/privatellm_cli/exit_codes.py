"""What the command returns. Scripts may rely on these numbers.

The mapping from errors to codes is here and nowhere else; the first class that fits wins.
"""

from enum import IntEnum
from typing import Self

from privatellm.errors import KubernetesError, PrivateLLMError
from privatellm_cli.errors import (
    EndpointError,
    HubError,
    NoClusterError,
    OverdueError,
    UnreachedError,
    UsageError,
)
from privatellm_local.errors import (
    AddressError,
    BuildError,
    MachineError,
    NotRunningError,
    StartError,
    StateError,
)


class ExitCode(IntEnum):
    """The outcome of a command, with what it means."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Make a number that knows what it means."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    OK = 0, "Done."
    FAILURE = 1, "Something else went wrong; the message says what."
    USAGE = 2, "The command line makes no sense."
    MACHINE = 3, "The machine lacks memory, disk, a library or a package, or is not Linux."
    STATE = 4, "The state or cache directory cannot be used."
    ADDRESS = 5, "A port or an address block is taken."
    BUILD = 6, "A control plane program could not be built."
    START = 7, "A component did not become ready."
    NOT_RUNNING = 8, "The embedded environment does not run, or not all of it."
    CLUSTER = 9, "The cluster cannot be reached, refused a request, or has not what was asked for."
    ENDPOINT = 10, "The endpoint of a private LLM refused a request, or did not answer it."
    UNREACHED = 11, "What was waited for will not come about by itself; the message says why."
    OVERDUE = 12, "What was waited for did not come about in time."
    FINDINGS = 13, "`doctor` found something that has to be mended."
    HUB = 14, "A model hub cannot be asked, or has not the file that was asked for or declared."
    INTERRUPTED = 130, "Ctrl-C, or a signal that means the same."


_BY_ERROR: tuple[tuple[type[PrivateLLMError], ExitCode], ...] = (
    (MachineError, ExitCode.MACHINE),
    (StateError, ExitCode.STATE),
    (AddressError, ExitCode.ADDRESS),
    (BuildError, ExitCode.BUILD),
    (StartError, ExitCode.START),
    (NotRunningError, ExitCode.NOT_RUNNING),
    (UsageError, ExitCode.USAGE),
    (NoClusterError, ExitCode.CLUSTER),
    (KubernetesError, ExitCode.CLUSTER),
    (EndpointError, ExitCode.ENDPOINT),
    (HubError, ExitCode.HUB),
    (UnreachedError, ExitCode.UNREACHED),
    (OverdueError, ExitCode.OVERDUE),
)


def code_of(error: PrivateLLMError) -> ExitCode:
    """Return the exit code of an error."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), ExitCode.FAILURE)
