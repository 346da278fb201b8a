"""Which reconciler does the passes of which kind: the one place where the parts meet."""

from collections.abc import Mapping

from privatellm.kube.kinds import Kind
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Reconciler


def build_reconcilers(_context: ProcessContext) -> Mapping[Kind, Reconciler]:
    """Return the reconciler of each kind that has keys in the queue."""
    return {}
