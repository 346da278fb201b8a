import json
from collections import Counter

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_cli.bench import report, statistics
from privatellm_cli.bench.measuring import Bench, Load
from privatellm_cli.bench.statistics import Run, Sample
from privatellm_cli.commands.bench import levels_of
from privatellm_cli.endpoint import Endpoint
from privatellm_cli.errors import EndpointError, UsageError

LOAD = Load(model="m", prompt="Describe the sea.", max_tokens=8, requests=6, seconds=60)


def _answer(request: httpx.Request) -> httpx.Response:
    assert json.loads(request.content)["cache_prompt"] is False
    pieces = [
        {"choices": [{"delta": {"content": "a"}}]},
        {"choices": [{"delta": {"content": "b"}}]},
    ]
    events = [*pieces, {"choices": [], "usage": {"completion_tokens": 5}}]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return httpx.Response(200, text=f"{text}data: [DONE]\n\n")


async def _run(answer: object, load: Load, concurrency: int) -> Run:
    transport = httpx.MockTransport(answer)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport) as client:
        bench = Bench(client, Endpoint("http://e/v1", "k"), load)
        return await bench.run(concurrency, lambda _done: None)


@pytest.mark.parametrize("concurrency", [1, 4, 50])
async def test_exactly_as_many_requests_are_sent_as_were_asked_for(concurrency: int) -> None:
    """At any concurrency, and the server's count of tokens is believed."""
    run = await _run(_answer, LOAD, concurrency)

    assert len(run.samples) == 6
    assert run.figures()["tokens"] == 30
    assert run.failures == Counter()


async def test_no_request_is_begun_after_the_time_is_over() -> None:
    """A slow server does not hold anybody for hours."""
    run = await _run(_answer, Load("m", "?", 8, 1000, seconds=0), 2)

    assert len(run.samples) < 5


async def test_refused_requests_are_counted_and_told() -> None:
    """A limit at the edge is a result and not the end."""

    def limited(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(429, json={"error": {"message": "slow down"}})

    run = await _run(limited, LOAD, 2)

    assert run.failures.total() == 6
    assert "2 at once, 6 times: The endpoint answered 429: slow down." in report.table([run])


async def test_a_model_that_says_nothing_is_no_fast_model() -> None:
    """There is no time to a first token that never came."""
    run = await _run(lambda _request: httpx.Response(200, text="data: [DONE]\n\n"), LOAD, 1)

    assert run.samples == ()
    with pytest.raises(EndpointError):
        raise EndpointError(next(iter(run.failures)))


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_a_percentile_lies_within_what_was_measured(values: list[float], percent: float) -> None:
    """Interpolation invents no extremes."""
    found = statistics.percentile(values, percent)

    assert found is not None
    assert min(values) - 1e-6 <= found <= max(values) + 1e-6


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([1, 2, 3, 4], 50, 2.5), ([1, 2, 3, 4], 95, 3.85), ([7], 99, 7), ([], 50, None)],
)
def test_percentiles_are_interpolated(
    values: list[float], percent: float, expected: float | None
) -> None:
    """As spreadsheets and numpy do by default."""
    assert statistics.percentile(values, percent) == pytest.approx(expected)


def test_the_pace_of_a_request_leaves_out_the_first_token() -> None:
    """Reading the prompt is the time to the first token."""
    assert Sample(1.0, 3.0, 11).tokens_per_second == pytest.approx(5)
    assert Sample(1.0, 1.0, 1).tokens_per_second is None


def test_figures_are_for_people_and_for_programs() -> None:
    """The same numbers, once in milliseconds and once in seconds."""
    run = Run(2, 4.0, (Sample(0.5, 2.5, 9), Sample(0.7, 2.7, 9)), Counter())

    table = report.table([run]).splitlines()
    document = report.document("acme/chat", "m", 8, [run])

    cells = " ".join(table[1].split())
    assert cells == "2 2 0 4.5 4.0 600 ms 690 ms 698 ms 2600 ms 2690 ms 2698 ms"
    assert document["runs"][0]["latency"] == {"p50": 2.6, "p95": 2.69, "p99": 2.698}


@pytest.mark.parametrize(
    ("text", "levels"), [("1", (1,)), ("1,2,4", (1, 2, 4)), ("8, 16", (8, 16))]
)
def test_concurrencies_are_numbers_with_commas(text: str, levels: tuple[int, ...]) -> None:
    """As many runs as numbers."""
    assert levels_of(text) == levels


@pytest.mark.parametrize("text", ["", "0", "257", "many", "1,,2", "-1"])
def test_other_concurrencies_are_refused_with_the_rule(text: str) -> None:
    """Before anything is sent."""
    with pytest.raises(UsageError, match="from 1 to 256"):
        levels_of(text)
