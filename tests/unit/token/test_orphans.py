"""Which verifiers nobody answers for."""

from typing import Any

import pytest

from privatellm import labels
from privatellm.tokens import Token
from privatellm_operator.reconcile.token.sweep import orphans_among
from token_worlds import REQUEST_UID, a_verifier

ALIVE = frozenset({REQUEST_UID})
EVERYWHERE: frozenset[str] = frozenset()


def a_stored_verifier(**changed_labels: str | None) -> dict[str, Any]:
    """Return a verifier's Secret with some labels changed or, with ``None``, removed."""
    secret = a_verifier(Token.mint()).to_secret("tokens")
    found = secret["metadata"]["labels"] | {
        getattr(labels, name): value for name, value in changed_labels.items()
    }
    secret["metadata"]["labels"] = {k: v for k, v in found.items() if v is not None}
    return secret


def test_a_verifier_whose_request_lives_is_no_orphan() -> None:
    assert orphans_among([a_stored_verifier()], ALIVE, EVERYWHERE) == ()


def test_a_verifier_whose_request_is_gone_is_an_orphan() -> None:
    secret = a_stored_verifier()

    assert orphans_among([secret], frozenset(), EVERYWHERE) == (secret["metadata"]["name"],)


@pytest.mark.parametrize(
    "changed",
    [
        {"REQUEST_UID": None},
        {"REQUEST_UID": "another"},
        {"INSTANCE_UID": None},
        {"MANAGED_BY": "somebody"},
    ],
    ids=str,
)
def test_a_verifier_that_its_labels_do_not_find_is_an_orphan(
    changed: dict[str, str | None],
) -> None:
    secret = a_stored_verifier(**changed)

    assert orphans_among([secret], ALIVE, EVERYWHERE) == (secret["metadata"]["name"],)


@pytest.mark.parametrize(("served", "orphans"), [("acme", 1), ("other", 0)])
def test_only_verifiers_of_served_namespaces_are_judged(served: str, orphans: int) -> None:
    found = orphans_among([a_stored_verifier()], frozenset(), frozenset({served}))

    assert len(found) == orphans


def test_what_cannot_be_read_is_left_to_the_pass_over_its_request() -> None:
    secret = a_stored_verifier() | {"data": {}}

    assert orphans_among([secret], frozenset(), EVERYWHERE) == ()


def test_a_secret_without_labels_is_judged_by_its_fields() -> None:
    secret = a_stored_verifier()
    del secret["metadata"]["labels"]

    assert len(orphans_among([secret], ALIVE, EVERYWHERE)) == 1
