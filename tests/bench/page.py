"""Write the page of measurements and its charts from what benches left as JSON.

Run ``python tests/bench/page.py docs/reference/measurements.md build/bench``. A bench that was
not run leaves its section out; charts that no section shows any more are removed.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from bench_page import SECTIONS, page
from bench_pictures import PICTURES


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("figures", type=Path, help="directory with the benches' JSON")
    options = parser.parse_args()
    files = [options.figures / name for name in SECTIONS]
    found = {file.name: json.loads(file.read_text()) for file in files if file.exists()}
    text, pictures = page(found)
    options.page.write_text(text, encoding="utf-8")
    directory = options.page.parent / PICTURES
    directory.mkdir(exist_ok=True)
    for old in directory.glob("*.svg"):
        old.unlink()
    for name, content in pictures.items():
        (directory / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
