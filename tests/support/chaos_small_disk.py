"""``chaos_small_disk.py FLAG PROGRAM...``: a program whose ``--output`` lies on a disk that is too small.

While the file FLAG exists, a file system of its size in bytes is mounted over the directory, in a mount
namespace that the caller made and that ends with the program. What the kernel tells the program is real.
"""

import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Mount when told to, and become the program."""
    flag, program = Path(sys.argv[1]), sys.argv[2:]
    if flag.exists():
        output = Path(program[program.index("--output") + 1])
        size = f"size={int(flag.read_text())}"
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "small", str(output.parent)], check=True
        )
    os.execv(program[0], program)  # noqa: S606 - the argument vector is the caller's, no shell


if __name__ == "__main__":
    main()
