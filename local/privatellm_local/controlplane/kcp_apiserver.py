"""The kube-apiserver behind the kcp double: a store and nothing else.

It shares etcd with the cluster under a prefix of its own and has no controllers. Nobody of the cluster is
anybody here: certificates count for the supervisor's probe and for ``up``, a token for the double alone.
"""

from pathlib import Path

from privatellm_local.addresses import AddressPlan
from privatellm_local.controlplane import apiserver, etcd
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory, store
from privatellm_local.pki.inventory import Authority
from privatellm_local.processes.specification import ComponentSpec, digest

NAME = "kcp-apiserver"

ISSUER = "https://kcp.invalid"
"""No service account has a token here, and those of the cluster must not be taken for one."""


def tokens_file(paths: StatePaths) -> Path:
    """Return where the file with the double's token is."""
    return paths.pki / "kcp-apiserver-tokens.csv"


def tokens(token: str) -> str:
    """Return that file, in the form that kube-apiserver reads."""
    return f'{token},private-llm:kcp,kcp,"system:masters"\n'


def component(paths: StatePaths, plan: AddressPlan, program: Path, token: str) -> ComponentSpec:
    """Return how this API server runs; the file with the token must be written before."""
    key = inventory.SERVICE_ACCOUNT_KEY
    return ComponentSpec(
        name=NAME,
        argv=(
            str(program),
            *apiserver.serving(paths, plan.kcp_apiserver),
            *apiserver.storage(paths, plan),
            "--etcd-prefix=/kcp",
            f"--client-ca-file={store.certificate_file(paths, Authority.CLUSTER)}",
            f"--token-auth-file={tokens_file(paths)}",
            "--anonymous-auth=false",
            "--authorization-mode=RBAC",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={store.public_key_file(paths, key)}",
            f"--service-account-signing-key-file={store.key_file(paths, key)}",
            # Nothing makes service accounts here, and nothing needs one.
            "--disable-admission-plugins=ServiceAccount",
            *apiserver.loopback(plan),
        ),
        environment={"GOMEMLIMIT": "300MiB", "GOGC": "75"},
        after=(etcd.NAME,),
        probe=apiserver.probe(paths, plan.kcp_apiserver_url),
        address=plan.kcp_apiserver_url,
        fingerprint=digest(tokens(token)),
    )
