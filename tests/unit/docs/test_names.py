"""Settings, values and files that the pages name exist."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from docs_pages import DOCS, ROOT, Page, pages
from privatellm_local.packaging.files import CHARTS
from privatellm_local.packaging.listing import entries

VARIABLE = re.compile(r"\bPRIVATE_LLM_[A-Z0-9_]*[A-Z0-9]\b")
PROGRAMS = ("operator", "authserver", "sync-agent", "local", "tests")
TREES = (*PROGRAMS, "charts", "docs", "ocm", "requirements")
FILE = re.compile(rf"^(?:{'|'.join(TREES)})/[A-Za-z0-9_./*-]*$")
SETTINGS = ("operator-settings.md", "authserver-settings.md")
"""Pages that other tests compare with the code; a setting's whole name stands nowhere in it."""

OTHERS = {
    *("kcp.io", "traefik.io", "kcp.kubeconfig", "watch.byOwner"),
    *("traefik.ingressClass.isDefaultClass", "ingress.ports"),  # Of the Go peer; gone here.
    *("limits.concurrentRequests", "rbac.mode"),  # A field of LLMModel; a value of kro's chart.
}
"""What is marked as code, begins like a group of values, and is none."""


def values_of_the_charts() -> set[str]:
    """Return the dotted path of each value and of each group."""
    leaves = {leaf.path for chart in CHARTS for entry in entries(chart) for leaf in entry.leaves}
    return {".".join(path[:n]) for path in leaves for n in range(1, len(path) + 1)}


def variables_of_the_code() -> set[str]:
    """Return every variable that stands in a program or a test, and every setting."""
    sources = [path for tree in PROGRAMS for path in (ROOT / tree).rglob("*.py")]
    settings = [DOCS / "reference" / name for name in SETTINGS]
    return {name for path in (*sources, *settings) for name in VARIABLE.findall(path.read_text())}


VALUES = values_of_the_charts()
OBJECTS = tuple(f"{value}." for value in VALUES if value.endswith((".requests", ".limits")))
"""What may stand below these is Kubernetes' matter."""

GROUPS = {value.partition(".")[0] for value in VALUES if "." in value}


def dotted(page: Page) -> Iterator[str]:
    """Yield what a page marks as code and what looks like a value of ours."""
    for span in page.spans():
        name = re.split(r"[=:\[{ ]", span)[0]
        is_dotted = re.fullmatch(r"\w+(\.\w+)+", name) is not None
        if is_dotted and name.partition(".")[0] in GROUPS and not name.startswith(OBJECTS):
            yield name


def test_every_variable_of_a_page_is_read() -> None:
    """By a program, by its settings or by a test."""
    known = variables_of_the_code()
    faults = {p.name: set(VARIABLE.findall(p.text)) - known for p in pages()}

    assert {name: unknown for name, unknown in faults.items() if unknown} == {}


def test_every_variable_that_a_program_reads_is_on_a_page() -> None:
    """But those by which the host node marks the processes that it starts."""
    read = {
        name
        for tree in PROGRAMS
        if tree != "tests"
        for path in (ROOT / tree).rglob("*.py")
        for name in VARIABLE.findall(path.read_text())
    }
    told = {name for page in pages() for name in VARIABLE.findall(page.text)}

    assert read - told == {"PRIVATE_LLM_HOST_NODE", "PRIVATE_LLM_VOLUME_MOUNTS"}


def test_every_value_of_a_page_is_in_a_chart() -> None:
    """A dotted name that begins like a group of values; the values' own pages are generated."""
    written = [page for page in pages() if not page.path.name.endswith("chart-values.md")]
    faults = {p.name: set(dotted(p)) - VALUES - OTHERS for p in written}

    assert {name: unknown for name, unknown in faults.items() if unknown} == {}


def test_every_helm_setting_of_a_command_is_in_a_chart() -> None:
    """What stands behind ``--set``."""
    told = {
        (page.name, setting)
        for page in pages()
        for setting in re.findall(r"--set(?:-string|-json)? ['\"]?([A-Za-z._]+)=", page.text)
    }

    assert {(page, setting) for page, setting in told if setting not in VALUES} == set()
    assert told


def test_every_file_that_a_page_names_exists() -> None:
    """By its path in the repository; a pattern must match something."""
    told = {(page.name, span) for page in pages() for span in page.spans() if FILE.match(span)}
    faults = {(page, path) for page, path in told if not any(ROOT.glob(path.rstrip("/")))}

    assert faults == set()
    assert len({PurePosixPath(path) for _, path in told}) > 20


def test_values_of_all_charts_are_known() -> None:
    """The tests above would accept everything if there were none."""
    assert {"PUBLIC_HOST", "edge", "edge.entryPoints", "kcp.endpointSlice"} <= VALUES
