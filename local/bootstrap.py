"""Make ``.venv`` with the ``privatellm`` command, from locked requirements, with what Python brings.

``make install`` runs this file with the system's Python, so it uses the standard library alone and
its first duty is to say in one line what is missing. Debian ships Python without ``ensurepip``; an
installed ``pip`` can then fill an environment from outside. Running it again does nothing unless a
requirement file changed.

Usage: ``python3 local/bootstrap.py {demo,dev}``
"""

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "requirements"
SUPERSETS = {"demo": ("demo", "dev"), "dev": ("dev",)}
"""Which installed sets satisfy a wish: the development set holds all of the demo's."""


class BootstrapError(Exception):
    """What is missing, and the one line that installs it."""


def main(wish: str) -> None:
    """Install the wished set unless it, or one that holds it, is installed already."""
    if sys.version_info < OLDEST_PYTHON:
        raise BootstrapError(
            f"Python 3.11 or newer is needed; {sys.executable} is {sys.version.split()[0]}. "
            "Install one with: apt-get install python3.11, then: make PYTHON=python3.11 install"
        )
    if is_made_by_this_python() and any(stamp_of(name).exists() for name in SUPERSETS[wish]):
        return
    pip = pip_of_environment()
    count = (REQUIREMENTS / f"{wish}.txt").read_text(encoding="utf-8").count("==")
    sys.stderr.write(
        f"Installing {count} packages for {wish} into {VENV.name}; that takes a minute or two ...\n"
    )
    for stamp in VENV.glob("installed-*"):
        stamp.unlink()
    locked = ["--require-hashes", "--only-binary=:all:"]
    run([*pip, *locked, "-r", str(REQUIREMENTS / f"{wish}.txt")])
    run([*pip, *locked, "-r", str(REQUIREMENTS / "build.txt")])
    run([*pip, "--no-index", "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    stamp_of(wish).touch()


def is_made_by_this_python() -> bool:
    """Say whether the environment is of the running Python's version; another's packages do not fit."""
    try:
        lines = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    settings = dict(line.replace(" ", "").split("=", 1) for line in lines if "=" in line)
    made_by = settings.get("version", "").split(".")[:2]
    return made_by == [str(number) for number in sys.version_info[:2]] and PYTHON.exists()


def stamp_of(wish: str) -> Path:
    """Return the file that says that this very set of requirements is installed."""
    digest = hashlib.sha256()
    for path in (REQUIREMENTS / f"{wish}.txt", REQUIREMENTS / "build.txt", ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return VENV / f"installed-{wish}-{digest.hexdigest()[:16]}"


def pip_of_environment() -> list[str]:
    """Create the environment if needed and return the command that installs into it."""
    fitting = is_made_by_this_python()
    if importlib.util.find_spec("ensurepip"):
        if not (fitting and (VENV / "bin" / "pip").exists()):
            run([sys.executable, "-m", "venv", "--clear", str(VENV)])
        return [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if importlib.util.find_spec("pip"):
        if not fitting:
            run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)])
        outside = [sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "--quiet"]
        return [*outside, "--disable-pip-version-check"]
    raise BootstrapError(
        "This Python has neither ensurepip nor pip. Install them with: apt-get install python3-venv"
    )


def run(command: list[str]) -> None:
    """Run a command; its own message is the best one when it fails."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH")}
    # In a session of its own, so that Ctrl-C is ours to answer, in one line instead of its traceback.
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if code != 0:
        raise BootstrapError(f"This command failed, see its message above: {' '.join(command)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
        if sys.argv[1] == "demo":
            sys.stderr.write(f"{VENV.name}/bin/privatellm is installed.\n")
    except (BootstrapError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted; run it again to go on.\n")
        sys.exit(128 + signal.SIGINT)
