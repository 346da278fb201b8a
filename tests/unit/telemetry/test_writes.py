"""A write that asks whether something is there is a try in the trace, and its answer no error."""

import pytest

from privatellm import errors
from privatellm.kube import Manifest
from privatellm.telemetry import passes
from privatellm.telemetry.passes import NotingClient

PATH = "/api/v1/namespaces"
NAMESPACE: Manifest = {"metadata": {"name": "acme"}}


async def noted(
    monkeypatch: pytest.MonkeyPatch, error: errors.KubernetesError, *, dry_run: bool = False
) -> passes.PassRecord:
    """Return the record of a pass whose one write is answered by an error that the pass expects."""

    async def refuse(*_arguments: object, **_options: object) -> Manifest:
        raise error

    monkeypatch.setattr("privatellm.kube.KubeClient.request", refuse)
    client = NotingClient.__new__(NotingClient)
    query = {"dryRun": "All"} if dry_run else {}
    with passes.recorded() as record, pytest.raises(type(error)):
        await client.request("POST", PATH, query=query, body=NAMESPACE)
    return record


@pytest.mark.parametrize("error", [errors.AlreadyExistsError, errors.NotFoundError])
async def test_what_is_there_or_not_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, error: type[errors.KubernetesError]
) -> None:
    """The pass goes on from it, so a trace of an order that succeeded has no error in it."""
    record = await noted(monkeypatch, error("POST failed", status=409))

    [step] = record.steps
    assert (step.name, step.error) == ("try to create namespaces", "")
    assert step.attributes["private_llm.answer"] == error.__name__
    assert step.attributes["private_llm.object.name"] == "acme"
    assert record.changes == []


async def test_a_write_that_was_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes to find out whether it may."""
    record = await noted(monkeypatch, errors.ForbiddenError("no", status=403))

    [step] = record.steps
    assert (step.name, step.error) == ("create namespaces", "ForbiddenError")
    assert "private_llm.answer" not in step.attributes


async def test_a_trial_that_was_refused_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what was asked; a dry run that nobody answered has failed all the same."""
    refused = await noted(monkeypatch, errors.ForbiddenError("no", status=403), dry_run=True)
    unheard = await noted(monkeypatch, errors.UnavailableError("away", status=0), dry_run=True)

    assert [(one.name, one.error) for one in refused.steps] == [("try to create namespaces", "")]
    assert [one.error for one in unheard.steps] == ["UnavailableError"]
