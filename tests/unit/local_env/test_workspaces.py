import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from privatellm_local import completion, overview, state, steps
from privatellm_local.addresses import AddressPlan
from privatellm_local.errors import EmbeddedError
from privatellm_local.kcp import config
from privatellm_local.kcp.config import KcpConfig
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.pki import store
from privatellm_local.platform.facts import SYNC_AGENT
from privatellm_local.platform.rbac import TENANT_ROLE
from privatellm_local.platform.sync_agent import sync_agent
from privatellm_local.processes.specification import ComponentSpec
from privatellm_local.state import EnvironmentState
from privatellm_local.steps import Options
from privatellm_local.workspaces import components, names, tokens
from privatellm_local.workspaces.parties import accepted
from privatellm_sync_agent import flags
from privatellm_sync_agent.published.defaults import published_resources

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ROOT = Path(__file__).parents[3]


@pytest.fixture
def made(paths: StatePaths, plan: AddressPlan) -> tuple[ComponentSpec, ...]:
    """The two processes of an environment's kcp, with the files that they read."""
    store.ensure(paths, plan, NOW)
    return components.components(paths, plan, Path("/bin/kube-apiserver"))


def test_kcp_is_on_loopback_and_no_token_is_on_a_command_line(
    made: tuple[ComponentSpec, ...], paths: StatePaths, plan: AddressPlan
) -> None:
    """Everybody on the machine can read command lines; the files are private."""
    secrets = tokens.ensure(paths).model_dump().values()

    assert [one.name for one in made] == ["kcp-apiserver", "kcp"]
    assert [one.address for one in made] == [plan.kcp_apiserver_url, plan.kcp_url]
    for one in made:
        for argument in one.argv:
            assert not any(secret in argument for secret in secrets)
            for address in re.findall(r"\d+\.\d+\.\d+\.\d+", argument):
                assert address.startswith("127.")
    for file in (*paths.pki.iterdir(), *paths.config.iterdir(), *paths.kubeconfigs.iterdir()):
        assert file.stat().st_mode & 0o077 == 0, file


def test_a_second_start_changes_nothing(
    made: tuple[ComponentSpec, ...], paths: StatePaths, plan: AddressPlan
) -> None:
    """A customer's kubeconfig goes on to work, and no process is started anew."""
    before = paths.kubeconfig(names.CUSTOMER_KUBECONFIG).read_text()

    assert components.components(paths, plan, Path("/bin/kube-apiserver")) == made
    assert paths.kubeconfig(names.CUSTOMER_KUBECONFIG).read_text() == before


def test_the_double_reads_what_is_written_for_it(
    made: tuple[ComponentSpec, ...], paths: StatePaths
) -> None:
    """Agent and customer are members of one workspace each, and only the agent has the export's content."""
    read = config.read(Path(made[1].argv[-1]))
    by_name = {one.name: one for one in read.tokens}

    assert read.tls() is not None
    assert by_name["agent"].workspaces == ("root:llm-provider",)
    assert by_name["agent"].content_of == (names.EXPORT,)
    assert by_name["customer"].workspaces == ("root:customer",)
    assert by_name["customer"].content_of == ()
    assert read.fault_port is None


def test_a_customer_knows_nothing_but_a_workspace(
    made: tuple[ComponentSpec, ...], paths: StatePaths, plan: AddressPlan
) -> None:
    """The kubeconfig is complete in itself and names neither the cluster nor another's token."""
    text = paths.kubeconfig(names.CUSTOMER_KUBECONFIG).read_text()
    known = tokens.ensure(paths)

    assert len(made) == 2
    assert yaml.safe_load(text)["clusters"][0]["cluster"]["server"] == (
        f"{plan.kcp_url}/clusters/root:customer"
    )
    assert known.customer in text
    assert not any(other in text for other in (known.admin, known.agent, known.store))


def test_damaged_tokens_are_made_anew(paths: StatePaths) -> None:
    """Whatever is in the file; the next `up` gives the new ones to everybody."""
    first = tokens.ensure(paths)
    (paths.pki / "kcp-tokens.json").write_text('{"admin": ""}')

    second = tokens.ensure(paths)

    assert tokens.ensure(paths) == second
    assert first != second


@pytest.mark.parametrize("half", [{"certificate": "/c"}, {"key": "/k"}])
def test_a_certificate_needs_its_key(half: dict[str, str], tmp_path: Path) -> None:
    """Half of a pair must not mean plain HTTP."""
    file = tmp_path / "kcp.json"
    file.write_text(json.dumps({"kubeconfig": "/x", "tokens": []} | half))

    with pytest.raises(EmbeddedError, match="certificate and key belong together"):
        config.read(file)


def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """In one sentence with the way out."""
    made = KcpConfig(
        kubeconfig=Path("/x"), tokens=(), certificate=tmp_path / "crt", key=tmp_path / "key"
    )

    with pytest.raises(EmbeddedError, match=r"crt.*key.*fit together"):
        made.tls()


def test_claims_are_accepted_no_wider_than_they_are_proposed() -> None:
    """So the provider reaches its own copies and none of the customer's other Secrets."""
    copies = {"matchLabels": {"syncagent.kcp.io/copy": "true"}}
    secrets = {"group": "", "resource": "secrets", "verbs": ["get"], "defaultSelector": copies}
    events = {"group": "", "resource": "events", "verbs": ["create"]}

    first, second = accepted({"spec": {"permissionClaims": [secrets, events]}})

    assert first == {"group": "", "resource": "secrets", "verbs": ["get"]} | {
        "state": "Accepted",
        "selector": copies,
    }
    assert second == events | {"state": "Accepted", "selector": {"matchAll": True}}


def by_kind() -> dict[str, dict[str, Any]]:
    """Return the agent's manifests by their kinds."""
    return {one["kind"]: one for one in sync_agent("export", "kubeconfig", published_resources())}


def test_the_agent_understands_its_arguments() -> None:
    """What the manifest says is what the program reads."""
    (container,) = by_kind()["Deployment"]["spec"]["template"]["spec"]["containers"]
    arguments = [one.replace("$(POD_IP)", "127.1.2.3") for one in container["args"]]

    read = flags.parse(arguments)

    assert read.endpoint_slice == "export"
    assert read.provided == Path("/published-resources")
    assert read.health is not None
    assert (read.health.host, read.health.port) == ("127.1.2.3", 8086)


def test_the_agent_may_bind_one_role_and_write_no_secret() -> None:
    """Whoever takes it over cannot make itself more than it is."""
    rules = by_kind()["ClusterRole"]["rules"]
    writes = {"create", "update", "patch", "delete", "*"}

    for rule in rules:
        if "bind" in rule["verbs"] or "escalate" in rule["verbs"]:
            assert (rule["resourceNames"], rule["verbs"]) == ([TENANT_ROLE], ["bind"])
        if "secrets" in rule["resources"] or "clusterroles" in rule["resources"]:
            assert not writes & set(rule["verbs"])


def test_a_new_kubeconfig_makes_a_new_pod() -> None:
    """The agent reads it once."""
    old, new = (
        next(one for one in sync_agent("export", text, ()) if one["kind"] == "Deployment")
        for text in ("old", "new")
    )

    assert old["spec"]["template"] != new["spec"]["template"]


def test_workspaces_come_after_the_platform_and_before_the_demo(
    paths: StatePaths, cache: CachePaths
) -> None:
    """They are looked after when everything runs already, and need the platform."""

    def of(*, is_complete: bool = False, **chosen: bool) -> list[str]:
        options = Options(paths, cache, kcp=True, **chosen)
        return [step.name for step in steps.steps_for(options, is_complete=is_complete)]

    assert of()[-3:] == ["platform", "workspaces", "demo"]
    assert of(is_complete=True)[-3:] == ["routes", "workspaces", "demo"]
    assert "workspaces" not in of(platform=False)


def test_workspaces_are_remembered_and_leave_no_trace_where_there_are_none(
    paths: StatePaths,
) -> None:
    """A release that knows nothing of them reads the state of an environment without them."""
    without = EnvironmentState(slot=1, edge_port=20_020, created_at=NOW)

    state.save(paths, without)
    assert "kcp" not in paths.state_file.read_text()

    state.save(paths, without.model_copy(update={"kcp": True}))
    remembered = state.load(paths)
    assert remembered is not None
    assert remembered.kcp


def test_an_environment_without_workspaces_is_not_complete_when_they_are_wanted(
    paths: StatePaths,
) -> None:
    """So `up --kcp` adds them to an environment that runs."""
    assert not completion.is_complete(paths, demo=False, kcp=True)


async def test_status_knows_the_customers_kubeconfig(
    made: tuple[ComponentSpec, ...], paths: StatePaths
) -> None:
    """Of an environment that has workspaces, whether it runs or not."""
    kept = EnvironmentState(slot=1, edge_port=20_020, created_at=NOW)
    assert len(made) == 2

    state.save(paths, kept)
    assert (await overview.look(paths, NOW)).customer_kubeconfig is None

    state.save(paths, kept.model_copy(update={"kcp": True}))
    seen = await overview.look(paths, NOW)
    assert seen.customer_kubeconfig == paths.kubeconfig(names.CUSTOMER_KUBECONFIG)


def test_the_chart_can_take_over_what_up_installed() -> None:
    """Both call the agent, the export and the Deployment the same."""
    values = yaml.safe_load((ROOT / "charts/private-llm-sync-agent/values.yaml").read_text())

    assert values["kcp"]["endpointSlice"] == names.EXPORT
    assert (
        f"--agent-name={values['agentName']}"
        in (by_kind()["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"])
    )
    assert by_kind()["Deployment"]["metadata"]["name"] == SYNC_AGENT
