"""The documentation becomes a web site without a warning and without the network."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs_pages import DOCS

LOADED = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=\"(?P<target>[^\"]+)\""
)
IMPORTED = re.compile(r"(?:@import\s+(?:url\()?|url\()[\"']?(?P<target>(?:https?:)?//[^\"')]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` does."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    built = subprocess.run(
        [*command, str(DOCS), str(target)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    return target


def loads(site: Path) -> Iterator[tuple[str, str]]:
    """Yield what a browser loads by itself when it shows a page, with the page's name."""
    for path in site.rglob("*"):
        if path.suffix in (".html", ".css"):
            pattern = LOADED if path.suffix == ".html" else IMPORTED
            for match in pattern.finditer(path.read_text(errors="replace")):
                yield path.name, match["target"]


def test_every_page_is_part_of_the_site(site: Path) -> None:
    """Sphinx would warn of one that no table of contents has; this counts them."""
    written = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}

    assert written <= built


def test_a_page_has_one_place_in_the_navigation(site: Path) -> None:
    """One that stands in two sections leads its readers astray."""
    sidebar = (site / "index.html").read_text().partition("sidebar-tree")[2]
    places = re.findall(r"toctree-l1\"><a class=\"reference internal\" href=\"([^\"]+)\"", sidebar)

    assert len(places) > 40
    assert sorted(places) == sorted(set(places))


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """No font, script, style or picture: a page is shown the same without a network."""
    foreign = {(page, to) for page, to in loads(site) if re.match(r"(?:https?:)?//", to)}

    assert foreign == set()
    assert ("index.html", "_static/styles/furo.css") in {
        (p, to.split("?")[0]) for p, to in loads(site)
    }


def test_files_of_examples_are_on_the_site(site: Path) -> None:
    """As text of the pages that include them, and to be fetched."""
    page = (site / "how-to" / "connect-clients.html").read_text()

    assert "ChatOpenAI" in page
    assert list(site.rglob("langchain_chat.py"))
