"""Every bench runs, with as little as it can do, and the page of measurements takes what it left.

Nothing is measured here: a bench that nobody runs for a while stops working like any other program.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bench_litellm
import embedded
from bench_page import SECTIONS, page

ROOT = Path(__file__).parents[3]
BENCHES = ROOT / "tests/bench"
DEADLINE_SECONDS = 600.0

SMALLEST = {
    "verify": "--tokens 10 20 --rounds 1 --turns 5 --connections 4",
    "revocation": "--keys 20 --requests 5",
    "tracing": "--rounds 1 --requests 100",
    "near_miss": "--rounds 50",
    "reconcile": "--instances 5 --rounds 1 --settled 2",
    "sync": "--workspaces 3 --instances 2 --settled 2",
    "check_memory": "--keys 100 200 --seconds 1",
    "growth": "--sizes 5 10 --rounds 1 --rest 1",
    "edge": "--servers fast --connections 2 --brief",
}
"""What makes each bench small."""

pytestmark = [
    pytest.mark.integration,
    pytest.mark.deep,
    pytest.mark.timeout(DEADLINE_SECONDS),
]


def figures_of(bench: str, directory: Path, *more: str) -> dict[str, object]:
    """Run a bench and return what it left."""
    told = directory / "figures.json"
    program = str(BENCHES / f"{bench}_bench.py")
    command = [sys.executable, program, f"--json={told}", *SMALLEST[bench].split(), *more]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    assert finished.returncode == 0, finished.stderr
    assert told.exists(), finished.stderr
    figures: dict[str, object] = json.loads(told.read_text())
    return figures


def assert_on_the_page(bench: str, figures: dict[str, object]) -> None:
    """Check that the figures make a section, with a line about the machine."""
    name = f"{bench.replace('_', '-')}.json"
    text, _ = page({name: figures})

    assert name in SECTIONS
    assert text.count("\n## ") == 1
    assert f"{figures['cores']} cores" in text


def test_no_bench_is_left_out() -> None:
    """Also one that is written later."""
    assert {path.name for path in BENCHES.glob("*_bench.py")} == {
        f"{bench}_bench.py" for bench in SMALLEST
    }


@pytest.mark.parametrize("bench", sorted(SMALLEST.keys() - {"edge"}))
def test_a_bench_runs(bench: str, tmp_path: Path) -> None:
    """From its start to a section of the page."""
    assert_on_the_page(bench, figures_of(bench, tmp_path))


def test_the_bench_beside_litellm_runs(environment: embedded.Environment, tmp_path: Path) -> None:
    """Where LiteLLM is there: a test installs nothing."""
    if not bench_litellm.is_installed():
        pytest.skip("LiteLLM is installed by 'make bench'")

    figures = figures_of("edge", tmp_path, f"--state={environment.state}")

    assert_on_the_page("edge", figures)
