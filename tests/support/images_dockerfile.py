"""The Dockerfile of this repository, as far as it is used here: stages and their instructions, in order."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DOCKERFILE = REPOSITORY / "Dockerfile"
TARGETS = ("operator", "authserver", "sync-agent")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, such as ``RUN`` and what is run."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: what it begins from, and what is done."""

    name: str
    base: str
    instructions: tuple[Instruction, ...]

    def values(self, name: str) -> tuple[str, ...]:
        """Return what every instruction of a name says."""
        return tuple(each.value for each in self.instructions if each.name == name)

    def pairs(self, name: str) -> dict[str, str]:
        """Return the keys and values of all ``ENV`` or ``LABEL`` instructions."""
        words = [word for value in self.values(name) for word in shlex.split(value)]
        return dict(word.split("=", 1) for word in words)


def stages(text: str | None = None) -> dict[str, Stage]:
    """Return the stages by name."""
    found: dict[str, Stage] = {}
    for first, *rest in _groups(_instructions(text or DOCKERFILE.read_text())):
        base, _, name = first.value.split()
        found[name] = Stage(name, base, tuple(rest))
    return found


def lineage(name: str) -> tuple[Stage, ...]:
    """Return a stage and the stages below it, the lowest first."""
    known = stages()
    stage: Stage | None = known[name]
    line: list[Stage] = []
    while stage is not None:
        line.insert(0, stage)
        stage = known.get(stage.base)
    return tuple(line)


def entry_point(name: str) -> list[str]:
    """Return what an image starts."""
    (value,) = stages()[name].values("ENTRYPOINT")
    command: list[str] = json.loads(value)
    return command


def _groups(instructions: tuple[Instruction, ...]) -> tuple[list[Instruction], ...]:
    """Return the instructions of each stage; what stands above the first one belongs to none."""
    groups: list[list[Instruction]] = []
    for each in instructions:
        if each.name == "FROM":
            groups.append([])
        if groups:
            groups[-1].append(each)
    return tuple(groups)


def _instructions(text: str) -> tuple[Instruction, ...]:
    without_comments = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n", " ", without_comments)
    lines = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return tuple(Instruction(name, value.strip()) for name, value in lines)
