"""The bundled edge, as the chart has it, and a collector with a credential and an authority of its own."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import chart_helm
from bare_servers import free_port
from chart_helm import Helm, HelmError, Manifest
from eventually import eventually
from fetcher_certificates import make_authority
from privatellm_local.edge import program
from privatellm_local.node.expansion import expand
from telemetry_collector import COLLECTORS, Collector

SOON = 20.0

SECRET = {"credential": "Bearer abc=/+, d", "tenant": "acme"}
"""What the Secret holds; a list of headers would break the credential's text apart."""

DEMANDED = {"authorization": SECRET["credential"], "x-scope-orgid": SECRET["tenant"]}

OTEL = {
    "endpoint": "https://otel.example:4317",
    "edgeSamplingPercent": 100,
    "headersSecret": {"name": "otel"},
    "edgeHeaders": {"authorization": "credential", "X-Scope-OrgID": "tenant"},
}


def pod_of(objects: tuple[Manifest, ...]) -> dict[str, Any]:
    """Return what runs as the bundled edge."""
    deployment = chart_helm.one(objects, "Deployment", "private-llm-edge")
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return pod


def told(pod: dict[str, Any]) -> list[str]:
    """Return Traefik's options of traces, with what the kubelet puts into them."""
    (container,) = pod["containers"]
    references = {item["name"]: item["valueFrom"]["secretKeyRef"] for item in container["env"]}
    assert {reference["name"] for reference in references.values()} == {"otel"}
    values = {name: SECRET[reference["key"]] for name, reference in references.items()}
    return [expand(arg, values) for arg in container["args"] if arg.startswith("--tracing.")]


@asynccontextmanager
async def running(options: list[str], **variables: str) -> AsyncIterator[str]:
    """Run Traefik with options of traces, and yield the URL at which it answers."""
    address = f"127.0.0.1:{free_port()}"
    process = await asyncio.create_subprocess_exec(
        str(program.find()),
        f"--entryPoints.web.address={address}",
        "--ping.entryPoint=web",
        "--global.checkNewVersion=false",
        # Its own pages are all that it serves here.
        "--tracing.addInternals=true",
        *options,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"OTEL_BSP_SCHEDULE_DELAY": "50"} | variables,
    )
    try:
        yield f"http://{address}/ping"
    finally:
        process.terminate()
        await process.wait()


async def asked_until(url: str, arrived: list[Any]) -> None:
    """Ask Traefik, again and again, until something has arrived at the collector."""

    async def is_there() -> bool:
        try:
            await http.get(url)
        except httpx.TransportError:
            return False
        return bool(arrived)

    async with httpx.AsyncClient() as http:
        await eventually(is_there, within=SOON, what="Traefik's span")


@pytest.mark.parametrize("protocol", COLLECTORS)
async def test_a_collector_that_demands_a_credential_takes_the_edges_spans(
    helm: Helm, tmp_path: Path, protocol: str
) -> None:
    """Over TLS of the platform's own authority, with headers from the Secret, whatever they hold."""
    authority, certificate = make_authority(tmp_path, "localhost")
    with COLLECTORS[protocol](certificate) as collector:
        collector.demanded = DEMANDED
        options = told(pod_of(helm.template(values_for(collector))))
        mounted = [arg.replace("/extra-ca/ca.crt", str(authority)) for arg in options]

        async with running(mounted) as url:
            await asked_until(url, collector.requests)

    assert mounted != options
    assert collector.refused == []
    assert collector.services == {"private-llm-edge"}


def values_for(collector: Collector) -> dict[str, Any]:
    """Return the chart's values for a collector with TLS."""
    place = {"endpoint": collector.endpoint, "protocol": collector.protocol}
    return {"otel": OTEL | place, "extraCA": {"configMapName": "site-authorities"}}


@pytest.mark.parametrize("protocol", COLLECTORS)
async def test_traefik_reads_no_headers_of_opentelemetry(helm: Helm, protocol: str) -> None:
    """When it does, ``otel.edgeHeaders`` has done its service."""
    with COLLECTORS[protocol]() as collector:
        collector.demanded = {"authorization": "Bearer abc"}
        bare = {"endpoint": collector.endpoint, "protocol": protocol, "edgeSamplingPercent": 100}
        (container,) = pod_of(helm.template({"otel": bare}))["containers"]
        options = [arg for arg in container["args"] if arg.startswith("--tracing.")]

        async with running(options, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer abc") as url:
            await asked_until(url, collector.refused)

    assert collector.requests == []


def test_the_edge_gets_headers_from_the_secret_and_the_bundle_from_its_config_map(
    helm: Helm,
) -> None:
    """No credential stands in the Deployment."""
    values = {"otel": OTEL, "extraCA": {"configMapName": "site", "key": "bundle.pem"}}

    pod = pod_of(helm.template(values))

    (container,) = pod["containers"]
    options = [arg for arg in container["args"] if arg.startswith("--tracing.otlp.")]
    assert sorted(options) == [
        "--tracing.otlp.grpc.endpoint=otel.example:4317",
        "--tracing.otlp.grpc.headers.X-Scope-OrgID=$(COLLECTOR_HEADER_0)",
        "--tracing.otlp.grpc.headers.authorization=$(COLLECTOR_HEADER_1)",
        "--tracing.otlp.grpc.insecure=false",
        "--tracing.otlp.grpc.tls.ca=/extra-ca/ca.crt",
    ]
    assert {item["name"]: item["valueFrom"]["secretKeyRef"] for item in container["env"]} == {
        "COLLECTOR_HEADER_0": {"name": "otel", "key": "tenant"},
        "COLLECTOR_HEADER_1": {"name": "otel", "key": "credential"},
    }
    items = [{"key": "bundle.pem", "path": "ca.crt"}]
    bundle = {"name": "extra-ca", "configMap": {"name": "site", "items": items}}
    assert bundle in pod["volumes"]
    mount = {"name": "extra-ca", "mountPath": "/extra-ca", "readOnly": True}
    assert mount in container["volumeMounts"]


@pytest.mark.parametrize(
    "changed",
    [{"edgeSamplingPercent": 0}, {"endpoint": ""}, {"edgeSamplingPercent": 0, "edgeHeaders": {}}],
    ids=str,
)
def test_an_edge_that_traces_nothing_gets_no_credential(
    helm: Helm, changed: dict[str, Any]
) -> None:
    """Nor a bundle; it would be there for nobody."""
    values = {"otel": OTEL | changed, "extraCA": {"configMapName": "site"}}

    pod = pod_of(helm.template(values))

    assert "env" not in pod["containers"][0]
    assert not any(volume["name"] == "extra-ca" for volume in pod["volumes"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"edgeHeaders": {}}, 'otel.edgeHeaders must name .* Secret "otel".*; got none'),
        ({"headersSecret": {"name": ""}}, "otel.headersSecret.name must name .*; got none"),
        ({"edgeHeaders": {"a=b": "credential"}}, "edgeHeaders.*a=b"),
    ],
    ids=str,
)
def test_half_a_credential_of_the_edge_is_refused(
    helm: Helm, changed: dict[str, Any], said: str
) -> None:
    """Spans that the collector refuses would be lost without a word in any metric of ours."""
    with pytest.raises(HelmError, match=re.compile(said, re.DOTALL)):
        helm.template({"otel": OTEL | changed})
