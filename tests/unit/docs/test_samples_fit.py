"""Sample files name what exists: keys of Secrets, values of the chart, sizes of the catalogue."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from docs_pages import DOCS, EXAMPLES, Page
from privatellm.api.llm_model import LLMModel
from privatellm.catalogue import default_directory, load_catalogue
from privatellm.names import token_secret_name
from privatellm_local.packaging.values import Values
from privatellm_operator.render.drain import container as drain_container
from privatellm_operator.render.quantities import parse_quantity
from privatellm_operator.render.token_secret import API_KEY, BASE_URL
from privatellm_operator.settings import ServerSettings

SIZES = Page(DOCS / "how-to" / "size-models.md")
GITOPS = EXAMPLES / "gitops"


def documents(text: str) -> list[dict[str, Any]]:
    """Return the objects of a YAML file."""
    return [document for document in yaml.safe_load_all(text) if document]


def rows(heading: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of the first table below a heading."""
    section = SIZES.text.partition(f"## {heading}")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| `(.*) \|$", section, re.MULTILINE):
        yield [cell.strip(" `") for cell in row.split("|")]


def catalogue() -> dict[str, LLMModel]:
    """Return the models that come with the platform."""
    models = map(LLMModel.parse, load_catalogue(default_directory()))
    return {model.metadata.name: model for model in models}


def test_the_chat_interface_reads_the_secret_of_a_request() -> None:
    """By the name and the keys that the operator gives it."""
    values = yaml.safe_load((EXAMPLES / "open-webui" / "values.yaml").read_text())
    references = {
        variable["name"]: variable["valueFrom"]["secretKeyRef"]
        for variable in values["extraEnvVars"]
        if "valueFrom" in variable
    }

    assert {reference["name"] for reference in references.values()} == {token_secret_name("my-key")}
    assert {name: r["key"] for name, r in references.items()} == {
        "OPENAI_API_BASE_URL": BASE_URL,
        "OPENAI_API_KEY": API_KEY,
    }


def test_the_release_of_the_sample_repository_fits_the_chart() -> None:
    """Unknown values are refused, as the chart's schema does."""
    (release,) = (
        document
        for document in documents((GITOPS / "platform" / "release.yaml").read_text())
        if document["kind"] == "HelmRelease"
    )
    values = release["spec"]["values"]

    assert Values.model_validate(values).public_host == "llm.example.com"
    for name, spec in values["catalogue"]["models"].items():
        assert LLMModel.parse({"metadata": {"name": name}, "spec": spec})


def test_every_folder_of_the_sample_repository_exists() -> None:
    """A Kustomization names folders from the repository's root."""
    named = [
        document["spec"]["path"]
        for path in (GITOPS / "clusters").rglob("*.yaml")
        for document in documents(path.read_text())
        if document["kind"] == "Kustomization"
    ]

    assert len(named) == 2
    assert all((GITOPS / path / "kustomization.yaml").exists() for path in named)


def test_the_sizes_on_the_page_are_those_of_the_catalogue() -> None:
    """Every model, every number."""
    told = {name: cells for name, *cells in rows("The catalogue as it comes")}

    assert set(told) == set(catalogue())
    for name, model in catalogue().items():
        requests, limits = model.spec.resources.requests, model.spec.resources.limits
        sizes = (requests["cpu"], requests["memory"], limits["memory"])
        rest = (requests["ephemeral-storage"], model.spec.context_size, model.spec.parallel)
        assert told[name][:6] == [str(value) for value in (*sizes, *rest)]


def test_how_many_fit_is_counted_right() -> None:
    """With the container that stands beside each server."""
    node = re.search(r"On a node with (\d+m) CPU and (\d+Gi) of memory", SIZES.text)
    assert node is not None
    beside = drain_container(ServerSettings())["resources"]["requests"]
    told = {name: [int(cell) for cell in cells] for name, *cells in rows("How many fit")}

    assert set(told) == set(catalogue())
    for name, model in catalogue().items():
        requests = model.spec.resources.requests
        fits = [
            int(
                parse_quantity(there)
                // (parse_quantity(requests[what]) + parse_quantity(beside[what]))
            )
            for what, there in zip(("cpu", "memory"), node.groups(), strict=True)
        ]
        assert told[name] == [*fits, min(fits)], name
