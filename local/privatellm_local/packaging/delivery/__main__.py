"""``python -m privatellm_local.packaging.delivery [--root ROOT] [COMMAND]``: what a release needs done.

====================  ======================================================================
without a command     write the generated files
``version VERSION``   write a new version everywhere
``check TAG``         print the version that a tag releases, or say why it is none
``notes``             print what the changelog says of the version
``images``            print the images of others, one a line with name and reference
``constructor``       write the component's constructor with the digests of what was pushed
``helm PATH``         put the pinned Helm somewhere
====================  ======================================================================
"""

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from privatellm_local.build.builder import ensure_built
from privatellm_local.build.programs import HELM
from privatellm_local.errors import EmbeddedError
from privatellm_local.packaging.delivery.changelog import notes_of
from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import foreign_images
from privatellm_local.packaging.delivery.errors import DeliveryError
from privatellm_local.packaging.delivery.files import (
    CONSTRUCTOR,
    chart_files,
    constructor_file,
    generated_files,
)
from privatellm_local.packaging.delivery.tag import CHANGELOG, released_version
from privatellm_local.packaging.delivery.versions import set_version, version_of
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress


def main(arguments: list[str]) -> None:
    """Do what the command says.

    Raises:
        DeliveryError: when the delivery does not fit together.
        EmbeddedError: when Helm cannot be built.
    """
    options = _parser().parse_args(arguments)
    act: Callable[[argparse.Namespace], None] = options.act
    act(options)


def write_all(root: Path) -> None:
    """Write every generated file; a chart's values come before the component that names its images."""
    for files in (chart_files, lambda: generated_files(root)):
        for path, text in files().items():
            (root / path).write_text(text)


def _write_all(options: argparse.Namespace) -> None:
    write_all(options.root)


def _version(options: argparse.Namespace) -> None:
    set_version(options.root, options.version)
    write_all(options.root)


def _check(options: argparse.Namespace) -> None:
    sys.stdout.write(released_version(options.root, options.tag) + "\n")


def _notes(options: argparse.Namespace) -> None:
    changelog = (options.root / CHANGELOG).read_text()
    sys.stdout.write(notes_of(changelog, version_of(options.root)))


def _images(options: argparse.Namespace) -> None:
    for name, reference in foreign_images(packaged_charts(options.root)).items():
        sys.stdout.write(f"{name} {reference}\n")


def _constructor(options: argparse.Namespace) -> None:
    digests = json.loads(options.digests.read_text())
    text = constructor_file(options.root, commit=options.commit, digests=digests)
    (options.root / CONSTRUCTOR).write_text(text)


def _helm(options: argparse.Namespace) -> None:
    paths = cache_paths()
    paths.create()
    (program,) = asyncio.run(ensure_built((HELM,), paths, SilentProgress()))
    shutil.copy(program, options.path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m privatellm_local.packaging.delivery")
    parser.add_argument("--root", type=Path, default=Path())
    parser.set_defaults(act=_write_all)
    commands = parser.add_subparsers()
    version = commands.add_parser("version", help="write a new version everywhere")
    version.add_argument("version")
    version.set_defaults(act=_version)
    check = commands.add_parser("check", help="print the version that a tag releases")
    check.add_argument("tag")
    check.set_defaults(act=_check)
    commands.add_parser("notes", help="print the version's notes").set_defaults(act=_notes)
    commands.add_parser("images", help="print the images of others").set_defaults(act=_images)
    constructor = commands.add_parser("constructor", help="write a release's constructor")
    constructor.add_argument("--commit", required=True)
    constructor.add_argument("--digests", type=Path, required=True)
    constructor.set_defaults(act=_constructor)
    helm = commands.add_parser("helm", help="put the pinned Helm somewhere")
    helm.add_argument("path", type=Path)
    helm.set_defaults(act=_helm)
    return parser


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (DeliveryError, EmbeddedError, OSError) as error:
        sys.exit(f"error: {error}")
