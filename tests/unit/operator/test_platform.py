from pathlib import Path
from typing import Any

import httpx
import pytest

from operator_objects import model, settings
from privatellm.errors import InvalidInputError
from privatellm.kube import kinds
from privatellm_operator.listener import Listener, Readiness
from privatellm_operator.metrics import Metrics
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.reconcile.platform.catalogue import Catalogue, Reading, is_edit
from privatellm_operator.reconcile.platform.middlewares import is_referenced, surplus
from privatellm_operator.render import middlewares
from privatellm_operator.render.ingress import ROUTER, middleware_reference
from privatellm_operator.render.quantities import parse_quantity
from privatellm_operator.settings import Settings

GOOD = """
apiVersion: llm.privatellms.msp/v1alpha1
kind: LLMModel
metadata: {name: good}
spec: {source: {url: "https://example.com/f.gguf"}}
"""


def test_a_broken_file_is_skipped_and_the_others_go_on(tmp_path: Path) -> None:
    """One typing mistake does not take the catalogue away."""
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "broken.yaml").write_text("kind: [")
    (tmp_path / "foreign.yaml").write_text("kind: Secret")
    (tmp_path / "notes.txt").write_text("nothing")

    read = Catalogue(tmp_path).read()
    assert list(read.models) == ["good"]
    assert sorted(read.faults) == ["broken", "foreign"]
    assert str(tmp_path / "broken.yaml") in read.faults["broken"]


def test_a_file_that_breaks_stands_for_the_model_that_it_held(tmp_path: Path) -> None:
    """Whatever the file is called; who reads it for the first time has only its name to go by."""
    file = tmp_path / "50-first.yaml"
    file.write_text(GOOD)
    catalogue = Catalogue(tmp_path)
    catalogue.read()
    file.write_text("kind: [")

    assert list(catalogue.read().faults) == ["good"]
    assert catalogue.read().names == {"good"}
    assert list(Catalogue(tmp_path).read().faults) == ["50-first"]


def test_a_model_of_the_catalogue_is_marked_as_ours(tmp_path: Path) -> None:
    """So that everybody sees where it came from, and a removed field is noticed."""
    (tmp_path / "good.yaml").write_text(GOOD)
    metadata = Catalogue(tmp_path).read().models["good"]["metadata"]
    assert metadata["labels"]["app.kubernetes.io/managed-by"] == "private-llm-operator"
    assert "llm.privatellms.msp/applied" in metadata["annotations"]


def test_an_edit_of_a_model_is_told_from_an_edit_of_its_file(tmp_path: Path) -> None:
    """Only who changed the model in the cluster has to be told that this was in vain."""
    (tmp_path / "good.yaml").write_text(GOOD)
    applied = Catalogue(tmp_path).read().models["good"]
    edited = applied | {"spec": applied["spec"] | {"parallel": 9}}
    (tmp_path / "good.yaml").write_text(GOOD.replace("f.gguf", "g.gguf"))

    assert is_edit(edited, applied)
    assert not is_edit(applied, Catalogue(tmp_path).read().models["good"])
    assert not is_edit({"metadata": {"name": "good"}}, applied)


def test_without_a_directory_there_is_no_catalogue(tmp_path: Path) -> None:
    """A platform may bring its models by other means."""
    assert Catalogue(None).read() == Reading({}, {})
    assert Catalogue(tmp_path / "absent").read() == Reading({}, {})


def test_a_chain_goes_only_when_no_route_names_it() -> None:
    """A route to a missing chain answers 404."""
    limited = model("phi-2", limits={"requestsPerMinute": 5})
    known = middlewares.build_all(settings(), (limited,))
    unwanted = surplus(known, middlewares.build_all(settings(), ()))
    reference = middleware_reference(settings(), "private-llm-phi-2")
    route = {"metadata": {"annotations": {f"{ROUTER}.middlewares": reference}}}
    other: dict[str, Any] = {"metadata": {}}

    assert len(unwanted) == 3
    assert is_referenced(unwanted, [other, route], settings())
    assert not is_referenced(unwanted, [other], settings())


@pytest.mark.parametrize(
    ("text", "value"),
    [("500m", "0.5"), (2, "2"), ("1.5", "1.5"), ("4Gi", "4294967296"), ("1e3", "1000")],
)
def test_quantities_are_numbers(text: str | int, value: str) -> None:
    """As the API server reads them."""
    assert str(parse_quantity(text).normalize().to_eng_string()) == value or (
        parse_quantity(text) == parse_quantity(value)
    )


@pytest.mark.parametrize("text", ["", "a lot", "1.2.3", "5Zi", "."])
def test_anything_else_is_no_quantity(text: str) -> None:
    """The error repeats what was given."""
    with pytest.raises(InvalidInputError, match="quantity"):
        parse_quantity(text)


def test_the_environment_is_read_under_its_documented_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group's prefix and a field's name make the variable."""
    variables = {
        "PUBLIC_HOST": "llm.example.com:8443",
        "PUBLIC_SCHEME": "http",
        "POD_NAMESPACE": "ns",
        "PRIVATE_LLM_ENTRY_POINTS": "web, websecure",
        "PRIVATE_LLM_ALLOW_FILE_SOURCES": "true",
        "PRIVATE_LLM_METRICS_PORT": "0",
        "PRIVATE_LLM_INGRESS_ANNOTATIONS": '{"a": "b"}',
        "PRIVATE_LLM_NAMESPACES": "one,two",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    read = Settings.of_environment()

    assert (read.public.host, read.public.scheme, read.pod.namespace) == (
        "llm.example.com:8443",
        "http",
        "ns",
    )
    assert read.edge.entry_points == ("web", "websecure")
    assert read.edge.ingress_annotations == {"a": "b"}
    assert read.servers.allow_file_sources
    assert read.tenant_namespaces == ("one", "two")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PUBLIC_SCHEME", "ftp"),
        ("PRIVATE_LLM_MAX_REPLICAS", "none"),
        ("PRIVATE_LLM_MIDDLEWARE_SEPARATOR", "/"),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """The message says which variable, which rule and what we got."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInputError, match=f"{variable}.*{value}"):
        Settings.of_environment()


def test_settings_cannot_change_after_they_were_read() -> None:
    """What was decided at start holds for the life of the process."""
    chosen = settings()
    with pytest.raises(ValueError, match="frozen"):
        setattr(chosen.public, "host", "elsewhere")  # noqa: B010 - the type checker refuses it too


async def test_probes_follow_what_the_process_does() -> None:
    """A process that stands by is ready; one that has no picture yet is not."""
    certain = True
    readiness = Readiness(lambda: certain)
    listener = Listener(readiness, Metrics())
    port = await listener.start("127.0.0.1", 0)
    answers: list[tuple[int, str]] = []
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:

        async def ask() -> None:
            answer = await http.get("/readyz")
            answers.append((answer.status_code, answer.text.strip()))

        for change in (readiness.stand_by, readiness.prepare, readiness.lead):
            change()
            await ask()
        certain = False
        await ask()
        alive = await http.get("/healthz")
    await listener.close()

    assert answers == [
        (200, "standby"),
        (503, "priming"),
        (200, "leading"),
        (503, "lease expired"),
    ]
    assert alive.status_code == 200


async def test_metrics_count_passes_and_show_the_queue() -> None:
    """Counts by kind and result, durations, and the depth at the moment of the scrape."""
    metrics, queue = Metrics(), WorkQueue()
    metrics.watch(queue)
    queue.add(Key(kinds.LLM_INSTANCE, "acme", "chat"))
    metrics(Key(kinds.LLM_INSTANCE, "acme", "chat"), "success", 0.1)
    metrics.show_lead(lambda: True)

    text = metrics.text().decode()

    assert 'private_llm_reconcile_total{kind="LLMInstance",result="success"} 1.0' in text
    assert "private_llm_queue_depth 1.0" in text
    assert "private_llm_leading 1.0" in text
