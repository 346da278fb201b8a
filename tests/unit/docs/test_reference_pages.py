"""The reference pages that are written by hand say what the code says, both ways."""

import inspect
import re

from docs_pages import DOCS, Page
from privatellm import labels
from privatellm.names import backend_key_name, child_name, token_secret_name
from privatellm_authserver.paths import ALLOWED
from privatellm_authserver.settings import Settings
from privatellm_local.packaging.api_reference import api_page, fields
from privatellm_operator.render.token_secret import API_KEY, API_URL, BASE_URL

REFERENCE = DOCS / "reference"


def first_cells(page: Page) -> dict[str, str]:
    """Return the rest of each row of a page's tables by the code in its first cell."""
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", page.text, re.MULTILINE)
    return dict(rows)


def test_every_setting_of_the_authserver_is_told_with_its_default() -> None:
    """And no other one."""
    told = first_cells(Page(REFERENCE / "authserver-settings.md"))
    real = {
        str(field.validation_alias or f"PRIVATE_LLM_{name}").upper(): field
        for name, field in Settings.model_fields.items()
    }

    assert set(told) == set(real)
    for variable, field in real.items():
        default = field.get_default()
        shown = "required" if field.is_required() else f"`{getattr(default, 'value', default)}`"
        assert told[variable].startswith(f"{shown} |"), variable


def test_every_label_and_finalizer_is_told() -> None:
    """And no other one of ours."""
    text = Page(REFERENCE / "names-and-labels.md").text
    values = [value for _, value in inspect.getmembers(labels) if isinstance(value, str)]
    real = {v for v in values if re.fullmatch(r"[a-z0-9.]+\.[a-z]+/[a-z-]+", v)}
    told = set(re.findall(r"`([a-z0-9.]+\.[a-z]+/[a-z-]+)`", text))

    assert told - {"kubernetes.io/ingress.class"} == real


def test_the_names_are_the_derived_ones() -> None:
    """As for objects whose names need not be shortened."""
    text = Page(REFERENCE / "names-and-labels.md").text

    for name in (child_name("chat"), backend_key_name("chat"), token_secret_name("my-key")):
        assert f"`{name}`" in text
    assert all(f"| `{key}` |" in text for key in (API_KEY, API_URL, BASE_URL))


def test_the_paths_are_those_that_the_edge_lets_through() -> None:
    """Method by method."""
    text = Page(REFERENCE / "names-and-labels.md").text
    told = {
        (method.encode(), path.encode())
        for method, cell in re.findall(r"^\| (GET|POST) \| (.*) \|$", text, re.MULTILINE)
        for path in re.findall(r"`([^`]+)`", cell)
    }

    assert told == ALLOWED


def test_the_page_of_the_api_has_every_kind_with_its_rules() -> None:
    """Also rules that are about several fields."""
    page = api_page()

    assert page.count("\n### `spec`") == page.count("\n### `status`") == 3
    assert "`spec.rotation`: rotation.every must be 1h or more." in page
    assert "| `spec.instanceName` | string |  | required; " in page
    assert "\\|" in page


def test_fields_of_lists_are_told_below_their_list() -> None:
    """With the brackets that `kubectl explain` leaves out."""
    item = {"properties": {"name": {"type": "string"}}}
    schema = {"properties": {"things": {"type": "array", "items": item}}, "required": ["things"]}

    assert [(field.path, field.is_required) for field in fields(schema, "spec")] == [
        ("spec.things", True),
        ("spec.things[].name", False),
    ]
