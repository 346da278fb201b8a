"""Specs and statuses of a request for a key, drawn: sensible ones, and what else somebody may write."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from privatellm.api.api_token_request import TokenPhase

DURATIONS = st.sampled_from([None, "30m", "2h", "36h", "0.5s", "1h0.25s", "9999999h"])

SPECS = st.fixed_dictionaries(
    {"revoked": st.booleans()},
    optional={
        "expiresAfter": DURATIONS.filter(bool),
        "rotation": st.sampled_from(
            [{"every": "1h"}, {"every": "2h", "overlap": "2h"}, {"every": "3h", "overlap": "20m"}]
        ),
        "description": st.text(max_size=20),
    },
)


def statuses(key_ids: Iterable[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return statuses of a request, sensible or not, that may name one of these key ids."""
    conditions = st.fixed_dictionaries(
        {
            "type": st.sampled_from(["Ready", "Other"]),
            "status": st.sampled_from(["True", "False", "Unknown"]),
            "reason": st.text(max_size=8),
            "message": st.text(max_size=8),
            "lastTransitionTime": st.text(max_size=8),
        }
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "keyID": st.sampled_from(list(key_ids)) | st.text(max_size=15),
            "phase": st.sampled_from([phase.value for phase in TokenPhase]),
            "issuedAt": st.text(max_size=10),
            "expiresAt": st.text(max_size=10),
            "secretName": st.text(max_size=10),
            "conditions": st.lists(conditions, max_size=2),
        },
    )
