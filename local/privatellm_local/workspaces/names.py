"""Who is who and where in the environment's kcp."""

PROVIDER = "llm-provider"
CUSTOMER = "customer"
"""The two workspaces, both below ``root``."""

EXPORT = "llm.privatellms.msp"
"""The APIExport, called as the charts call it; its endpoint slice has the same name."""

CUSTOMER_KUBECONFIG = "kcp-customer"
ADMIN_KUBECONFIG = "kcp-admin"
STORE_KUBECONFIG = "kcp-apiserver"
"""Kubeconfigs: of the customer's workspace, of ``root``, and of the API server behind kcp."""


def path_of(workspace: str) -> str:
    """Return the path of a workspace."""
    return f"root:{workspace}"
