"""The two processes of the environment's kcp, and the files that they and their callers read."""

import sys
from pathlib import Path

from privatellm_local import files
from privatellm_local.addresses import AddressPlan
from privatellm_local.controlplane import kcp_apiserver
from privatellm_local.kcp.access import Role
from privatellm_local.kcp.config import KcpConfig, TokenConfig
from privatellm_local.paths import StatePaths
from privatellm_local.pki import kubeconfigs, store
from privatellm_local.pki.inventory import Authority
from privatellm_local.processes.specification import ComponentSpec, Probe, digest
from privatellm_local.workspaces import names, tokens
from privatellm_local.workspaces.tokens import KcpTokens

NAME = "kcp"

MEMORY_BYTES = 384 * 1024 * 1024
"""What the two processes and the agent's pod take, beside what every environment takes."""


def components(paths: StatePaths, plan: AddressPlan, apiserver: Path) -> tuple[ComponentSpec, ...]:
    """Write what the processes read, and return how they run.

    Args:
        paths: The environment.
        plan: Its addresses.
        apiserver: The program kube-apiserver.

    Raises:
        StateError: when a file cannot be written.
    """
    known = tokens.ensure(paths)
    _write_kubeconfigs(paths, plan, known)
    files.write_if_changed(kcp_apiserver.tokens_file(paths), kcp_apiserver.tokens(known.store))
    text = configuration(paths, plan, known)
    files.write_if_changed(_configuration_file(paths), text)
    return (
        kcp_apiserver.component(paths, plan, apiserver, known.store),
        _double(paths, plan, digest(text)),
    )


def configuration(paths: StatePaths, plan: AddressPlan, known: KcpTokens) -> str:
    """Return the double's configuration."""
    provider, customer = names.path_of(names.PROVIDER), names.path_of(names.CUSTOMER)
    agent = TokenConfig(
        token=known.agent, name="agent", workspaces=(provider,), content_of=(names.EXPORT,)
    )
    config = KcpConfig(
        kubeconfig=paths.kubeconfig(names.STORE_KUBECONFIG),
        tokens=(
            TokenConfig(token=known.admin, name="admin", role=Role.ADMIN),
            agent,
            TokenConfig(token=known.customer, name="customer", workspaces=(customer,)),
        ),
        port=plan.kcp,
        # It is reached as the API server is, so it answers with the same certificate.
        certificate=store.certificate_file(paths, "apiserver"),
        key=store.key_file(paths, "apiserver"),
    )
    return config.model_dump_json(by_alias=True, indent=2) + "\n"


def kubeconfig(paths: StatePaths, plan: AddressPlan, user: str, token: str, workspace: str) -> str:
    """Return the kubeconfig of a caller of kcp, for one workspace."""
    return kubeconfigs.render_with_token(
        server=f"{plan.kcp_url}/clusters/{workspace}",
        user=user,
        authority=_authority(paths),
        token=token,
    )


def agent_kubeconfig(paths: StatePaths, plan: AddressPlan) -> str:
    """Return the sync agent's kubeconfig of the provider's workspace."""
    token = tokens.ensure(paths).agent
    return kubeconfig(paths, plan, "agent", token, names.path_of(names.PROVIDER))


def _write_kubeconfigs(paths: StatePaths, plan: AddressPlan, known: KcpTokens) -> None:
    customer = names.path_of(names.CUSTOMER)
    texts = {
        names.STORE_KUBECONFIG: kubeconfigs.render_with_token(
            server=plan.kcp_apiserver_url,
            user=NAME,
            authority=_authority(paths),
            token=known.store,
        ),
        names.ADMIN_KUBECONFIG: kubeconfig(paths, plan, "admin", known.admin, "root"),
        names.CUSTOMER_KUBECONFIG: kubeconfig(paths, plan, "customer", known.customer, customer),
    }
    for name, text in texts.items():
        files.write_if_changed(paths.kubeconfig(name), text)


def _double(paths: StatePaths, plan: AddressPlan, fingerprint: str) -> ComponentSpec:
    config = str(_configuration_file(paths))
    return ComponentSpec(
        name=NAME,
        argv=(sys.executable, "-P", "-m", "privatellm_local.kcp", "--config", config),
        after=(kcp_apiserver.NAME,),
        probe=Probe(
            url=f"{plan.kcp_url}/readyz",
            ca_file=store.certificate_file(paths, Authority.CLUSTER),
        ),
        address=plan.kcp_url,
        fingerprint=fingerprint,
    )


def _configuration_file(paths: StatePaths) -> Path:
    return paths.config / "kcp.json"


def _authority(paths: StatePaths) -> str:
    return files.read_text(store.certificate_file(paths, Authority.CLUSTER)) or ""
