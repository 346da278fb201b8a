"""Lock the requirements: universal, hashed, without an index's address, at most a week old.

Run it with ``make lock``. The cooldown of a week leaves others time to notice a poisoned release.
"""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("operator", "authserver", "sync-agent", "cli", "local", "demo")
COOLDOWN = timedelta(days=7)


def compile_to(output: str, *sources: str) -> None:
    """Resolve ``sources`` into ``requirements/<output>.txt``."""
    newest = (datetime.now(UTC) - COOLDOWN).strftime("%Y-%m-%d")
    options = ["--universal", "--generate-hashes", "--python-version", "3.11", "--quiet"]
    plain = ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    target = ["--exclude-newer", newest, "-o", f"requirements/{output}.txt"]
    uv = Path(sys.executable).with_name("uv")
    subprocess.run(
        [uv, "pip", "compile", *options, *plain, *target, *sources], check=True, cwd=ROOT
    )


def main() -> None:
    """Lock every extra, the development set, the build back end and what a bench compares with."""
    compile_to("build", "requirements/build.in")
    for extra in EXTRAS:
        compile_to(extra, "pyproject.toml", "--extra", extra)
    compile_to("dev", "pyproject.toml", "--all-extras", "--group", "dev", "requirements/build.in")
    compile_to("bench-litellm", "requirements/bench-litellm.in")


if __name__ == "__main__":
    main()
