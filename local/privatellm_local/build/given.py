"""Programs that the user gives: those of ``KUBEBUILDER_ASSETS``, which other tools of the field read too.

They are used as they are. That each of them runs is asked before anything is started with them: a program
of another machine, or a truncated one, would show itself as a component that never gets ready.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from privatellm_local.build.programs import PROGRAMS
from privatellm_local.errors import BuildError

ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"

ANSWER_SECONDS = 30.0
"""How long a program may take to say its version, on a machine that has other things to do."""


def programs(variables: Mapping[str, str]) -> tuple[Path, ...] | None:
    """Return the programs of ``KUBEBUILDER_ASSETS`` as they are, or ``None`` when it is not set.

    Args:
        variables: The user's environment.

    Raises:
        BuildError: when the directory does not hold all four.
    """
    directory = variables.get(ASSETS_VARIABLE)
    if not directory:
        return None
    found = tuple(Path(directory).absolute() / program.name for program in PROGRAMS)
    absent = [path.name for path in found if not (path.is_file() and os.access(path, os.X_OK))]
    if absent:
        raise BuildError(
            f"{ASSETS_VARIABLE} names {directory}, which must hold the four programs of the control "
            f"plane and lacks {', '.join(absent)}: complete it, or unset the variable to have them built."
        )
    return found


async def require_working(found: Sequence[Path]) -> None:
    """Refuse programs that cannot say their version.

    Raises:
        BuildError: with the first of them and how it ended.
    """
    for program, fault in zip(found, await asyncio.gather(*map(_fault, found)), strict=True):
        if fault:
            raise BuildError(
                f"{program}, which {ASSETS_VARIABLE} names, does not work: `{program.name} --version` "
                f"{fault}. Replace it, or unset the variable to have the programs built."
            )


async def _fault(program: Path) -> str:
    """Return how a program fails to say its version; empty when it says it."""
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        return f"cannot be started ({error.strerror})"
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            code = await process.wait()
    except TimeoutError:
        return f"says nothing within {ANSWER_SECONDS:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return f"ended with {code}" if code else ""
