"""The documentation as tests read it: pages, code blocks, commands and names that stand in it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"

_FENCE = re.compile(r"^ *```(?P<language>[^\n`]*)\n(?P<text>.*?)^ *```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_CONTINUED = re.compile(r"\\\n\s*")
_SUBSTITUTION = re.compile(r"\$\((?P<command>[^()]*)\)")
SHELLS = frozenset({"console", "sh", "bash", "shell"})


@dataclass(frozen=True, slots=True)
class Page:
    """One page."""

    path: Path

    @property
    def name(self) -> str:
        """The page's path in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text()

    def blocks(self) -> Iterator[tuple[str, str]]:
        """Yield language and text of each fenced block."""
        for match in _FENCE.finditer(self.text):
            yield match["language"].strip(), match["text"]

    def spans(self) -> Iterator[str]:
        """Yield what is marked as code inside of sentences and tables."""
        yield from _SPAN.findall(_FENCE.sub("", self.text))

    def command_lines(self) -> Iterator[str]:
        """Yield the lines that a reader types: all of a shell block, or those behind a prompt."""
        for language, text in self.blocks():
            lines = [line.strip() for line in _CONTINUED.sub(" ", text).splitlines()]
            if language == "console":
                yield from (line[2:] for line in lines if line.startswith("$ "))
            elif language in SHELLS:
                yield from lines

    def transcript(self, heading: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each command below a heading with the lines that it is said to print."""
        section = self.text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
        for match in _FENCE.finditer(section):
            for part in f"\n{match['text']}".split("\n$ ")[1:]:
                command, *printed = part.rstrip().split("\n")
                yield command, printed


def pages() -> list[Page]:
    """Return every page, the README among them."""
    written = sorted(path for path in DOCS.rglob("*.md") if "node_modules" not in path.parts)
    return [Page(path) for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written)]


def calls_of(program: str, line: str) -> Iterator[list[str]]:
    """Yield the words behind a program wherever a line calls it, inside of ``$( )`` too.

    Args:
        program: Name of the program, without its directory.
        line: As a reader types it.
    """
    for command in (line, *(match["command"] for match in _SUBSTITUTION.finditer(line))):
        for simple in re.split(r"\||&&|;|\$\(", command):
            words = _words(simple)
            for index, word in enumerate(words):
                if word.rpartition("/")[2] == program and _is_called(words[:index]):
                    yield words[index + 1 :]


def _is_called(before: list[str]) -> bool:
    """Tell a program from an argument: only assignments, ``eval`` and ``$`` may stand before it."""
    return all("=" in word or word in ("eval", "$", "sudo") for word in before)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text.rstrip(")\"'"), comments=True)
    except ValueError:  # An open quotation mark: the rest of it is in another part of the line.
        return text.replace('"', " ").replace("'", " ").split()
