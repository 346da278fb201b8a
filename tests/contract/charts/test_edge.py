"""The bundled edge is set like the embedded one, and the real Traefik takes it."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import chart_helm
from chart_helm import Helm, Manifest
from eventually import eventually
from privatellm_local.addresses import plan_for
from privatellm_local.edge import configuration, program

ABOUT_LOOPBACK = ("nativeLBByDefault", "maxIdleConnsPerHost")
"""What the embedded edge needs because EndpointSlices cannot hold loopback addresses."""


def static(objects: tuple[Manifest, ...]) -> dict[str, Any]:
    """Return Traefik's static configuration."""
    text = chart_helm.one(objects, "ConfigMap", "private-llm-edge")["data"]["traefik.yaml"]
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def embedded() -> dict[str, Any]:
    """Return the embedded edge's, without what loopback asks for."""
    content: dict[str, Any] = yaml.safe_load(configuration.render(plan_for(1)))
    for part in (content["serversTransport"], *content["providers"].values()):
        for option in ABOUT_LOOPBACK if isinstance(part, dict) else ():
            part.pop(option, None)
    return content


@pytest.mark.parametrize("part", ["global", "accessLog", "providers", "serversTransport", "log"])
def test_the_bundled_edge_is_as_strict_as_the_embedded_one(
    defaults: tuple[Manifest, ...], part: str
) -> None:
    """Option by option."""
    assert static(defaults)[part] == embedded()[part]


@pytest.mark.parametrize("entry_point", ["web", "websecure"])
def test_both_entry_points_are_guarded(defaults: tuple[Manifest, ...], entry_point: str) -> None:
    """Encoded characters, aliased headers and forwarded headers are handled alike."""
    ours, theirs = static(defaults)["entryPoints"][entry_point], embedded()["entryPoints"]["web"]

    assert ours["http"] == theirs["http"]
    assert ours["forwardedHeaders"] == theirs["forwardedHeaders"]
    assert ours["transport"]["respondingTimeouts"] == theirs["transport"]["respondingTimeouts"]


def test_with_https_plain_http_is_only_sent_on(helm: Helm) -> None:
    """No key travels in the clear."""
    web = static(helm.template({"PUBLIC_HOST": "llm.example.com"}))["entryPoints"]["web"]

    assert web["http"] == {"redirections": {"entryPoint": {"to": ":443", "scheme": "https"}}}


def test_a_certificate_never_leaves_the_releases_namespace(helm: Helm) -> None:
    """It is a file of the edge's pod."""
    objects = helm.template({"tls": {"secretName": "public-tls"}})

    assert static(objects)["providers"]["file"] == {"filename": "/etc/traefik/certificates.yaml"}
    pod = chart_helm.one(objects, "Deployment", "private-llm-edge")["spec"]["template"]["spec"]
    secrets = [v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v]
    assert secrets == ["public-tls"]


def test_a_changed_configuration_restarts_the_edge(helm: Helm) -> None:
    """Traefik reads it once."""

    def digest(values: dict[str, Any]) -> Any:
        edge = chart_helm.one(helm.template(values), "Deployment", "private-llm-edge")
        return edge["spec"]["template"]["metadata"]["annotations"]["checksum/configuration"]

    assert digest({}) == digest({})
    assert digest({}) != digest({"traefik": {"trustedIPs": ["10.0.0.0/8"]}})


async def test_traefik_starts_with_the_bundled_configuration(
    helm: Helm, tmp_path: Path, unused_tcp_port_factory: Any
) -> None:
    """It knows every option; only addresses and the way to a cluster are this test's."""
    content = static(helm.template({"PUBLIC_HOST": "llm.example.com"}))
    ports = {name: unused_tcp_port_factory() for name in content["entryPoints"]}
    for name, entry_point in content["entryPoints"].items():
        entry_point["address"] = f"127.0.0.1:{ports[name]}"
    del content["providers"]
    (tmp_path / "traefik.yaml").write_text(yaml.safe_dump(content))

    traefik = await asyncio.create_subprocess_exec(
        str(program.find()),
        f"--configFile={tmp_path / 'traefik.yaml'}",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await eventually(lambda: answers(ports["internal"]), within=20, what="Traefik")
    finally:
        traefik.terminate()
        await traefik.wait()


async def answers(port: int) -> bool:
    """Return whether Traefik is there."""
    async with httpx.AsyncClient() as http:
        try:
            return (await http.get(f"http://127.0.0.1:{port}/ping")).status_code == 200
        except httpx.TransportError:
            return False
