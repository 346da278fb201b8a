import json
from typing import Any

import pytest

from privatellm.errors import InvalidObjectError
from privatellm_local.platform.rbac import tenant_binding
from privatellm_local.platform.sync_agent import ONBOARDING
from privatellm_sync_agent.published.onboarding import PREFIX, grants_of


def published(**annotations: str) -> dict[str, Any]:
    """Return the metadata of a PublishedResource with grants."""
    return {
        "metadata": {"annotations": {f"{PREFIX}{key}": text for key, text in annotations.items()}}
    }


GOOD = {"clusterRole": "tenant", "serviceAccount": "system/operator"}


def test_the_embedded_environment_grants_what_onboards_a_namespace_elsewhere() -> None:
    """So a namespace that a platform team onboarded before has the same binding already."""
    (grant,) = grants_of({"metadata": {"annotations": ONBOARDING}})

    wanted = tenant_binding("somewhere")
    made = grant.binding("somewhere", {})
    assert made["metadata"].pop("labels") == {}
    assert made == wanted


def test_grants_come_in_the_order_of_their_identifiers() -> None:
    """Two equal PublishedResources lead to equal publications, and nothing restarts."""
    other = GOOD | {"clusterRole": "another"}

    first = grants_of(published(b=json.dumps(GOOD), a=json.dumps(other)))
    second = grants_of(published(a=json.dumps(other), b=json.dumps(GOOD)))

    assert first == second
    assert [grant.cluster_role for grant in first] == ["another", "tenant"]
    assert grants_of({"metadata": {}}) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 4000,
        *(
            json.dumps(GOOD | wrong)
            for wrong in (
                {"clusterRole": ""},
                {"clusterRole": "../secrets"},
                {"clusterRole": "a/b"},
                {"serviceAccount": "operator"},
                {"serviceAccount": "system/operator/more"},
                {"serviceAccount": "System/operator"},
                {"serviceAccount": ["system/operator"]},
                {"namespace": "default"},
            )
        ),
    ],
)
def test_a_grant_that_cannot_be_read_stops_the_published_resource(text: str) -> None:
    """Half an onboarding would look like a fault of the part that was not let in."""
    with pytest.raises(InvalidObjectError, match=r"onboard\.syncagent\.kcp\.io/x.*clusterRole"):
        grants_of(published(x=text))
