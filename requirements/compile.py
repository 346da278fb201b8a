"""Compile what is installed, the same way in every build: ``python requirements/compile.py DIRECTORY``.

``compileall`` marks shared objects in byte code, and which objects are shared depends on what else the
compiling process happened to hold; unless told otherwise it writes modification times, too. Neither belongs
into an image that is to be the same in every build. Here byte code carries the hash of its source, which
nobody compares at run time, and is written in marshal's version 2, which knows no shared objects and which
every Python reads.
"""

import importlib.util
import marshal
import sys
from pathlib import Path

UNCHECKED_HASH = (0b01).to_bytes(4, "little")
"""The flags of byte code that is valid by its source's hash, and is believed."""

WITHOUT_REFERENCES = 2
"""The newest version of marshal's format that has no references."""


def byte_code(file: Path) -> bytes:
    """Return the byte code of a source file, as Python caches it."""
    source = file.read_bytes()
    code = compile(source, str(file), "exec", dont_inherit=True, optimize=0)
    header = importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + importlib.util.source_hash(source)
    return header + marshal.dumps(code, WITHOUT_REFERENCES)


def main(directory: Path) -> None:
    """Compile every source file below a directory."""
    for file in sorted(directory.rglob("*.py")):
        cached = Path(importlib.util.cache_from_source(str(file)))
        cached.parent.mkdir(exist_ok=True)
        cached.write_bytes(byte_code(file))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
