"""Install, upgrade, rollback and uninstall on a real cluster, and what customers notice of it."""

from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest

from chart_helm import CHART, of_kind
from chart_release import Release, kubectl, previous_chart, spec_of
from customer import Credentials, ask_for_key, chat, order, until_phase, until_routed
from privatellm import labels
from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import wait_for
from privatellm_local.build.programs import HELM, HELM_3

pytestmark = [
    pytest.mark.deep,
    pytest.mark.integration,
    pytest.mark.timeout(600),
    # Helm 4 applies on the server and Helm 3 merges by itself; customers must notice neither.
    pytest.mark.parametrize("release", [HELM, HELM_3], ids=["helm-4", "helm-3"], indirect=True),
]

CRD = "apitokenrequests.llm.privatellms.msp"
KEY = "private-llm-platform-key"


async def answers(credentials: Credentials) -> None:
    """Fail unless the key opens the model."""
    async with httpx.AsyncClient() as http:
        await until_routed(http, credentials)
        answer = await chat(http, credentials)
        assert answer.status_code == 200, answer.text
        assert "Paris" in answer.json()["choices"][0]["message"]["content"]


async def has_description(client: KubeClient) -> bool:
    """Return whether the cluster's definition knows the newer version's field."""
    crd = await client.get(kinds.CUSTOM_RESOURCE_DEFINITION, CRD)
    assert crd is not None
    return "description" in spec_of(crd)


async def uid_of(client: KubeClient, kind: kinds.Kind, name: str, namespace: str = "") -> str:
    """Return an object's UID; fail when it is gone."""
    found = await client.get(kind, name, namespace or None)
    assert found is not None, f"{kind.name} {name} is gone"
    return str(found["metadata"]["uid"])


async def test_the_main_job_works_after_an_install(
    installed: Release, client: KubeClient, customer: str
) -> None:
    """Operator and authserver are the chart's own Deployments; a customer gets an answer."""
    for deployment in of_kind(await installed.manifest(), "Deployment"):
        name = deployment["metadata"]["name"]
        live = await client.get(kinds.DEPLOYMENT, name, installed.namespace)
        assert live is not None
        assert live["metadata"]["labels"][labels.MANAGED_BY] == "Helm"
        assert live["status"]["availableReplicas"] == deployment["spec"].get("replicas", 1)

    await order(client, customer, "chat")

    await answers(await ask_for_key(client, customer, "key", "chat"))


async def test_an_upgrade_brings_new_fields_and_a_rollback_takes_them_back(
    clean: Release, client: KubeClient, customer: str, tmp_path: Path
) -> None:
    """Customers' objects, keys and running servers go through both unharmed."""
    await clean.install(previous_chart(tmp_path))
    assert not await has_description(client)
    await order(client, customer, "chat")
    credentials = await ask_for_key(client, customer, "key", "chat")
    platform_key = await _platform_key(client, clean.namespace)
    before = await _uids(client, customer)

    await clean.upgrade()

    assert await has_description(client)
    described = {"spec": {"description": "for the laptop"}}
    request = await client.patch(kinds.API_TOKEN_REQUEST, "key", customer, described)
    assert request["spec"]["description"] == "for the laptop"
    await answers(credentials)

    await clean.rollback(1)

    assert not await has_description(client)
    assert await _platform_key(client, clean.namespace) == platform_key
    assert await _uids(client, customer) == before
    await until_phase(client, kinds.LLM_INSTANCE, customer, "chat", "Ready")
    await answers(credentials)


async def _platform_key(client: KubeClient, namespace: str) -> dict[str, str]:
    secret = await client.get(kinds.SECRET, KEY, namespace)
    assert secret is not None
    data: dict[str, str] = secret["data"]
    return data


async def _uids(client: KubeClient, namespace: str) -> dict[str, str]:
    """Return the identity of everything that must not be made anew."""
    wanted = {
        "instance": (kinds.LLM_INSTANCE, "chat"),
        "request": (kinds.API_TOKEN_REQUEST, "key"),
        "secret": (kinds.SECRET, "key-token"),
        "server": (kinds.DEPLOYMENT, "chat-llama"),
    }
    found = {what: await uid_of(client, *place, namespace) for what, place in wanted.items()}
    pods = await client.list(kinds.POD, namespace)
    return found | {"pods": ",".join(sorted(pod["metadata"]["uid"] for pod in pods.items))}


async def test_an_uninstall_leaves_customers_what_they_have(
    installed: Release, client: KubeClient, customer: str
) -> None:
    """Instances, keys, models and running servers stay; the next install finds them working."""
    await order(client, customer, "chat")
    credentials = await ask_for_key(client, customer, "key", "chat")
    before = await _uids(client, customer)
    model = await uid_of(client, kinds.LLM_MODEL, "gemma-3-270m")

    await installed.uninstall()

    assert await client.get(kinds.DEPLOYMENT, "private-llm-operator", installed.namespace) is None
    policies = await client.list(kinds.VALIDATING_ADMISSION_POLICY)
    assert not [p for p in policies.items if p["metadata"]["name"].startswith("private-llm-")]
    assert await _uids(client, customer) == before
    assert await uid_of(client, kinds.LLM_MODEL, "gemma-3-270m") == model
    assert (await client.list(kinds.SECRET, "private-llm-tokens")).items

    await installed.install()

    assert await _uids(client, customer) == before
    await answers(credentials)


async def test_helm_and_kubectl_scale_do_not_fight(installed: Release, kubeconfig: Path) -> None:
    """Where no number is set Helm claims none."""
    scale = ("scale", "-n", installed.namespace, "deployment/private-llm-operator")
    scaled = await kubectl(kubeconfig, *scale, "--replicas", "2")
    assert scaled.returncode == 0, scaled.stderr

    await installed.upgrade()

    asked = ("get", "-n", installed.namespace, "deployment/private-llm-operator")
    answer = await kubectl(kubeconfig, *asked, "-o", "jsonpath={.status.readyReplicas}")
    assert answer.stdout == "2"


async def test_the_operator_writes_no_object_of_the_chart(
    installed: Release, client: KubeClient, customer: str
) -> None:
    """Otherwise the next server-side apply of Helm would end in a conflict."""
    await order(client, customer, "chat")

    for manifest in await installed.manifest():
        written_by = await _managers(client, manifest)
        assert labels.FIELD_MANAGER not in written_by, manifest["metadata"]["name"]
    again = await installed.upgrade()
    assert "STATUS: deployed" in again


async def _managers(client: KubeClient, manifest: dict[str, Any]) -> set[str]:
    known = {(kind.api_version, kind.name): kind for kind in kinds.ALL_KINDS}
    kind = known.get((manifest["apiVersion"], manifest["kind"]))
    if kind is None:
        return set()
    metadata = manifest["metadata"]
    live = await client.get(kind, metadata["name"], metadata.get("namespace"))
    assert live is not None
    return {entry["manager"] for entry in live["metadata"].get("managedFields", ())}


async def test_two_releases_serve_two_namespaces(
    clean: Release, client: KubeClient, customer: str, other_customer: str
) -> None:
    """Each does the main job for its own customers, behind one edge, and goes without the other's."""
    first = _one_of_two(clean, customer, other="second-system")
    second = _second(_one_of_two(clean, other_customer, other=clean.namespace))
    await first.install()
    await second.install()
    try:
        keys = {}
        for namespace in (customer, other_customer):
            await order(client, namespace, "chat")
            keys[namespace] = await ask_for_key(client, namespace, "key", "chat")
            await answers(keys[namespace])

        for namespace, release in ((customer, first), (other_customer, second)):
            chain = f"{release.namespace}_private-llm@kubernetescrd"
            assert await _chain(client, namespace) == chain
        assert await _keeps_keys(client, customer) == {"private-llm-tokens"}
        assert await _keeps_keys(client, other_customer) == {"second-tokens"}
        await _until_ended(client, other_customer)
        assert (await client.list(kinds.SECRET, "second-tokens")).items == ()
    finally:
        await second.uninstall()

    await answers(keys[customer])
    await uid_of(client, kinds.CUSTOM_RESOURCE_DEFINITION, CRD)


async def _until_ended(client: KubeClient, namespace: str) -> None:
    """Delete a namespace with all that is in it, the bindings of its operator too, and wait for its end."""
    await client.delete(kinds.NAMESPACE, namespace)
    await wait_for(client, kinds.NAMESPACE, namespace, None, lambda found: found is None)


def _one_of_two(release: Release, namespace: str, *, other: str) -> Release:
    """Return the release with the values that the how-to shows: one namespace, and the other's operator."""
    operator = f"system:serviceaccount:{other}:private-llm-operator"
    served = {"watch": {"namespaces": [namespace]}, "onboardedNamespaces": [namespace]}
    policies = release.values["admissionPolicies"] | {"furtherOperators": [operator]}
    values = release.values | served | {"admissionPolicies": policies}
    return Release(release.helm, values, release.name, release.namespace)


def _second(release: Release) -> Release:
    """Return a release that brings no definitions and no models, at an address of its own."""
    address = ip_address(release.values["authserver"]["service"]["clusterIP"]) + 1
    values = release.values | {
        "authserver": {"workers": 1, "replicas": 1, "service": {"clusterIP": str(address)}},
        "crds": {"enabled": False},
        "catalogue": {"enabled": False},
    }
    return Release(release.helm, values, name="second", namespace="second-system")


async def _keeps_keys(client: KubeClient, namespace: str) -> set[str]:
    """Return the token namespaces that hold a key of the namespace's instance."""
    uid = await uid_of(client, kinds.LLM_INSTANCE, "chat", namespace)
    found = await client.list(kinds.SECRET, labels=f"{labels.INSTANCE_UID}={uid}")
    return {one["metadata"]["namespace"] for one in found.items} - {namespace}


async def _chain(client: KubeClient, namespace: str) -> str:
    """Return which middlewares the route of the namespace's instance names."""
    ingress = await client.get(kinds.INGRESS, "chat-llama", namespace)
    assert ingress is not None
    return str(
        ingress["metadata"]["annotations"]["traefik.ingress.kubernetes.io/router.middlewares"]
    )


async def test_the_quick_start_of_the_peer_runs(
    clean: Release, client: KubeClient, kubeconfig: Path
) -> None:
    """`helm install --set PUBLIC_HOST=…`, two objects in `default`, and the key opens the model.

    Its bundled edge cannot start where there are no images; the environment's serves the same class.
    """
    values = {k: v for k, v in clean.values.items() if k not in ("traefik", "PUBLIC_HOST")}
    helm, host = clean.helm, clean.values["PUBLIC_HOST"]
    helm.run(
        *("install", clean.name, str(CHART), "-n", clean.namespace, "--create-namespace"),
        *("--set", f"PUBLIC_HOST={host}"),
        values=values,
    )
    try:
        await order(client, "default", "my-llm")
        await answers(await ask_for_key(client, "default", "my-token", "my-llm"))
    finally:
        await client.delete(kinds.LLM_INSTANCE, "my-llm", "default")
        await client.delete(kinds.API_TOKEN_REQUEST, "my-token", "default")
        await kubectl(kubeconfig, "wait", "--for=delete", "llmi/my-llm", "--timeout=60s")
