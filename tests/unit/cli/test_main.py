from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NoReturn

import pytest

from privatellm.errors import ForbiddenError, InvalidInputError, PrivateLLMError
from privatellm_cli import application as app
from privatellm_cli import main as cli
from privatellm_cli import options, wording
from privatellm_cli.errors import (
    EndpointError,
    NoClusterError,
    OverdueError,
    UnreachedError,
    UsageError,
)
from privatellm_cli.exit_codes import ExitCode, code_of
from privatellm_cli.running import InterruptedByUserError
from privatellm_local import errors

Failing = Callable[[BaseException], None]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Makes the command fail with an error, whatever its arguments are."""

    def fail_with(error: BaseException) -> None:
        def application() -> Callable[..., Any]:
            def run(**_: Any) -> Any:
                raise error

            return run

        monkeypatch.setattr(app, "application", application)

    monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)
    return fail_with


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.MachineError("x"), ExitCode.MACHINE),
        (errors.StateError("x"), ExitCode.STATE),
        (errors.AddressError("x"), ExitCode.ADDRESS),
        (errors.BuildError("x"), ExitCode.BUILD),
        (errors.StartError("x"), ExitCode.START),
        (errors.NotRunningError("x"), ExitCode.NOT_RUNNING),
        (ForbiddenError("x"), ExitCode.CLUSTER),
        (NoClusterError("x"), ExitCode.CLUSTER),
        (UsageError("x"), ExitCode.USAGE),
        (EndpointError("x"), ExitCode.ENDPOINT),
        (UnreachedError("x"), ExitCode.UNREACHED),
        (OverdueError("x"), ExitCode.OVERDUE),
        (InvalidInputError("x"), ExitCode.FAILURE),
    ],
)
def test_each_kind_of_failure_has_its_code(error: PrivateLLMError, code: ExitCode) -> None:
    """Scripts can tell a taken port from a missing library."""
    assert code_of(error) is code


def test_exit_codes_are_unique_and_none_but_ok_is_zero() -> None:
    """A failure never looks like success."""
    assert [code for code in ExitCode if code == 0] == [ExitCode.OK]
    assert len({int(code) for code in ExitCode}) == len(ExitCode)


def test_an_error_is_one_line_on_standard_error(
    failing: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when the server's message has several."""
    failing(errors.AddressError("Port 80 is taken:\n  end\tthat program."))

    code = cli.main(["up"])

    assert code == ExitCode.ADDRESS
    assert capsys.readouterr().err == "error: Port 80 is taken: end that program.\n"


def test_an_unexpected_error_says_how_to_see_more(
    failing: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    """And shows no traceback by itself."""
    failing(ZeroDivisionError("division by zero"))

    code = cli.main(["up"])

    written = capsys.readouterr().err
    assert code == ExitCode.FAILURE
    assert written.startswith("error: Unexpected ZeroDivisionError: division by zero.")
    assert "PRIVATE_LLM_DEBUG=1" in written
    assert "Traceback" not in written


def test_the_debug_variable_brings_the_traceback(
    failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For whoever repairs us."""
    failing(errors.StateError("x"))
    monkeypatch.setenv(cli.DEBUG_VARIABLE, "1")

    with pytest.raises(errors.StateError):
        cli.main(["up"])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InterruptedByUserError("Interrupted.")])
def test_an_interrupt_has_the_shells_code(
    failing: Failing, error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """128 plus the number of SIGINT."""
    failing(error)

    assert cli.main(["up"]) == 130
    assert capsys.readouterr().err == "error: Interrupted.\n"


def test_an_interrupt_that_the_parser_swallows_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands import what they need when they run, inside the parser."""

    def interrupted(_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("privatellm_cli.commands.status.state_paths", interrupted)
    monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)

    assert cli.main(["status"]) == 130
    assert capsys.readouterr().err == "error: Interrupted.\n"


@pytest.mark.parametrize(
    ("text", "expected"), [("90", 90), ("1.5", 1.5), ("30s", 30), ("2m", 120), ("1h30m", 5400)]
)
def test_a_timeout_is_a_number_of_seconds_or_a_duration(text: str, expected: float) -> None:
    """A hand that knows kubectl types durations."""
    assert options.seconds(text) == expected


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["up", "--nonsense"], "--nonsense"),
        (["up", "--edge-port", "80"], "'--edge-port': it must be 1024 or more."),
        (["up", "--edge-port", "many"], "'--edge-port': it must be a whole number."),
        (["scale", "chat", "--replicas", "3000000000"], "it must be 2147483647 or less."),
        (["get", "chat", "--kubeconfig"], "--kubeconfig"),
        (["token", "create", "chat", "--expires-after", "soon"], "such as 720h; got 'soon'."),
        (["token", "nonsense"], "nonsense"),
        (["status", "-o", "xml"], "xml"),
        (["logs"], "--component"),
        (["nonsense"], "nonsense"),
        (["bogus"], "'bogus'.\n"),
        (["token", "bogus"], "'bogus'.\n"),
        (["lst"], "'lst'. Did you mean 'list'?\n"),
        (["token", "rotat"], "'rotat'. Did you mean 'rotate'?\n"),
        (["scale", "chat", "--timeout", "2x"], "such as 90, 90s or 2m; got '2x'."),
        (["scale", "chat", "--timeout", "0"], "It must be one second or more; got '0'."),
    ],
)
def test_a_wrong_command_line_is_one_line_that_names_the_culprit(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code is the one that shells use for it."""
    code = cli.main(arguments)

    written = capsys.readouterr().err
    assert code == ExitCode.USAGE
    assert written.startswith("error: ")
    assert written.count("\n") == 1
    assert named in written


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer finds the way without documentation."""
    assert cli.main(["--help"]) == 0

    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name, _ in app.COMMANDS)
    assert "  token " in printed


@pytest.mark.parametrize("group", [[], ["token"]], ids=["privatellm", "token"])
def test_a_group_alone_prints_its_help_as_it_is(
    group: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The call makes no sense, so the code says so and standard output stays empty."""
    assert cli.main([*group, "--help"]) == 0
    asked_for = capsys.readouterr().out

    code = cli.main(group)

    written = capsys.readouterr()
    assert code == ExitCode.USAGE
    assert (written.out, written.err) == ("", asked_for)


@pytest.mark.parametrize("group", [[], ["token"]], ids=["privatellm", "token"])
def test_the_summary_of_every_command_fits_a_line(
    group: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal has 80 columns at least."""
    cli.main([*group, "--help"])

    assert "..." not in capsys.readouterr().out.replace("[ARGS]...", "")


def test_the_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever reports a fault can name it."""
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"privatellm {version('private-llm')}\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Input should be greater than or equal to 1", "it must be 1 or more."),
        ("Input should be less than or equal to 9", "it must be 9 or less."),
        (
            "Input should be a valid number, unable to parse string as a number",
            "it must be a number.",
        ),
        ("Value error, 'xml' is not one of 'json'.", "'xml' is not one of 'json'."),
        ("No such option: --x", "No such option: --x."),
        (
            "No such option: --x (Possible options: --y)",
            "No such option: --x (Possible options: --y)",
        ),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(said: str, expected: str) -> None:
    """A person gives options and no *input*."""
    assert wording.plain(said) == expected


@pytest.mark.parametrize(
    ("started_as", "expected"),
    [
        ("/usr/local/bin/kubectl-llm", "kubectl llm"),
        ("/home/you/.venv/bin/privatellm", "privatellm"),
        ("-c", "privatellm"),
    ],
)
def test_help_names_the_command_as_it_was_typed(started_as: str, expected: str) -> None:
    """Under kubectl we have another name."""
    assert app.program_name(started_as) == expected


def test_a_missing_extra_is_named_with_what_to_install(
    failing: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    """A customer's command line comes without the embedded environment's packages."""
    failing(ModuleNotFoundError("No module named 'cryptography'", name="cryptography"))

    code = cli.main(["up"])

    assert code == ExitCode.MACHINE
    assert "cryptography: install private-llm[local]" in capsys.readouterr().err


def test_what_an_error_quotes_cannot_steer_the_terminal(
    failing: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    """Servers, hubs and other tenants write parts of it."""
    failing(EndpointError("The endpoint answered 500: \x1b]0;owned\x07."))

    cli.main([])

    assert capsys.readouterr().err == "error: The endpoint answered 500: \\x1b]0;owned\\x07.\n"
