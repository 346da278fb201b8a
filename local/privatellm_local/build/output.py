"""Read what ``go`` prints while it works, and say in one line how far it is.

``go build -v`` prints the import path of every package as it is compiled, and ``go: downloading`` for
every module that is fetched. Packages that Go has in its cache are not printed; ``go list`` tells which
ones are stale, so a build that goes on after an interruption counts only what is left.
"""

import re
from dataclasses import dataclass, replace

_DOWNLOAD = re.compile(r"^go: downloading (?P<module>\S+) (?P<version>\S+)$")
_PACKAGE = re.compile(r"^[A-Za-z0-9][\w.~/+-]*$")


@dataclass(frozen=True, slots=True)
class BuildState:
    """How far the build of one program is."""

    program: str
    position: int
    """1 for the first program that is built now."""

    programs: int
    """How many programs are built now."""

    packages: int | None = None
    """Packages that must be compiled; ``None`` while that is not known."""

    compiled: int = 0
    downloaded: int = 0
    """Modules that were fetched."""

    def after(self, line: str) -> "BuildState":
        """Return the state after ``go`` printed a line."""
        if _DOWNLOAD.match(line):
            return replace(self, downloaded=self.downloaded + 1)
        if self.packages is not None and _PACKAGE.match(line):
            return replace(self, compiled=min(self.compiled + 1, self.packages))
        return self

    def describe(self) -> str:
        """Return one line for a person."""
        head = f"{self.program} ({self.position} of {self.programs})"
        if self.packages is None:
            modules = f", {self.downloaded} modules downloaded" if self.downloaded else ""
            return f"{head}: reading modules{modules}"
        if self.compiled >= self.packages - 1:
            # The last package is the program itself.
            return f"{head}: linking"
        return f"{head}: {self.compiled} of {self.packages} packages compiled"


def complaint(lines: list[str]) -> str:
    """Return the line of a failed build's output that says most about the failure.

    Go reports causes in the middle and ends with summaries, so the first line that names an error wins.
    """
    telling = (
        "no space left",
        "cannot allocate memory",
        "signal: killed",
        "error",
        "cannot",
        "fail",
    )
    for word in telling:
        for line in lines:
            if word in line.lower():
                return line.strip()
    return lines[-1].strip() if lines else "it said nothing"
