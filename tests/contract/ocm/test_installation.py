"""One object installs Private LLM: the real kro turns it into Flux's objects and takes them away again."""

from typing import Any

import pytest

import chart_helm
import ocm_kro
from chart_helm import Helm, environment_of, one
from eventually import eventually
from ocm_definitions import HELM_RELEASE
from ocm_neighbours import CHART_DIGEST, IMAGES, MIRROR, Installation, image
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient

pytestmark = [pytest.mark.deep, pytest.mark.timeout(300)]


@pytest.fixture
def installation(graph: str, client: KubeClient, namespace: str) -> Installation:
    """An installation that was not ordered yet."""
    return Installation(client, namespace)


async def test_one_object_becomes_a_release_of_the_chart(installation: Installation) -> None:
    """The chart comes from where the component is now, and so do the images in its values."""
    await installation.create(publicScheme="https", onboardedNamespaces=["acme", "globex"])

    release = await installation.run_through()

    source = await installation.source()
    assert source is not None
    assert source["spec"]["url"] == f"oci://{MIRROR}/charts/private-llm-operator"
    assert source["spec"]["ref"] == {"digest": CHART_DIGEST}
    spec = release["spec"]
    assert spec["chartRef"] == {"kind": "OCIRepository", "name": installation.name}
    assert spec["releaseName"] == "private-llm"
    assert spec["targetNamespace"] == spec["storageNamespace"] == "private-llm-system"
    assert spec["values"] == {
        "PUBLIC_HOST": "llm.example.com",
        "PUBLIC_SCHEME": "https",
        "onboardedNamespaces": ["acme", "globex"],
        "global": {"imageRegistry": ""},
        "image": image("operator"),
        "authserver": {"image": image("authserver")},
        "server": {"image": image("llama-server")},
        "traefik": {"enabled": True, "image": image("traefik")},
    }


async def test_further_values_go_along_but_never_move_an_image(installation: Installation) -> None:
    """What was verified is what runs."""
    values = {
        "limits": {"maxReplicas": 3},
        "image": {"repository": "elsewhere/operator", "pullPolicy": "Always"},
        "global": {"imageRegistry": "elsewhere"},
        "traefik": {"service": {"type": "ClusterIP"}},
    }
    await installation.create(values=values, bundledEdge=False)

    merged = (await installation.run_through())["spec"]["values"]

    assert merged["limits"] == {"maxReplicas": 3}
    assert merged["image"] == image("operator") | {"pullPolicy": "Always"}
    assert merged["global"] == {"imageRegistry": ""}
    assert merged["traefik"]["enabled"] is False
    assert merged["traefik"]["service"] == {"type": "ClusterIP"}


async def test_the_chart_runs_every_image_from_where_the_component_is(
    installation: Installation, helm: Helm
) -> None:
    """The values of the release fit the chart's schema, and no other image is left in its objects."""
    await installation.create()
    values = (await installation.run_through())["spec"]["values"]

    rendered = helm.template(values)

    def reference(name: str) -> str:
        return f"{MIRROR}/{name}@{image(name)['digest']}"

    containers = {
        container["image"]
        for deployment in chart_helm.of_kind(rendered, "Deployment")
        for container in deployment["spec"]["template"]["spec"]["containers"]
    }
    assert containers == {reference(name) for name in ("operator", "authserver", "traefik")}
    operator = environment_of(one(rendered, "Deployment", "private-llm-operator"))
    assert operator["PRIVATE_LLM_SERVER_IMAGE"] == reference("llama-server")
    assert operator["PRIVATE_LLM_FETCHER_IMAGE"] == reference("operator")


async def test_every_step_waits_for_the_one_before(installation: Installation) -> None:
    """No chart is fetched from an unknown place, and nothing is installed with unknown images."""
    await installation.create()
    await installation.resolve()
    assert await installation.source() is None

    await installation.resolve_chart()

    await eventually(installation.source, what="the chart's source")
    assert await installation.release() is None

    await installation.fetch()

    await eventually(installation.release, what="the release")
    assert (await installation.status())["state"] == "IN_PROGRESS"


async def test_an_installation_says_what_runs(installation: Installation) -> None:
    """Version and images, and whether everything is there."""
    await installation.create()
    await installation.run_through()

    async def active() -> bool:
        return (await installation.status()).get("state") == "ACTIVE"

    await eventually(active, what="an active installation")
    status = await installation.status()
    assert status["version"] == "0.1.0"
    assert status["revision"] == 1
    assert status["chart"] == f"0.1.0@{CHART_DIGEST}"
    assert set(status["images"].values()) == {f"{MIRROR}/{name}" for name in IMAGES}


async def test_a_failed_release_is_not_an_active_installation(installation: Installation) -> None:
    """And its message is the Helm controller's."""
    await installation.create()
    await installation.resolve_chart()
    await installation.resolve()
    await installation.fetch()

    await installation.install(succeeds=False)

    async def told() -> bool:
        return "failed" in (await installation.status()).get("message", "")

    await eventually(told, what="the failure's message")
    assert (await installation.status())["state"] != "ACTIVE"


async def test_a_change_reaches_the_release(installation: Installation) -> None:
    """Within one pass of kro."""
    await installation.create()
    await installation.run_through()

    await installation.patch(publicHost="new.example.com")

    async def changed() -> bool:
        release = await installation.release()
        return release is not None and release["spec"]["values"]["PUBLIC_HOST"] == "new.example.com"

    await eventually(changed, what="the new host")


async def test_what_others_change_is_put_right(installation: Installation) -> None:
    """An image that was moved by hand goes back to the verified one."""
    await installation.create()
    await installation.run_through()
    moved = {"spec": {"values": {"image": {"repository": "elsewhere/operator"}}}}
    await installation.client.patch(HELM_RELEASE, installation.name, installation.namespace, moved)

    async def right() -> bool:
        release = await installation.release()
        return release is not None and release["spec"]["values"]["image"] == image("operator")

    await eventually(right, what="the verified image")


async def test_deleting_the_object_removes_what_it_made(installation: Installation) -> None:
    """Flux then uninstalls the chart, which keeps what customers have."""
    await installation.create()
    await installation.run_through()
    assert len(await installation.children()) == len(IMAGES) + 3

    await installation.delete()

    async def gone() -> bool:
        there = await installation.client.get(
            ocm_kro.INSTALLATION, installation.name, installation.namespace
        )
        return there is None

    await eventually(gone, within=60, what="the end of the installation")
    assert await installation.children() == set()


@pytest.mark.parametrize(
    "spec",
    [
        {"publicHost": None},
        {"publicScheme": "ftp"},
        {"onboardedNamespaces": "acme"},
        {"bundledEdge": "yes"},
    ],
    ids=str,
)
async def test_a_wrong_order_is_refused(installation: Installation, spec: dict[str, Any]) -> None:
    """By the definition that kro made of the graph."""
    with pytest.raises(KubernetesError, match=next(iter(spec))):
        await installation.create(**spec)


async def test_a_release_does_not_move_to_another_namespace(installation: Installation) -> None:
    """Keys and middlewares of the first one would stay behind."""
    await installation.create()

    with pytest.raises(KubernetesError, match="namespace"):
        await installation.patch(namespace="elsewhere")
