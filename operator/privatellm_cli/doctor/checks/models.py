"""The catalogue: can every model be fetched by the rules, and is it the one that was promised?"""

import re
from collections.abc import Iterator

from privatellm.api.llm_model import LLMModel
from privatellm.errors import InvalidObjectError
from privatellm_cli.columns import source
from privatellm_cli.doctor.facts import Facts
from privatellm_cli.doctor.findings import Finding, failure, hidden, ok, warning

_COMMIT = re.compile(r"[0-9a-f]{40}")


def catalogue(facts: Facts) -> Iterator[Finding]:
    """There must be something to order, and every entry must be readable."""
    if facts.models is None:
        yield hidden("models", "LLMModels")
        return
    if not facts.models:
        yield failure(
            "models",
            "The catalogue is empty, so nothing can be ordered.",
            "Give the operator a catalogue (PRIVATE_LLM_CATALOGUE_DIRECTORY), or apply LLMModels.",
        )
        return
    faults = [fault for model in facts.models if (fault := _unreadable(model))]
    for fault in faults:
        yield failure("models", fault, "Correct the entry.")
    if not faults:
        yield ok("models", f"{len(facts.models)} in the catalogue")


def sources(facts: Facts) -> Iterator[Finding]:
    """A source must be one that the operator lets the fetcher use, and be safe on its way."""
    for model in facts.models or ():
        name, origin = model["metadata"]["name"], source(model)
        if origin.startswith("file://") and not facts.installation.allows_files:
            yield failure(
                "model sources",
                f"{name} comes from {origin}, and the operator refuses files.",
                "Choose another source; PRIVATE_LLM_ALLOW_FILE_SOURCES is for development machines.",
            )
        if origin.startswith("http://") and not model["spec"].get("sha256"):
            yield failure(
                "model sources",
                f"{name} comes over plain HTTP without a checksum: anybody on the way can replace it.",
                "Use https, and set sha256.",
            )


def pinned(facts: Facts) -> Iterator[Finding]:
    """Weights should be named by a checksum or a commit, or they can change unnoticed."""
    loose = [m["metadata"]["name"] for m in facts.models or () if not _is_pinned(m)]
    if loose:
        yield warning(
            "model sources",
            f"Neither checksum nor commit says which weights are meant: {', '.join(loose)}.",
            "Set sha256, or a commit as the revision.",
        )
    elif facts.models:
        yield ok("model sources", "every model is pinned by a checksum or a commit")


def _unreadable(model: dict[str, object]) -> str:
    try:
        LLMModel.parse(model)
    except InvalidObjectError as error:
        return str(error)
    return ""


def _is_pinned(model: dict[str, dict[str, object]]) -> bool:
    if model["spec"].get("sha256") or (model.get("status") or {}).get("sha256"):
        return True
    return bool(_COMMIT.fullmatch(source(model).rpartition("@")[2]))
