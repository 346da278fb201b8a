import re
from pathlib import Path

import pytest

from privatellm_local.addresses import AddressPlan
from privatellm_local.controlplane import apiserver, controller_manager, etcd, scheduler
from privatellm_local.paths import StatePaths
from privatellm_local.processes.specification import ComponentSpec

PROGRAM = Path("/bin/program")


@pytest.fixture
def components(paths: StatePaths, plan: AddressPlan) -> dict[str, ComponentSpec]:
    """The four components by name."""
    builders = (etcd, apiserver, controller_manager, scheduler)
    return {builder.NAME: builder.component(paths, plan, PROGRAM) for builder in builders}


def _flags(component: ComponentSpec) -> dict[str, str]:
    pairs = (argument.removeprefix("--").split("=", 1) for argument in component.argv[1:])
    return {pair[0]: pair[1] for pair in pairs}


def test_every_listener_is_on_loopback(components: dict[str, ComponentSpec]) -> None:
    """No flag names another address, and every bind address is named."""
    for component in components.values():
        for value in component.argv:
            for address in re.findall(r"\d+\.\d+\.\d+\.\d+", value):
                assert address.startswith("127.")
    for name in (apiserver.NAME, controller_manager.NAME, scheduler.NAME):
        assert _flags(components[name])["bind-address"] == "127.0.0.1"


def test_every_component_has_its_own_port(
    components: dict[str, ComponentSpec], plan: AddressPlan
) -> None:
    """The address that people see is the one the probe asks."""
    addresses = [component.address for component in components.values()]

    assert len(set(addresses)) == len(addresses)
    for component in components.values():
        assert component.probe.url.startswith(component.address)
    assert str(plan.etcd_peer) in _flags(components[etcd.NAME])["listen-peer-urls"]


def test_no_secret_is_on_a_command_line(components: dict[str, ComponentSpec]) -> None:
    """Everybody on the machine can read command lines; files are named instead."""
    for component in components.values():
        assert not any("PRIVATE KEY" in argument for argument in component.argv)


def test_etcd_demands_certificates_from_everybody(components: dict[str, ComponentSpec]) -> None:
    """Clients and peers alike, and it syncs every write to disk."""
    flags = _flags(components[etcd.NAME])

    assert flags["client-cert-auth"] == flags["peer-client-cert-auth"] == "true"
    assert all(
        url.startswith("https://") for name, url in flags.items() if name.endswith("client-urls")
    )
    assert "unsafe-no-fsync" not in flags


def test_the_api_server_lets_nobody_in_without_a_name(
    components: dict[str, ComponentSpec], plan: AddressPlan
) -> None:
    """Anonymous requests are off, rights come from RBAC."""
    flags = _flags(components[apiserver.NAME])

    assert flags["anonymous-auth"] == "false"
    assert flags["authorization-mode"] == "RBAC"
    assert flags["service-cluster-ip-range"] == str(plan.service_cidr)
    assert flags["endpoint-reconciler-type"] == "none"
    assert "GOMEMLIMIT" in components[apiserver.NAME].environment


def test_controllers_that_loopback_breaks_are_off(components: dict[str, ComponentSpec]) -> None:
    """Everything else runs."""
    controllers = _flags(components[controller_manager.NAME])["controllers"].split(",")

    assert controllers[0] == "*"
    assert set(controllers[1:]) == {
        "-endpointslice-controller",
        "-endpoints-controller",
        "-endpointslice-mirroring-controller",
    }


def test_nothing_is_written_outside_the_state_directory(
    components: dict[str, ComponentSpec], paths: StatePaths
) -> None:
    """Every path on a command line is below it."""
    for component in components.values():
        for argument in component.argv[1:]:
            value = argument.split("=", 1)[1]
            if value.startswith("/"):
                assert Path(value).is_relative_to(paths.root)
    assert "flex-volume-plugin-dir" in _flags(components[controller_manager.NAME])


def test_components_start_after_what_they_need(components: dict[str, ComponentSpec]) -> None:
    """First etcd, then the API server, then the rest."""
    assert components[etcd.NAME].after == ()
    assert components[apiserver.NAME].after == (etcd.NAME,)
    assert components[controller_manager.NAME].after == (apiserver.NAME,)
    assert components[scheduler.NAME].after == (apiserver.NAME,)
