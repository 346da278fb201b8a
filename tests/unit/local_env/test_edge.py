import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eventually import eventually
from privatellm_local import listeners
from privatellm_local.addresses import AddressPlan, plan_for
from privatellm_local.edge import component, configuration, definitions, objects, program
from privatellm_local.errors import MachineError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import probe
from privatellm_local.processes.specification import Probe


@pytest.fixture
def content(plan: AddressPlan) -> dict[str, Any]:
    """The configuration as Traefik reads it."""
    loaded: dict[str, Any] = yaml.safe_load(configuration.render(plan))
    return loaded


def test_the_public_entry_point_refuses_disguised_requests(content: dict[str, Any]) -> None:
    """Aliases of headers are deleted, encoded separators refused, paths cleaned."""
    http = content["entryPoints"]["web"]["http"]

    assert http["aliasHeadersStrategy"] == "delete"
    assert http["sanitizePath"] is True
    assert len(http["encodedCharacters"]) == 7
    assert not any(http["encodedCharacters"].values())


def test_no_forwarded_header_is_believed(content: dict[str, Any]) -> None:
    """Nobody stands in front of the edge."""
    assert content["entryPoints"]["web"]["forwardedHeaders"] == {
        "insecure": False,
        "trustedIPs": [],
    }


def test_middlewares_cannot_be_shadowed_or_borrowed(content: dict[str, Any]) -> None:
    """Names are joined safely and other namespaces are out of reach."""
    crds = content["providers"]["kubernetesCRD"]

    assert crds["safeNaming"] is True
    assert crds["allowCrossNamespace"] is False


def test_paths_match_whole_segments_and_empty_services_keep_their_route(
    content: dict[str, Any],
) -> None:
    """A stopped instance answers 503 behind the check, not 404 in front of it."""
    ingress = content["providers"]["kubernetesIngress"]

    assert ingress["strictPrefixMatching"] is True
    assert ingress["allowEmptyServices"] is True
    assert ingress["nativeLBByDefault"] is True
    assert ingress["ingressClass"] == "traefik"


def test_nothing_that_may_carry_a_key_is_logged(content: dict[str, Any]) -> None:
    """Tokens travel in headers, and by mistake in queries and paths."""
    names = content["accessLog"]["fields"]["names"]
    assert {names["RequestPath"], names["RequestLine"]} == {"drop"}
    assert content["accessLog"]["fields"]["headers"] == {"defaultMode": "drop"}
    assert content["accessLog"]["fields"]["queryParameters"] == {"defaultMode": "drop"}


def test_there_is_no_dashboard_and_no_telemetry(content: dict[str, Any]) -> None:
    """Nothing leaves the machine and nothing can be looked at by strangers."""
    assert "api" not in content
    assert content["global"] == {"checkNewVersion": False, "sendAnonymousUsage": False}
    addresses = [point["address"] for point in content["entryPoints"].values()]
    assert all(address.startswith("127.0.0.1:") for address in addresses)


def test_a_changed_configuration_restarts_the_edge(paths: StatePaths) -> None:
    """Traefik reads its static configuration only once."""
    one = component.component(paths, plan_for(1), Path("/traefik"), "uids")
    other = component.component(paths, plan_for(1, edge_port=8080), Path("/traefik"), "uids")

    assert one.fingerprint != other.fingerprint


def test_definitions_that_were_made_again_restart_the_edge(paths: StatePaths) -> None:
    """Traefik would ask less and less often for those that it knew."""
    one = component.component(paths, plan_for(1), Path("/traefik"), "a b")
    other = component.component(paths, plan_for(1), Path("/traefik"), "a c")

    assert one.fingerprint != other.fingerprint


def test_a_missing_program_is_explained(tmp_path: Path) -> None:
    """The message says how to install it."""
    with pytest.raises(MachineError, match="make install"):
        program.find(tmp_path)


@pytest.fixture
def free_plan() -> AddressPlan:
    """A slot that nobody listens on now."""
    plans = (plan_for(slot) for slot in range(90, 0, -1))
    return next(plan for plan in plans if listeners.is_slot_free(plan, with_edge=True))


@pytest.fixture
def traefik(free_plan: AddressPlan, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The real program with our configuration and no cluster."""
    file = tmp_path / "traefik.yaml"
    file.write_text(configuration.render(free_plan))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [program.find(), f"--configFile={file}"], stdout=log, stderr=log, env={}
        )
    yield process
    process.kill()
    process.wait()


async def test_the_real_traefik_accepts_every_option(
    traefik: subprocess.Popen[bytes], free_plan: AddressPlan
) -> None:
    """It refuses to start when it does not know one."""

    async def answers() -> bool:
        assert traefik.poll() is None, "Traefik refused its configuration"
        return await probe.is_ready(Probe(url=f"http://127.0.0.1:{free_plan.edge_internal}/ping"))

    assert await eventually(answers, what="Traefik's ping")


def test_there_are_all_ten_kinds_of_traefik() -> None:
    """Its providers wait for ever for a kind that does not exist."""
    names = [crd["metadata"]["name"] for crd in definitions.definitions()]

    assert len(set(names)) == 10
    assert all(name.endswith(".traefik.io") for name in names)


def test_a_middleware_of_an_unknown_type_is_refused_by_its_schema() -> None:
    """The spec is closed, and each known type in it is open."""
    (crd,) = (
        crd for crd in definitions.definitions() if crd["spec"]["names"]["kind"] == "Middleware"
    )
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert "x-kubernetes-preserve-unknown-fields" not in spec
    for name in ("chain", "forwardAuth", "headers", "inFlightReq", "rateLimit", "stripPrefixRegex"):
        assert spec["properties"][name]["x-kubernetes-preserve-unknown-fields"] is True


def test_the_edge_may_read_and_not_write() -> None:
    """A taken edge cannot change the cluster."""
    verbs = {verb for rule in objects.cluster_role()["rules"] for verb in rule["verbs"]}

    assert verbs == {"get", "list", "watch"}


def test_our_ingress_class_is_not_the_default() -> None:
    """Other people's Ingresses are none of our business."""
    assert "annotations" not in objects.ingress_class()["metadata"]
