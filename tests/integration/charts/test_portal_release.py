"""The portal content server behind a real edge: the document comes without a key, and nothing else does."""

from typing import Any

import httpx
import pytest

from chart_release import Release
from embedded import Environment
from eventually import eventually
from pm_facts import Content
from privatellm.kube import KubeClient, kinds
from privatellm_local.packaging.portal_values import CONTENT_PATH

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]

TITLE = 'A "title" with <b>markup</b>, {{ braces }} and 🦙'
NAME = "private-llm-portal"


@pytest.fixture
def served(clean: Release) -> Release:
    """A release with the portal's content, not installed yet."""
    content: dict[str, Any] = {"title": TITLE, "keyLifetimes": ["720h"]}
    return Release(clean.helm, {**clean.values, "portal": {"enabled": True, "content": content}})


async def test_the_portal_fetches_its_content_from_the_edge(
    served: Release, client: KubeClient, environment: Environment
) -> None:
    """From the process of the chart, through Traefik, by the path that the integration names."""
    await served.install()
    url = f"{environment.edge_url}{CONTENT_PATH}"
    async with httpx.AsyncClient() as http:

        async def answered() -> httpx.Response | None:
            answer = await http.get(url)
            return answer if answer.status_code == 200 else None

        answer = await eventually(answered, what="the document at the edge", within=60)
        assert answer is not None
        content = Content.model_validate_json(answer.content)
        assert getattr(content.nodes[0].category, "label", "") == TITLE
        view = content.resources[0].ui.create_view
        assert view is not None
        # The catalogue of this environment has the demo's model as well.
        assert {"tinyllama", "gemma-3-270m"} <= set(view.fields[1].values or ())

        known = {"If-None-Match": answer.headers["ETag"]}
        assert (await http.get(url, headers=known)).status_code == 304
        assert (await http.post(url, json={})).status_code == 405
        assert (await http.get(f"{url}/more")).status_code == 404
        assert (await http.get(f"{environment.edge_url}/healthz")).status_code == 404

    deployment = await client.get(kinds.DEPLOYMENT, NAME, served.namespace)
    assert deployment is not None
    assert deployment["status"]["availableReplicas"] == 1
    bindings = (await client.list(kinds.CLUSTER_ROLE_BINDING)).items
    assert not [b for b in bindings for s in b.get("subjects") or () if s["name"] == NAME]


async def test_a_changed_title_reaches_the_portal_by_an_upgrade(
    served: Release, environment: Environment
) -> None:
    """Within the minute that a portal may keep it; the process goes on."""
    await served.install()
    renamed = {**served.values, "portal": {"enabled": True, "content": {"title": "Another"}}}

    await Release(served.helm, renamed).upgrade()

    url = f"{environment.edge_url}{CONTENT_PATH}"
    async with httpx.AsyncClient() as http:

        async def shown() -> bool:
            answer = await http.get(url)
            return answer.status_code == 200 and '"label":"Another"' in answer.text

        await eventually(shown, what="the new title", within=90)
