"""Why a container has no log to show, in the words of a kubelet (``validateContainerLogStatus``). Pure.

``kubectl logs`` prints them, and people search for them.
"""

from privatellm_local.node.pods.states import ContainerState, Waiting


def explanation(pod: str, container: str, state: ContainerState, *, previous: bool) -> str:
    """Return what is said of a container of which the wanted run has no log.

    Args:
        pod: Name of the pod.
        container: Name of the container.
        state: What is known about it.
        previous: The run before the present one was wanted.
    """
    if previous:
        return f'previous terminated container "{container}" in pod "{pod}" not found'
    if isinstance(state.state, Waiting):
        reason = state.state.reason
        return f'container "{container}" in pod "{pod}" is waiting to start: {reason}'
    return f'container "{container}" in pod "{pod}" is not available'
