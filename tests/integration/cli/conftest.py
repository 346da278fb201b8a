"""The command line of an administrator in a fresh namespace."""

from pathlib import Path

import pytest

from cli_world import CommandLine


@pytest.fixture
def cli(kubeconfig: Path, namespace: str) -> CommandLine:
    """Runs commands in the test's namespace."""
    return CommandLine(kubeconfig, namespace)
