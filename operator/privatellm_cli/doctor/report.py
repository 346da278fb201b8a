"""Findings for people and for programs. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from privatellm_cli.doctor.findings import Finding, Level
from privatellm_cli.output import grid, printable


def text(findings: Sequence[Finding]) -> str:
    """Return one line a finding, what to do below it, and a last line that counts."""
    rows = [[f.level.value, f.check, printable(f.message)] for f in findings]
    lines = grid([["RESULT", "PART", "FINDING"], *rows]).splitlines()
    told = [lines[0]]
    for finding, line in zip(findings, lines[1:], strict=True):
        told.append(line)
        told += [f"  -> {finding.remedy}"] if finding.remedy else []
    return "\n".join((*told, "", _count(findings)))


def document(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the findings for programs."""
    listed = tuple(findings)
    return {
        "healthy": not has_failures(listed),
        "findings": [
            {
                "part": finding.check,
                "result": finding.level.value,
                "message": finding.message,
                "remedy": finding.remedy or None,
            }
            for finding in listed
        ],
    }


def has_failures(findings: Iterable[Finding]) -> bool:
    """Say whether something has to be mended."""
    return any(finding.level is Level.FAILURE for finding in findings)


def _count(findings: Sequence[Finding]) -> str:
    counts = {level: sum(f.level is level for f in findings) for level in Level}
    return ", ".join(f"{count} {level.value}" for level, count in counts.items() if count)
