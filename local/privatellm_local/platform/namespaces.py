"""The namespaces of the platform and of its first customers."""

from typing import Any

from privatellm_local.platform.facts import SYSTEM_NAMESPACE, TOKEN_NAMESPACE, PlatformFacts


def namespaces(facts: PlatformFacts) -> tuple[dict[str, Any], ...]:
    """Return the platform's two namespaces and those that customers may order in."""
    names = (SYSTEM_NAMESPACE, TOKEN_NAMESPACE, *facts.onboarded_namespaces)
    return tuple(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names
    )
