"""What holds for every test, whatever part it is about."""

import pytest
from hypothesis import settings

import thoroughness


def pytest_configure(config: pytest.Config) -> None:
    """Try few examples, unless the command line asks for another number."""
    if not config.getoption("--hypothesis-profile", None):
        settings.load_profile(thoroughness.USUAL)
