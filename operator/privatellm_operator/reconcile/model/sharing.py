"""How operators that share a cluster tell each other's holds on a model apart: pure."""

from dataclasses import dataclass

from privatellm import labels
from privatellm.kube.kinds import GROUP
from privatellm.names import label_value
from privatellm_operator.settings import Settings


@dataclass(frozen=True, slots=True)
class OperatorName:
    """What an operator writes on what belongs to the whole cluster.

    Attributes:
        finalizer: By which it holds a model for its users.
        manager: The field manager under which it writes a model's status.
    """

    finalizer: str
    manager: str


def name_among_operators(settings: Settings) -> OperatorName:
    """Return the name of an operator; one that serves the whole cluster needs none of its own."""
    if not settings.watch.namespaces:
        return OperatorName(labels.MODEL_FINALIZER, labels.FIELD_MANAGER)
    home = settings.pod.namespace
    finalizer = label_value(f"{labels.MODEL_FINALIZER.removeprefix(f'{GROUP}/')}.{home}")
    return OperatorName(f"{GROUP}/{finalizer}", f"{labels.FIELD_MANAGER}.{home}")
