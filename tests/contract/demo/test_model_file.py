"""The quarter of a gigabyte that the demo's model is, made from its package."""

import asyncio
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from privatellm_local.demo import prepare_model
from privatellm_local.demo.model import PACKAGE, SHA256
from privatellm_operator.fetcher.marker import Fingerprint


class Said(list[str]):
    """What progress was told."""

    def __call__(self, message: str) -> None:
        """Keep it."""
        self.append(message)


def names_in(directory: Path) -> list[str]:
    """List a directory without its locks."""
    return [path.name for path in directory.iterdir() if path.suffix != ".lock"]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Name a directory, and do not leave a quarter of a gigabyte behind in it."""
    yield tmp_path / "models"
    shutil.rmtree(tmp_path / "models", ignore_errors=True)


async def test_the_file_is_assembled_verified_and_then_left_alone(directory: Path) -> None:
    """The second call finds the file and writes nothing; a damaged file is made anew."""
    pytest.importorskip(PACKAGE, reason="needs the extra 'demo'")
    first, second, third = Said(), Said(), Said()

    made = await prepare_model(directory, first)
    before = Fingerprint.of(made.path)
    again = await prepare_model(directory, second)

    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == made.sha256 == SHA256
    assert (again, Fingerprint.of(again.path)) == (made, before)
    assert len(first) == 1
    assert "terms of use" in first[0]
    assert second == []

    with made.path.open("r+b") as file:
        file.write(b"damaged")
    await prepare_model(directory, third)

    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == SHA256
    assert len(third) == 1
    assert names_in(directory) == [made.path.name]


async def test_two_first_starts_at_once_make_the_file_once(directory: Path) -> None:
    """They have different state directories and share the user's cache."""
    pytest.importorskip(PACKAGE, reason="needs the extra 'demo'")
    said = Said()

    one, other = await asyncio.gather(*(prepare_model(directory, said) for _ in range(2)))

    assert one == other
    assert hashlib.sha256(one.path.read_bytes()).hexdigest() == SHA256
    assert len(said) == 1
    assert names_in(directory) == [one.path.name]
