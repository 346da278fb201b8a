"""The reference pages that are written by hand say what the code says, both ways."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import privatellm
import privatellm_authserver
import privatellm_operator
import privatellm_sync_agent
from docs_pages import DOCS, Page, pages
from privatellm.api.api_token_request import TokenCondition, TokenPhase
from privatellm.api.llm_instance import InstanceCondition, InstancePhase
from privatellm.api.llm_model import ModelCondition
from privatellm.names import backend_key_name, child_name, token_secret_name
from privatellm.verifiers import SECRET_TYPE
from privatellm_authserver.answers import DENIALS
from privatellm_authserver.paths import ALLOWED
from privatellm_authserver.settings import Settings
from privatellm_cli.exit_codes import ExitCode
from privatellm_local.packaging.api_reference import api_page, fields
from privatellm_operator.reconcile.events import CONTROLLER
from privatellm_operator.reconcile.platform.catalogue import FILE_SKIPPED, RESTORED
from privatellm_operator.reconcile.platform.middlewares import TAKEN_OVER
from privatellm_operator.reconcile.token.plan import RETIRED, Occasion
from privatellm_operator.render.token_secret import API_KEY, API_URL, BASE_URL
from privatellm_sync_agent import flags
from privatellm_sync_agent.controllers.conditions import ACCEPTED, Verdict
from privatellm_sync_agent.engine import events
from privatellm_sync_agent.engine.events import Reason

REFERENCE = DOCS / "reference"
PROGRAMS = (privatellm, privatellm_operator, privatellm_authserver, privatellm_sync_agent)
KEY = re.compile(r"[a-z0-9.-]+\.[a-z]+/[a-z][a-z-]*")
MAY_HOLD_A_KEY = re.compile(r"^[A-Z_]+\b.* = \(?\n?\s*f?\"[^\"\s]+/[a-z-]+\"", re.MULTILINE)
OF_OTHERS = {
    *("batch.kubernetes.io/job-name", "kcp.io/cluster", "kcp.io/path"),
    "traefik.ingress.kubernetes.io/router",
    CONTROLLER,
    SECRET_TYPE,
}
"""What Kubernetes, kcp and Traefik define, and what looks like a key and is none."""


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


def keys_of_metadata() -> Iterator[str]:
    """Yield every label, annotation and finalizer that stands in a constant of a program."""
    for program in PROGRAMS:
        (folder,) = map(Path, program.__path__)
        for path in folder.rglob("*.py"):
            # Not every module has to be imported to read a few constants.
            if MAY_HOLD_A_KEY.search(path.read_text()):
                name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
                values = vars(importlib.import_module(name.removesuffix(".__init__"))).values()
                yield from (v for v in values if isinstance(v, str) and KEY.fullmatch(v))


def test_every_label_annotation_and_finalizer_is_told() -> None:
    """And no other one of ours, or of the sync agent."""
    text = Page(REFERENCE / "names-and-labels.md").text
    real = {key for key in keys_of_metadata() if key not in OF_OTHERS}
    told = set(re.findall(rf"`({KEY.pattern})`", text))

    assert told - {"kubernetes.io/ingress.class"} == real


def test_every_condition_is_told_with_its_object() -> None:
    """And no other one; their reasons are another test's."""
    text = Page(REFERENCE / "conditions.md").text
    told = set(re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE))
    real = {
        *((name.value, "LLMInstance") for name in InstanceCondition),
        *((name.value, "APITokenRequest") for name in TokenCondition),
        *((name.value, "LLMModel") for name in ModelCondition),
    }

    assert told == real
    assert ACCEPTED in Page(DOCS / "how-to" / "sync-agent.md").text


def test_every_phase_is_told() -> None:
    """On the page of the API, which is made from the definitions."""
    text = api_page()
    phases = (*InstancePhase, *TokenPhase)

    assert [phase.value for phase in phases if f"`{phase.value}`" not in text] == []


def test_every_event_is_told_with_its_type() -> None:
    """And no other one; those about conditions have the conditions' reasons."""
    page = Page(REFERENCE / "events.md")
    told = first_cells(page)
    of_agent = {
        reason.value: "Warning" if reason in events._WARNINGS else "Normal" for reason in Reason
    }

    of_operator = {occasion.value for occasion in Occasion}
    of_operator |= {RETIRED, TAKEN_OVER.reason, RESTORED.reason, FILE_SKIPPED}
    assert set(told) == of_operator | set(of_agent)
    assert {reason: told[reason].split(" | ")[0] for reason in of_agent} == of_agent
    assert f"`{CONTROLLER}`" in page.text


def test_every_reason_and_flag_of_the_sync_agent_is_told() -> None:
    """And no other flag."""
    page = Page(DOCS / "how-to" / "sync-agent.md")
    table = page.text.partition("| flag | meaning |")[2].partition("\n\n")[0]
    parser = flags._parser()
    real = {word for action in parser._actions for word in action.option_strings}

    assert set(re.findall(r"(?<=`)--[a-z-]+", table)) == real - {"-h", "--help"}
    assert {verdict.value for verdict in Verdict} <= set(page.spans())


def test_the_exit_codes_are_told_in_one_place() -> None:
    """A second table would lag behind the generated one."""
    row = f"| 0 | {ExitCode.OK.meaning}"
    with_table = {page.name for page in pages() if row.lower().rstrip(".") in page.text.lower()}

    assert with_table == {"docs/reference/cli.md"}


def test_every_refusal_of_a_key_is_told_to_customers() -> None:
    """By status and code, and no other one."""
    page = Page(DOCS / "how-to" / "connect-clients.md")
    rows = re.findall(r"^\| (\d{3}) \| (`[^|]+) \|", page.text, re.MULTILINE)
    told = {(int(status), code) for status, cell in rows for code in re.findall(r"\w+", cell)}

    assert told == {(int(denial.status), denial.code) for denial in DENIALS.values()}


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


def test_every_field_of_the_api_says_what_it_is_for() -> None:
    """On the page, and so under ``kubectl explain``."""
    rows = re.findall(r"^\| `([^`]+)` \|.*\| (.*?) ?\|$", api_page(), re.MULTILINE)

    assert [path for path, text in rows if not text] == []
    assert len(rows) > 50


def test_fields_of_lists_are_told_below_their_list() -> None:
    """With the brackets that `kubectl explain` leaves out."""
    item = {"properties": {"name": {"type": "string"}}}
    schema = {"properties": {"things": {"type": "array", "items": item}}, "required": ["things"]}

    assert [(field.path, field.is_required) for field in fields(schema, "spec")] == [
        ("spec.things", True),
        ("spec.things[].name", False),
    ]
