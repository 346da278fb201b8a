"""``python -m privatellm_local.packaging [ROOT]``: write every generated file below a repository's root.

Files in the generated folders that nothing writes any more are removed.
"""

import sys
from pathlib import Path

from privatellm_local.packaging.files import CHART, generated_files

FOLDERS = ("crds", "catalogue", "traefik-crds", "dashboards")
"""Folders below the chart's ``files`` that hold generated files alone."""


def write_all(root: Path) -> None:
    """Write every generated file."""
    wanted = {root / path: text for path, text in generated_files().items()}
    for folder in FOLDERS:
        for path in (root / CHART / "files" / folder).glob("*"):
            if path not in wanted:
                path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write_all(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
