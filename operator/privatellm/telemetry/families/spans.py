"""What each part that sends traces says of its spans, under a name of its own.

There are no such series where traces are off: see :class:`privatellm.telemetry.exposition.SpanCollector`.
"""

from typing import Final

from privatellm.telemetry.families.family import Family, Label, counter

RESULT: Final = Label(
    "result",
    "`sent`, `failed` (the collector did not take it) or `dropped` (too many waited); all are there from "
    "the start.",
)


def spans_family(name: str) -> Family:
    """Declare a part's spans under a name."""
    return counter(
        name, "Spans of kept traces, by what became of them; absent where traces are off.", RESULT
    )
