"""Every command that a page tells its reader to type exists, with its options."""

import re
from collections.abc import Iterator

import typer

from docs_pages import ROOT, Page, calls_of, pages
from privatellm_cli import reference
from privatellm_cli.application import application

COMMANDS = dict(reference.commands(typer.main.get_command(application()), "privatellm"))
OPTIONS = {
    name: {word for parameter in command.params for word in parameter.opts}
    for name, command in COMMANDS.items()
}
FOR_ALL = frozenset({"--help", "--version", "--install-completion", "--show-completion"})
SPAN = re.compile(r"^(?:[^ ]*/)?(?:privatellm|kubectl llm) (?P<rest>[a-z].*)$")


def calls(page: Page) -> Iterator[list[str]]:
    """Yield the words of each call of our command: in blocks, and marked as code in a sentence."""
    for line in page.command_lines():
        yield from calls_of("privatellm", line)
    for span in page.spans():
        if match := SPAN.match(span):
            yield re.sub(r"[\[\]|]", " ", match["rest"]).split()


def named(words: list[str]) -> str | None:
    """Return the command that words begin with."""
    return next(
        (name for n in (2, 1) if (name := " ".join(["privatellm", *words[:n]])) in COMMANDS), None
    )


def is_group(words: list[str]) -> bool:
    """Whether words name a group of commands and nothing else."""
    return len(words) == 1 and any(name.split()[1] == words[0] for name in COMMANDS)


def faults_of(page: Page) -> Iterator[str]:
    """Yield what no reader can run; a group such as ``token`` may stand alone."""
    for words in calls(page):
        if not words or words[0] in FOR_ALL or is_group(words):
            continue
        name = named(words)
        options = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z].*", word)}
        if name is None:
            yield f"{page.name}: no command `privatellm {' '.join(words)}`"
        elif unknown := options - OPTIONS[name] - FOR_ALL:
            yield f"{page.name}: {name} has no {', '.join(unknown)}"


def test_every_command_and_option_of_a_page_exists() -> None:
    """Also those that are only mentioned."""
    assert [fault for page in pages() for fault in faults_of(page)] == []


def test_every_make_target_of_a_page_exists() -> None:
    """As ``make help`` lists them."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    spans = [span.split() for page in pages() for span in page.spans()]
    lines = [
        words
        for page in pages()
        for line in page.command_lines()
        for words in calls_of("make", line)
    ]
    told = {words[1] for words in spans if words[:1] == ["make"] and len(words) > 1}
    told |= {words[0] for words in lines if words}

    assert {target for target in told if "=" not in target} <= targets


def test_commands_are_found_where_readers_find_them() -> None:
    """A test that finds nothing would pass for ever."""
    found = [words for page in pages() for words in calls(page)]

    assert len(found) > 50
    assert ["env", "chat"] in found
    assert ["down"] in found
