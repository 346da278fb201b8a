"""The ForwardAuth service's metrics, all workers of a pod together."""

from dataclasses import dataclass
from typing import Final

from privatellm.telemetry.families.family import Label, counter, gauge, histogram
from privatellm.telemetry.families.spans import spans_family

REASON: Final = Label(
    "reason", "`allowed`, or why a request was denied; all are there from the start."
)
WORKER: Final = Label("worker", "Number of the worker process; a pod has as many as it is set to.")

DECISIONS: Final = counter(
    "private_llm_auth_decisions_total",
    "Decisions: `allowed`, or why a request was denied (below).",
    REASON,
)
DECISION_SECONDS: Final = histogram(
    "private_llm_auth_decision_duration_seconds",
    "Time of a decision, measured for one in eight.",
    buckets=(
        0.000_002,
        0.000_005,
        0.000_01,
        0.000_02,
        0.000_05,
        0.000_1,
        0.000_5,
        0.001,
        0.01,
    ),
)
RELISTS: Final = counter(
    "private_llm_auth_relists_total",
    "Times all verifiers were listed. One a worker is the start; more mean broken watches.",
)
WATCH_FAILURES: Final = counter(
    "private_llm_auth_watch_failures_total", "Times a list or watch of verifiers failed."
)
INDEX_AGE: Final = gauge(
    "private_llm_auth_index_age_seconds",
    "Time since the index was known to be current. At maxStalenessSeconds (60) every request gets 503. "
    "Absent before the first list.",
    WORKER,
)
CLOCK_SKEW: Final = gauge(
    "private_llm_auth_clock_skew_seconds",
    "How far the clock is ahead of the API server's (negative: behind), right to about a second. "
    "Beyond 5 either way it is left aside for the API server's.",
    WORKER,
)
INDEX_TOKENS: Final = gauge("private_llm_auth_index_tokens", "Keys in the index.", WORKER)
INDEX_REVOKED: Final = gauge(
    "private_llm_auth_index_revoked",
    "Revoked keys that are remembered, so that their holders are told.",
    WORKER,
)
REJECTED: Final = gauge(
    "private_llm_auth_rejected_verifiers",
    "Secrets in the token namespace that are not trusted. Anything above 0 wants an explanation: "
    "somebody else writes there.",
    WORKER,
)
WORKER_UP: Final = gauge(
    "private_llm_auth_worker_up", "Whether the worker runs and reports.", WORKER
)
WORKER_RESTARTS: Final = counter(
    "private_llm_auth_worker_restarts_total", "Times the worker was started again.", WORKER
)
SPANS: Final = spans_family("private_llm_auth_spans_total")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a value of the label ``reason`` means.

    Attributes:
        reason: The value, also in audit lines and spans.
        status: The answer's status.
        code: The error code in its body; empty when it has none.
        text: When it is given.
    """

    reason: str
    status: int
    code: str
    text: str


ANSWERS: Final = (
    Answer("allowed", 200, "", "the request goes on to the model server"),
    Answer(
        "index_not_fresh",
        503,
        "service_unavailable",
        "the index was never complete, or not confirmed for too long",
    ),
    Answer(
        "invalid_api_key",
        401,
        "invalid_api_key",
        "no key, not exactly one, malformed, unknown, wrong, or not valid yet",
    ),
    Answer("expired_api_key", 401, "expired_api_key", "the right secret, too late"),
    Answer("revoked_api_key", 401, "revoked_api_key", "the right secret of a key that was ended"),
    Answer(
        "forwarded_headers",
        403,
        "path_not_allowed",
        "a header that the edge adds is missing or repeated: look at the edge's set-up",
    ),
    Answer("wrong_instance", 403, "wrong_instance", "a good key, the path of another instance"),
    Answer(
        "aliased_header",
        403,
        "path_not_allowed",
        "a header whose name folds to one of ours reached the check: set `aliasHeadersStrategy`",
    ),
    Answer(
        "wrong_host",
        403,
        "path_not_allowed",
        "the client asked for another host than `PUBLIC_HOST`",
    ),
    Answer("path_not_allowed", 403, "path_not_allowed", "method or path outside the allow-list"),
)
"""Every value of ``reason``; a test compares with what the service answers."""
