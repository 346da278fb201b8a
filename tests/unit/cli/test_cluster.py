import socket
from pathlib import Path

import pytest
import yaml

from privatellm.errors import (
    AlreadyExistsError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    UnavailableError,
)
from privatellm.kube import KubeClient
from privatellm.kube.credentials import Credentials
from privatellm_cli import cluster
from privatellm_cli import main as cli
from privatellm_cli.cluster import Name, Target
from privatellm_cli.errors import NoClusterError, UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_local.paths import StatePaths, state_paths

MISSING_KIND = "GET /apis/llm.privatellms.msp/v1alpha1/llminstances failed: 404 page not found"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a kubeconfig, on a machine without an embedded environment."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "home"
    made.mkdir()
    return made


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_option_wins_over_the_environment(home: Path, tmp_path: Path) -> None:
    """What is typed is meant."""
    chosen = _file(tmp_path / "chosen")

    found = cluster.kubeconfig_for(Target(kubeconfig=chosen), {"KUBECONFIG": "/other"}, home)

    assert found == chosen


def test_the_environment_is_left_to_the_client_which_merges_its_files(
    home: Path, tmp_path: Path
) -> None:
    """Also when only one of several exists, as kubectl has it."""
    value = f"/absent:{_file(tmp_path / 'present')}"

    assert cluster.kubeconfig_for(Target(), {"KUBECONFIG": value}, home) is None


def test_the_usual_file_is_found(home: Path) -> None:
    """As kubectl finds it."""
    usual = _file(home / ".kube" / "config")

    assert cluster.kubeconfig_for(Target(), {}, home) == usual


def test_a_pod_talks_to_its_own_cluster(home: Path) -> None:
    """Without any file."""
    assert cluster.kubeconfig_for(Target(), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, home) is None


def test_the_embedded_environment_is_meant_where_nothing_else_is(
    home: Path, tmp_path: Path
) -> None:
    """After `make demo` nothing has to be exported."""
    admin = _file(tmp_path / "state" / "private-llm" / "kubeconfigs" / "admin.kubeconfig")

    assert cluster.kubeconfig_for(Target(), {}, home) == admin


@pytest.mark.parametrize(
    ("target", "environment", "said"),
    [
        (Target(kubeconfig=Path("/absent")), {}, "check --kubeconfig"),
        (Target(), {"KUBECONFIG": "/absent"}, "KUBECONFIG names /absent"),
        (Target(), {}, "set KUBECONFIG"),
    ],
)
def test_no_cluster_is_a_sentence_with_what_to_do(
    home: Path, target: Target, environment: dict[str, str], said: str
) -> None:
    """And never a question to a cluster that nobody meant."""
    with pytest.raises(NoClusterError, match=said):
        cluster.kubeconfig_for(target, environment, home)


def test_an_unreachable_cluster_is_named_with_what_to_check() -> None:
    """The server's address is what tells a person that the context is wrong."""
    with (
        pytest.raises(UnavailableError, match=r"https://c:6443 cannot be reached.*context"),
        cluster.explained("https://c:6443"),
    ):
        raise UnavailableError("GET /x failed: the API server could not be reached (refused).")


def test_a_missing_role_is_told_with_who_can_give_it() -> None:
    """What the API server says of it names the right, and not what to do."""
    told = 'llms is forbidden: User "bob" cannot list resource "llms" in API group "x"'
    with (
        pytest.raises(ForbiddenError, match=rf"^{told}\. Ask the platform team for a role"),
        cluster.explained("https://c:6443"),
    ):
        raise ForbiddenError(f"GET /apis/x failed: {told}", status=403)


def test_a_name_that_is_taken_is_told_without_the_request() -> None:
    """And with the way out."""
    told = 'apitokenrequests.llm.privatellms.msp "key" already exists'
    with (
        pytest.raises(AlreadyExistsError, match=rf"^{told}\. Choose another name"),
        cluster.explained("https://c:6443"),
    ):
        raise AlreadyExistsError(f"POST /apis/x failed: {told}", status=409)


def test_what_a_quota_refuses_is_not_called_a_missing_role() -> None:
    """It has the same status, and another remedy, which it names itself."""
    told = 'pods "a" is forbidden: exceeded quota: small'
    with (
        pytest.raises(ForbiddenError, match=f"^{told}$"),
        cluster.explained("https://c:6443"),
    ):
        raise ForbiddenError(f"POST /x failed: {told}", status=403)


def test_a_context_that_is_not_there_is_told_with_those_that_are(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typo is mended at a glance."""
    paths = state_paths(None)
    _server_of(paths, "http://127.0.0.1:1")
    kubeconfig = paths.kubeconfig("admin")

    assert cli.main(["list", "--kubeconfig", str(kubeconfig), "--context", "y"]) == ExitCode.CLUSTER
    assert capsys.readouterr().err == (
        f"error: There is no context y in the kubeconfig {kubeconfig}; found: x.\n"
    )


def _server_of(paths: StatePaths, url: str) -> None:
    """Make a state directory whose administrator's kubeconfig leads to a URL."""
    paths.create()
    paths.state_file.touch()
    content = {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    paths.kubeconfig("admin").write_text(yaml.safe_dump(content))


@pytest.mark.parametrize("named", ["by nothing", "by KUBECONFIG", "by --kubeconfig"])
def test_a_stopped_environment_is_named_with_how_to_start_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    """However it was found: its kubeconfig is a good one."""
    paths = state_paths(None)
    _server_of(paths, "http://127.0.0.1:1")
    kubeconfig = str(paths.kubeconfig("admin"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    if named == "by KUBECONFIG":
        monkeypatch.setenv("KUBECONFIG", kubeconfig)

    code = cli.main(["list", *(["--kubeconfig", kubeconfig] if "--" in named else [])])

    assert code == ExitCode.NOT_RUNNING
    assert capsys.readouterr().err == (
        f"error: The embedded environment in {paths.root} does not run (nothing listens at "
        "http://127.0.0.1:1): start it with `privatellm up`.\n"
    )


@pytest.mark.parametrize("command", [["list"], ["env", "chat"]], ids=" ".join)
def test_a_server_that_hangs_is_told_with_how_long_it_was_waited_for(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    """It takes connections, as a process does that was stopped, and says nothing."""
    monkeypatch.setattr(cluster, "REQUEST_TIMEOUT_SECONDS", 0.2)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    paths = state_paths(None)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _server_of(paths, f"http://127.0.0.1:{silent.getsockname()[1]}")

        code = cli.main([*command, "--kubeconfig", str(paths.kubeconfig("admin"))])

    written = capsys.readouterr().err
    assert code == ExitCode.CLUSTER
    assert "does not answer" in written
    assert "(no answer within 0.2 s)" in written
    assert "`privatellm status`" in written


def test_another_clusters_kubeconfig_is_of_no_environment(tmp_path: Path) -> None:
    """A file of that name beside no state is somebody else's."""
    assert cluster.environment_of(tmp_path / "kubeconfigs" / "admin.kubeconfig") is None
    assert cluster.environment_of(None, {"KUBECONFIG": "/a:/b"}) is None
    assert cluster.environment_of(None, {}) is None


def test_a_cluster_without_our_kinds_is_the_wrong_one_or_lacks_the_product() -> None:
    """A bare 404 helps nobody."""
    with (
        pytest.raises(NotFoundError, match="does not know Private LLM"),
        cluster.explained("https://c:6443"),
    ):
        raise NotFoundError(MISSING_KIND)


def test_other_answers_of_a_cluster_are_passed_on() -> None:
    """They say in their own words what is wrong."""
    with pytest.raises(NotFoundError, match=r"^gone$"), cluster.explained("https://c:6443"):
        raise NotFoundError("gone")


async def test_an_object_is_named_with_or_without_its_namespace() -> None:
    """The namespace of the connection fills the gap."""
    from kubernetes.aio.client import Configuration  # noqa: PLC0415 - slow to import

    async with KubeClient(Credentials(None, Configuration())) as client:
        connected = cluster.Cluster(client, "acme")

        assert connected.name("chat") == Name("acme", "chat")
        assert connected.name("other/chat") == Name("other", "chat")
        assert connected.name("/chat") == Name("acme", "chat")
        for neither in ("a/b/c", "acme/", ""):
            with pytest.raises(UsageError, match="NAMESPACE/NAME"):
                connected.name(neither)


def test_what_the_server_says_of_a_wrong_request_is_told_without_the_request() -> None:
    """The person typed a name, and no path of an API."""
    said = 'PATCH /apis/g/v1/namespaces/n/things/X failed: Thing "X" is invalid: metadata.name: no.'

    with (
        pytest.raises(RejectedError, match=r'^Thing "X" is invalid: metadata.name: no\.$') as told,
        cluster.explained("https://c:6443"),
    ):
        raise RejectedError(said, status=422, reason="Invalid")
    assert (told.value.status, told.value.reason) == (422, "Invalid")
