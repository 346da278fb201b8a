"""The bundled edge is set like the embedded one, and the real Traefik takes it."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
import yaml

import chart_helm
from chart_helm import Helm, Manifest, Values
from eventually import eventually
from privatellm_cli.doctor import traefik
from privatellm_local.addresses import plan_for
from privatellm_local.edge import configuration, program

ABOUT_THE_PLACE = re.compile(
    # Addresses, and what the embedded edge needs because EndpointSlices cannot hold loopback addresses.
    r"entrypoints\.\w+\.address|.*\.nativelbbydefault"
    # How long a leaving pod goes on: a laptop's edge does not wait for streams.
    r"|entrypoints\.\w+\.transport\.lifecycle\..*"
    # Nobody stands in front of either; only one of them writes that down.
    r"|entrypoints\.\w+\.forwardedheaders\.trustedips"
)


def options(objects: tuple[Manifest, ...]) -> Mapping[str, str]:
    """Return what the bundled edge runs with, as `privatellm doctor` reads it."""
    found = traefik.of_workload(chart_helm.one(objects, "Deployment", "private-llm-edge"))
    assert found is not None
    return found.settings


def comparable(settings: Mapping[str, str]) -> dict[str, str]:
    """Leave out what depends on the place, and the entry point that only clusters have."""
    return {
        name: value
        for name, value in settings.items()
        if not ABOUT_THE_PLACE.fullmatch(name) and ".websecure." not in name
    }


def test_the_bundled_edge_is_as_strict_as_the_embedded_one(
    defaults: tuple[Manifest, ...],
) -> None:
    """Option by option."""
    embedded = yaml.safe_load(configuration.render(plan_for(1)))

    assert comparable(options(defaults)) == comparable(traefik.of_file(embedded))


def test_both_entry_points_are_guarded_alike(defaults: tuple[Manifest, ...]) -> None:
    """Encoded characters, aliased headers, forwarded headers and time limits."""

    def of(entry_point: str) -> dict[str, str]:
        prefix = f"entryPoints.{entry_point}.".lower()
        found = options(defaults).items()
        return {n.removeprefix(prefix): v for n, v in found if n.startswith(prefix)}

    assert of("web") | {"address": ""} == of("websecure") | {"address": ""}
    assert len(of("web")) > 10


def test_the_doctor_finds_the_bundled_edge(defaults: tuple[Manifest, ...]) -> None:
    """By the label that Traefik's own chart sets, too."""
    edge = chart_helm.one(defaults, "Deployment", "private-llm-edge")

    assert edge["metadata"]["labels"]["app.kubernetes.io/name"] == "traefik"
    found = traefik.of_workload(edge)
    assert found is not None
    assert found.version == "3.7.15"


def test_with_https_plain_http_is_only_sent_on(helm: Helm) -> None:
    """No key travels in the clear."""
    found = options(helm.template({"PUBLIC_HOST": "llm.example.com"}))

    web = {name: value for name, value in found.items() if name.startswith("entrypoints.web.")}
    assert web == {
        "entrypoints.web.address": ":8000",
        "entrypoints.web.http.redirections.entrypoint.to": ":443",
        "entrypoints.web.http.redirections.entrypoint.scheme": "https",
    }


@pytest.mark.parametrize(
    "values", [{}, {"PUBLIC_HOST": "llm.example.com"}, {"tls": {"secretName": "public-tls"}}]
)
def test_no_edge_speaks_http_3(helm: Helm, values: Values) -> None:
    """There a body may come as slowly as it likes (CVE-2026-88012); nothing of it is tested here."""
    embedded = traefik.of_file(yaml.safe_load(configuration.render(plan_for(1))))

    for found in (options(helm.template(values)), embedded):
        assert found
        assert [name for name in found if "http3" in name] == []


def test_a_certificate_never_leaves_the_releases_namespace(helm: Helm) -> None:
    """It is a file of the edge's pod."""
    objects = helm.template({"tls": {"secretName": "public-tls"}})

    assert options(objects)["providers.file.filename"] == "/certificates-file/certificates.yaml"
    pod = chart_helm.one(objects, "Deployment", "private-llm-edge")["spec"]["template"]["spec"]
    secrets = [v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v]
    assert secrets == ["public-tls"]


def test_named_load_balancers_are_believed(helm: Helm) -> None:
    """And nobody else."""
    values = {"traefik": {"trustedIPs": ["10.0.0.0/8", "fd00::/8"]}}

    found = options(helm.template(values))

    for entry_point in ("web", "websecure"):
        name = f"entrypoints.{entry_point}.forwardedheaders.trustedips"
        assert found[name] == "10.0.0.0/8,fd00::/8"


async def test_traefik_starts_with_the_bundled_configuration(
    defaults: tuple[Manifest, ...], unused_tcp_port_factory: Any
) -> None:
    """It knows every option; only addresses and the way to a cluster are this test's."""
    edge = chart_helm.one(defaults, "Deployment", "private-llm-edge")
    (container,) = edge["spec"]["template"]["spec"]["containers"]
    ports = {name: unused_tcp_port_factory() for name in ("web", "websecure", "internal")}
    ours = [arg for arg in container["args"] if not re.match(r"--providers\.kubernetes", arg)]
    addresses = [f"--entryPoints.{name}.address=127.0.0.1:{port}" for name, port in ports.items()]
    traefik_process = await asyncio.create_subprocess_exec(
        str(program.find()),
        *(arg for arg in ours if ".address=" not in arg),
        *addresses,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await eventually(lambda: answers(ports["internal"]), within=20, what="Traefik")
    finally:
        traefik_process.terminate()
        await traefik_process.wait()


async def answers(port: int) -> bool:
    """Return whether Traefik is there."""
    async with httpx.AsyncClient() as http:
        try:
            return (await http.get(f"http://127.0.0.1:{port}/ping")).status_code == 200
        except httpx.TransportError:
            return False
