"""Settings: names, defaults, and sentences for what is wrong."""

import ast
import inspect
import itertools
from pathlib import Path

import pytest

from privatellm.errors import InvalidInputError
from privatellm_authserver import settings as settings_module
from privatellm_authserver.settings import Settings


@pytest.fixture(autouse=True)
def _minimal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_HOST", "llm.example.com:8443")
    monkeypatch.setenv("PRIVATE_LLM_PLATFORM_KEY_FILE", "/keys/platform-key")


def test_two_variables_are_enough() -> None:
    """Everything else has the default that the design names."""
    settings = Settings.from_environment()

    assert settings.public_host == "llm.example.com:8443"
    assert settings.platform_key_file == Path("/keys/platform-key")
    assert settings.token_namespace == "private-llm-tokens"
    assert (settings.verify_port, settings.admin_port) == (8090, 8091)
    assert settings.max_staleness_seconds == 60.0


def test_every_setting_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variables that the platform's manifests use."""
    variables = {
        "PRIVATE_LLM_TOKEN_NAMESPACE": "verifiers",
        "PRIVATE_LLM_BIND_HOST": "127.101.0.3",
        "PRIVATE_LLM_VERIFY_PORT": "9000",
        "PRIVATE_LLM_ADMIN_PORT": "9001",
        "PRIVATE_LLM_WORKERS": "3",
        "PRIVATE_LLM_MAX_STALENESS_SECONDS": "45",
        "PRIVATE_LLM_DRAIN_SECONDS": "0",
        "PRIVATE_LLM_AUDIT_LINES_PER_SECOND": "0.5",
        "PRIVATE_LLM_LOG_FORMAT": "console",
        "PRIVATE_LLM_LOG_LEVEL": "WARNING",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    settings = Settings.from_environment()

    assert settings.token_namespace == "verifiers"
    assert (settings.bind_host, settings.verify_port, settings.admin_port) == (
        "127.101.0.3",
        9000,
        9001,
    )
    assert (settings.workers, settings.max_staleness_seconds, settings.drain_seconds) == (3, 45, 0)
    assert (settings.log_format.value, settings.log_level) == ("console", "warning")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PUBLIC_HOST", "https://llm.example.com"),
        ("PRIVATE_LLM_VERIFY_PORT", "0"),
        ("PRIVATE_LLM_WORKERS", "none"),
        ("PRIVATE_LLM_MAX_STALENESS_SECONDS", "0"),
        ("PRIVATE_LLM_LOG_LEVEL", "loud"),
        ("PRIVATE_LLM_LOG_FORMAT", "xml"),
    ],
)
def test_a_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    """By the variable that has to be changed."""
    monkeypatch.setenv(variable, value)

    with pytest.raises(InvalidInputError, match=variable):
        Settings.from_environment()


def test_all_missing_variables_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody likes to be told one at a time."""
    monkeypatch.delenv("PUBLIC_HOST")
    monkeypatch.delenv("PRIVATE_LLM_PLATFORM_KEY_FILE")

    with pytest.raises(InvalidInputError, match=r"PUBLIC_HOST.*PRIVATE_LLM_PLATFORM_KEY_FILE"):
        Settings.from_environment()


def test_every_setting_is_documented() -> None:
    """Each field is followed by a string that says unit, default and consequence."""
    tree = ast.parse(inspect.getsource(settings_module))
    (body,) = [n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Settings"]
    undocumented = [
        ast.unparse(statement.target)
        for statement, following in itertools.pairwise(body)
        if isinstance(statement, ast.AnnAssign)
        and not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant))
    ]

    assert undocumented == []
