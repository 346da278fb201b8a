"""``python -m privatellm_local.packaging.delivery [--root ROOT] [COMMAND]``.

Without a command the generated files are written. ``version VERSION`` writes a new version everywhere.
``constructor --commit SHA --digests FILE`` writes a release's constructor; FILE is a JSON object with the
digest of each image and chart by its name in the component. ``images`` prints the images of others, which a
release resolves to digests, one a line with name and reference.
"""

import argparse
import json
import sys
from pathlib import Path

from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import foreign_images
from privatellm_local.packaging.delivery.errors import DeliveryError
from privatellm_local.packaging.delivery.files import (
    CONSTRUCTOR,
    chart_files,
    constructor_file,
    generated_files,
)
from privatellm_local.packaging.delivery.versions import set_version


def main(arguments: list[str]) -> None:
    """Do what the command says.

    Raises:
        DeliveryError: when the delivery does not fit together.
    """
    options = _parser().parse_args(arguments)
    root: Path = options.root
    match options.command:
        case "version":
            set_version(root, options.version)
            write_all(root)
        case "constructor":
            digests = json.loads(options.digests.read_text())
            text = constructor_file(root, commit=options.commit, digests=digests)
            (root / CONSTRUCTOR).write_text(text)
        case "images":
            for name, reference in foreign_images(packaged_charts(root)).items():
                sys.stdout.write(f"{name} {reference}\n")
        case _:
            write_all(root)


def write_all(root: Path) -> None:
    """Write every generated file; a chart's values come before the component that names its images."""
    for files in (chart_files, lambda: generated_files(root)):
        for path, text in files().items():
            (root / path).write_text(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m privatellm_local.packaging.delivery")
    parser.add_argument("--root", type=Path, default=Path())
    commands = parser.add_subparsers(dest="command")
    version = commands.add_parser("version", help="write a new version everywhere")
    version.add_argument("version")
    release = commands.add_parser("constructor", help="write a release's constructor")
    release.add_argument("--commit", required=True)
    release.add_argument("--digests", type=Path, required=True)
    commands.add_parser("images", help="print the images of others")
    return parser


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (DeliveryError, OSError) as error:
        sys.exit(f"error: {error}")
