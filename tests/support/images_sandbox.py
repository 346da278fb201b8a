"""Run what a Dockerfile says without a container runtime: in mount namespaces of this machine.

The machine's own Python stands in for the base image, and a directory is mounted over ``/opt``, where the
Dockerfile puts everything that it makes. Building runs as root, as a builder does. Running is as in a
restricted pod: the image's user without capabilities, the root read-only, ``/tmp`` an empty directory. It
needs root for the mounts; :func:`obstacle` says so where there is none.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from images_dockerfile import REPOSITORY, Stage

BUILD_SECONDS = 600
PASSED = (
    "PIP_CERT",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_DEFAULT_TIMEOUT",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)
"""Variables that say where distributions come from: this machine's matter, not the image's."""

PYTHON = Path("/opt/base/bin")
"""Where the stand-in for the base image's Python is."""


def obstacle() -> str:
    """Return why images cannot be tried on this machine; empty when they can."""
    if os.geteuid() != 0:
        return "mount namespaces with other users' ids need root"
    for tool in ("unshare", "setpriv", "mount"):
        if shutil.which(tool) is None:
            return f"{tool} (util-linux) is not installed"
    attempt = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if attempt.returncode != 0:
        return f"no mount namespace can be made: {attempt.stderr.decode().strip()}"
    ensurepip = subprocess.run(
        [sys.executable, "-c", "import ensurepip"], capture_output=True, check=False
    )
    return "" if ensurepip.returncode == 0 else "this Python has no ensurepip (python3-venv)"


@dataclass(frozen=True, slots=True)
class Root:
    """What a stage has made so far: the content of its ``/opt``."""

    opt: Path

    @classmethod
    def empty(cls, opt: Path) -> "Root":
        """Return the root of a base image: Python, and nothing else below ``/opt``."""
        python = opt / PYTHON.relative_to("/opt") / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(Path(sys.executable).resolve())
        return cls(opt)

    def copied(self, opt: Path) -> "Root":
        """Return a copy, as a stage that begins from this one has it."""
        subprocess.run(["cp", "--archive", str(self.opt), str(opt)], check=True)
        return Root(opt)

    def build(self, stage: Stage, arguments: Mapping[str, str] | None = None) -> None:
        """Do what a stage says: ``COPY`` from the repository and ``RUN``.

        Raises:
            AssertionError: when a command fails; the message is what it said.
        """
        variables = {**stage.pairs("ENV"), **(arguments or {})}
        directory = self._work_directory()
        for each in stage.instructions:
            match each.name:
                case "WORKDIR":
                    self._inside(Path(each.value)).mkdir(parents=True)
                case "COPY":
                    *sources, target = each.value.split()
                    self._copy(sources, self._inside(directory / target))
                case "RUN":
                    self._run(f"cd {directory} && {each.value}", variables)
                case _:
                    assert each.name in {"ENV", "ARG"}, f"{each.name} is not understood here"

    def command(
        self, arguments: Sequence[str], *, user: int, data: Path | None = None
    ) -> list[str]:
        """Return the command that runs a program as a restricted pod would.

        Args:
            arguments: The program and its arguments.
            user: Id of the user and of the group.
            data: Directory of this machine that is ``/srv`` inside: what a pod has mounted, read-only.
        """
        read_only = "for at in $(findmnt -nro TARGET --real); do mount -o remount,bind,ro $at; done"
        privileges = "--clear-groups --no-new-privs --bounding-set -all --inh-caps -all"
        mounts = [
            f"mount --bind {shlex.quote(str(self.opt))} /opt",
            *([f"mount --bind {shlex.quote(str(data))} /srv"] if data else []),
            # Every file system that could be written, and only then the fresh /tmp.
            read_only,
            "mount -t tmpfs -o mode=1777 tmpfs /tmp",
            "cd /",
            f"exec setpriv --reuid {user} --regid {user} {privileges} -- {shlex.join(arguments)}",
        ]
        return _namespace(" && ".join(mounts))

    def _inside(self, path: Path) -> Path:
        return self.opt / path.relative_to("/opt")

    def _work_directory(self) -> Path:
        return Path("/opt/src")

    def _copy(self, sources: Sequence[str], target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        for source in sources:
            path = REPOSITORY / source
            if path.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(path, target, dirs_exist_ok=True, ignore=ignored)
            else:
                shutil.copy(path, target)

    def _run(self, script: str, variables: Mapping[str, str]) -> None:
        passed = {name: os.environ[name] for name in PASSED if name in os.environ}
        mount = f"mount --bind {shlex.quote(str(self.opt))} /opt"
        finished = subprocess.run(
            _namespace(f"{mount} && {script}"),
            env={"PATH": f"{PYTHON}:/usr/bin:/bin", "HOME": "/root", **passed, **variables},
            capture_output=True,
            check=False,
            text=True,
            timeout=BUILD_SECONDS,
        )
        assert finished.returncode == 0, finished.stderr[-4000:]


def _namespace(script: str) -> list[str]:
    return ["unshare", "--mount", "--propagation", "private", "--", "sh", "-ec", script]
