"""Write the reference pages into a directory."""

import sys
from pathlib import Path

from privatellm_operator.reference import PAGES

if __name__ == "__main__":
    for name, page in PAGES.items():
        Path(sys.argv[1], name).write_text(page())
