"""From an ``APITokenRequest`` to a verifier at the edge and a key in the customer's Secret.

``gather`` reads the world, ``decide`` thinks (pure), ``apply`` writes; ``reconciler`` ties them together,
``sweep`` removes verifiers whose request is gone. What this package does not do: it never adopts a Secret
it did not make, never turns anything a tenant can write into a verifier, never writes a plaintext anywhere
but into the customer's Secret, and does not ask when a key was last used: that is told to it.
"""

from privatellm_operator.reconcile.token.facts import TokenPolicy
from privatellm_operator.reconcile.token.reconciler import TokenReconciler
from privatellm_operator.reconcile.token.sweep import VerifierSweep

__all__ = ["TokenPolicy", "TokenReconciler", "VerifierSweep"]
