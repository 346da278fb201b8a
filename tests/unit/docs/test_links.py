"""Every link from one place of the repository to another leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[3]
FRAGMENTS = ROOT / "changelog.d"
NOT_OURS = {"build", "dist", "node_modules"}

_FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_INLINE = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\s*\)")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)", re.MULTILINE)
_HTML = re.compile(r"<(?:a|img)\s[^>]*?(?:href|src)=[\"']([^\"']+)[\"']", re.IGNORECASE)
_HEADING = re.compile(r"^ {0,3}#{1,6} +(.*?)(?: +#+)? *$", re.MULTILINE)
_MARKED = re.compile(r"(?:<a\s[^>]*?(?:id|name)=[\"']([^\"']+)[\"'])|^\(([\w-]+)\)=$", re.MULTILINE)
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def pages() -> list[Path]:
    """Return every Markdown file of the repository."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.md"))
    return sorted(
        path
        for path in found
        if not any(part.startswith(".") or part in NOT_OURS for part in path.parts)
    )


def links_in(text: str) -> Iterator[str]:
    """Yield the targets of a page's links; what is marked as code is no link."""
    prose = _SPAN.sub("", _FENCE.sub("", text))
    for pattern in (_INLINE, _REFERENCE, _HTML):
        yield from pattern.findall(prose)


def anchors_in(text: str) -> set[str]:
    """Return the anchors of a page as hosting sites make them from headings, and those it marks itself."""
    prose = _FENCE.sub("", text)
    seen: dict[str, int] = {}
    anchors = {name for pair in _MARKED.findall(prose) for name in pair if name}
    for heading in _HEADING.findall(prose):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip()
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        anchors.add(f"{slug}-{count}" if count else slug)
    return anchors


def fault_of(link: str, page: Path) -> str | None:
    """Return what is wrong with a link of a page; ``None`` when it leads somewhere or abroad."""
    if _EXTERNAL.match(link):
        return None
    path, _, anchor = unquote(link).partition("#")
    # Fragments become a part of CHANGELOG.md, where their links have to lead somewhere.
    home = ROOT if page.parent == FRAGMENTS and page.name != "README.md" else page.parent
    target = (home / path) if path else page
    if not target.exists():
        return f"there is no {path}"
    if not target.resolve().is_relative_to(ROOT):
        return f"{path} is outside of the repository"
    if anchor and target.suffix == ".md" and anchor not in anchors_in(target.read_text()):
        return f"{target.name} has no heading #{anchor}"
    return None


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """Files, directories and headings; what is elsewhere in the world is not asked."""
    here = ROOT / page
    faults = {link: fault_of(link, here) for link in links_in(here.read_text())}

    assert {link: fault for link, fault in faults.items() if fault} == {}


def test_links_are_found_where_they_are_and_not_in_code() -> None:
    """Otherwise the test above would pass because it sees nothing."""
    text = """
See [one](a.md "A title"), ![two](b.png) and <a href="c.md#x">three</a>, not `[no](code.md)`.

```console
$ echo "[no](block.md)"
```

[four]: d.md
"""
    assert list(links_in(text)) == ["a.md", "b.png", "d.md", "c.md#x"]
    assert sum(len(list(links_in((ROOT / page).read_text()))) for page in pages()) > 50


def test_anchors_are_made_as_hosting_sites_make_them() -> None:
    """Lower case, without punctuation, numbered where they repeat."""
    text = (
        "# `up`, and *down*!\n## Same\n## Same\n```\n# no heading\n```\n(mine)=\n<a id='too'></a>\n"
    )

    assert anchors_in(text) == {"up-and-down", "same", "same-1", "mine", "too"}


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("nowhere.md", "there is no nowhere.md"),
        ("README.md#nowhere", "README.md has no heading #nowhere"),
        ("#nowhere", "CONTRIBUTING.md has no heading #nowhere"),
        ("..", ".. is outside of the repository"),
        ("README.md#try-it", None),
        ("docs/adr/", None),
        ("https://example.com/#x", None),
        ("mailto:somebody@example.com", None),
    ],
)
def test_a_dead_link_is_told_from_a_living_one(link: str, fault: str | None) -> None:
    """With what is missing."""
    assert fault_of(link, ROOT / "CONTRIBUTING.md") == fault
