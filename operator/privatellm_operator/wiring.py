"""Which reconciler does the passes of which kind: the one place where the parts meet."""

from collections.abc import Mapping

from privatellm.kube import kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import InTurn, Reconciler
from privatellm_operator.reconcile.instance.reconciler import InstanceReconciler
from privatellm_operator.reconcile.model.reconciler import ModelReconciler
from privatellm_operator.reconcile.platform.catalogue import Catalogue, CatalogueReconciler
from privatellm_operator.reconcile.platform.claims import ClaimReconciler
from privatellm_operator.reconcile.platform.middlewares import MiddlewareReconciler
from privatellm_operator.reconcile.revocation import InstanceRevoker
from privatellm_operator.reconcile.token.reconciler import TokenReconciler


def build_reconcilers(
    context: ProcessContext, catalogue: Catalogue, revoker: InstanceRevoker
) -> Mapping[Kind, Reconciler]:
    """Return the reconciler of each kind that has keys in the queue.

    Args:
        context: What the process owns.
        catalogue: The models that travel as files.
        revoker: Ends the keys of an instance that goes.
    """
    return {
        kinds.LLM_INSTANCE: InstanceReconciler(context, revoker),
        kinds.API_TOKEN_REQUEST: TokenReconciler(context),
        kinds.LLM_MODEL: InTurn(CatalogueReconciler(context, catalogue), ModelReconciler(context)),
        kinds.PERSISTENT_VOLUME_CLAIM: ClaimReconciler(context),
        kinds.MIDDLEWARE: MiddlewareReconciler(context),
    }
