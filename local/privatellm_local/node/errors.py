"""Why the node does not do what a pod asks for.

::

    PrivateLLMError
    └── NodeError
        ├── ContainerRefusedError   the container cannot be started as it is written
        └── NodeStartError          the agent itself cannot work here
"""

from enum import StrEnum

from privatellm.errors import PrivateLLMError


class WaitingReason(StrEnum):
    """Why a container is not running, in the words a kubelet uses."""

    POD_INITIALIZING = "PodInitializing"
    CONTAINER_CREATING = "ContainerCreating"
    CRASH_LOOP_BACK_OFF = "CrashLoopBackOff"
    ERR_IMAGE_NEVER_PULL = "ErrImageNeverPull"
    CREATE_CONTAINER_CONFIG_ERROR = "CreateContainerConfigError"


class NodeError(PrivateLLMError):
    """The host node cannot do what it was asked for."""


class ContainerRefusedError(NodeError):
    """The container cannot be started as it is written.

    Attributes:
        reason: What the container's waiting state reports.
    """

    def __init__(
        self,
        message: str,
        reason: WaitingReason = WaitingReason.CREATE_CONTAINER_CONFIG_ERROR,
    ) -> None:
        super().__init__(message)
        self.reason = reason


class NodeStartError(NodeError):
    """The agent cannot work with this configuration on this machine."""
