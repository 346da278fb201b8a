"""One embedded environment for all faults, its customers, and the report.

With ``PRIVATE_LLM_TEST_STATE`` set to the state directory of a running environment that one is used and
left running. Everything is ordered before the first fault, so what the last one sees has lived through all.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import embedded
import leaks
from chaos_customers import Customers, move_in
from chaos_fault import Stage
from chaos_parts import Parts
from chaos_report import Report
from privatellm.kube import KubeClient

REPORT = Path(__file__).parents[2] / "build" / "chaos" / "report.json"
ANSWER_SECONDS = 5.0
"""How long the suite's own client waits for an API server that may be gone."""

_REPORT = pytest.StashKey[Report]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin a report."""
    config.stash[_REPORT] = Report(REPORT)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the report."""
    report = config.stash[_REPORT]
    if report.rows:
        report.write()
        terminalreporter.section("faults")
        for line in report.lines():
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.Environment]:
    """A running environment with kcp; in the end no log of any death holds a secret."""
    if running := os.environ.get("PRIVATE_LLM_TEST_STATE"):
        yield embedded.Environment(Path(running))
        return
    started = embedded.start(tmp_path_factory.mktemp("env"), "--no-demo", "--kcp")
    yield started
    try:
        issued = leaks.issued_secrets(started)
        assert leaks.leaks_in(leaks.public_texts(started), issued) == []
    finally:
        embedded.stop(started)


@pytest.fixture(scope="session")
def parts(environment: embedded.Environment) -> Parts:
    """The environment's processes."""
    return Parts(environment.state)


@pytest.fixture(scope="session")
def kubeconfig(environment: embedded.Environment) -> Path:
    """The administrator's kubeconfig."""
    return environment.kubeconfig


@pytest.fixture(scope="session")
def customers(kubeconfig: Path) -> Customers:
    """The customers, with everything that they order beforehand."""

    async def moved_in() -> Customers:
        async with await KubeClient.connect(kubeconfig) as client:
            return await move_in(client)

    return asyncio.run(moved_in())


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """An administrator's client that does not wait for long."""
    connecting = KubeClient.connect(kubeconfig, request_timeout_seconds=ANSWER_SECONDS)
    async with await connecting as connected:
        yield connected


@pytest.fixture
def stage(
    client: KubeClient, parts: Parts, customers: Customers, pytestconfig: pytest.Config
) -> Stage:
    """Where faults are played."""
    return Stage(client, parts, customers, pytestconfig.stash[_REPORT])
