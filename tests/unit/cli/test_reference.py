from pathlib import Path

import typer

from privatellm_cli import reference
from privatellm_cli.application import application
from privatellm_cli.exit_codes import ExitCode

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"


def test_the_reference_page_is_what_the_commands_say() -> None:
    """Written anew by `python -m privatellm_cli.reference docs/reference/cli.md`."""
    assert PAGE.read_text() == reference.page()


def test_the_page_has_every_command_and_every_option() -> None:
    """Also the ones below a group."""
    page = PAGE.read_text()
    root = typer.main.get_command(application())
    commands = dict(reference.commands(root, "privatellm"))

    assert {"privatellm token rotate", "privatellm up"} <= set(commands)
    for name, command in commands.items():
        section = page.split(f"## {name}\n", 1)[1].split("\n## ", 1)[0]
        assert all(word in section for parameter in command.params for word in _words(parameter))
    assert all(f"| {int(code)} | {code.meaning} |" in page for code in ExitCode)


def _words(parameter: reference.Command) -> list[str]:
    is_option = parameter.param_type_name == "option"
    return list(parameter.opts) if is_option else [parameter.metavar]
