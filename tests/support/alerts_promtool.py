"""Prometheus' own ``promtool``, which evaluates rules over given series with Prometheus' own engine."""

import asyncio
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alerts_series import HOURS, QUIET_MINUTES, SCRAPE_SECONDS, Series
from privatellm_local.build.builder import ensure_built
from privatellm_local.build.programs import PROMTOOL
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress

BUILD_SECONDS = 20 * 60
RUN_SECONDS = 60
END = f"{HOURS * 60:g}m"

Json = dict[str, Any]


class PromtoolError(AssertionError):
    """It refused, or a world was not as expected; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Promtool:
    """The program, and where it reads files."""

    program: Path
    directory: Path

    def check(self, groups: Iterable[Json]) -> None:
        """Have rules parsed and examined.

        Raises:
            PromtoolError: when one is no rule, or a doubtful one.
        """
        rules = self._write("rules.json", {"groups": [*groups]})
        self._run("check", "rules", "--lint=all", "--lint-fatal", str(rules))

    def test(self, groups: Iterable[Json], worlds: Iterable[Json]) -> None:
        """Have rules and queries evaluated in worlds.

        Args:
            groups: The rules' groups.
            worlds: What :func:`world` made.

        Raises:
            PromtoolError: when something is not as a world expects it.
        """
        rules = self._write("rules.json", {"groups": [*groups]})
        content = {
            "rule_files": [rules.name],
            "evaluation_interval": f"{SCRAPE_SECONDS}s",
            "tests": [*worlds],
        }
        self._run("test", "rules", str(self._write("worlds.json", content)))

    def _write(self, name: str, content: Json) -> Path:
        path = self.directory / name
        # It reads YAML, of which JSON is a part.
        path.write_text(json.dumps(content))
        return path

    def _run(self, *arguments: str) -> None:
        finished = subprocess.run(
            [str(self.program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS,
        )
        if finished.returncode != 0:
            raise PromtoolError(finished.stdout + finished.stderr)


def provide(directory: Path) -> Promtool:
    """Return the program, built from its pinned module where that was not done before."""
    paths = cache_paths()
    paths.create()
    (program,) = asyncio.run(ensure_built((PROMTOOL,), paths, SilentProgress()))
    return Promtool(program, directory)


def world(name: str, series: Iterable[Series], **expected: list[Json]) -> Json:
    """Return a world for :meth:`Promtool.test`.

    Args:
        name: What it is called where it is not as expected.
        series: Everything that Prometheus scraped.
        expected: ``alert_rule_test`` and ``promql_expr_test``.
    """
    return {
        "name": name,
        "interval": f"{SCRAPE_SECONDS}s",
        "input_series": [{"series": one.selector, "values": one.values} for one in series],
        **expected,
    }


def firing(alert: str, minute: float, expected: list[Json]) -> Json:
    """Expect alerts of a name, with labels and annotations, so many minutes after the trouble began."""
    at = round((QUIET_MINUTES + minute) * 60)
    return {"alertname": alert, "eval_time": f"{at}s", "exp_alerts": expected}


def told(alert: str, count: int) -> Json:
    """Expect that by the end of all so many alerts of a name have fired, however shortly."""
    history = f'ALERTS{{alertname="{alert}", alertstate="firing"}}[{END}]'
    samples = [{"labels": "{}", "value": count}] if count else []
    return gives(f"count(count_over_time({history}))", samples)


def gives(expression: str, samples: list[Json]) -> Json:
    """Expect what a query gives at the end of all."""
    return {"expr": expression, "eval_time": END, "exp_samples": samples}
