"""Everything that caches add is taken by a real API server as it is rendered, and needs no second write."""

from collections.abc import Mapping

import pytest

from operator_objects import facts, instance, instance_manifest, model, settings
from privatellm.api.llm_model import LLMModel
from privatellm.kube import KubeClient, kinds
from privatellm_operator.reconcile.matching import lacks, matches
from privatellm_operator.render import cache, fetch_job
from privatellm_operator.render.children import build_all
from privatellm_operator.settings import CacheMode, CacheSettings, PodSettings

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]

SETTINGS: Mapping[str, CacheSettings] = {
    "one node's claim": CacheSettings(mode=CacheMode.CLAIM),
    "many nodes' claim": CacheSettings(mode=CacheMode.CLAIM, access_mode="ReadWriteMany"),
    "the platform's claim": CacheSettings(mode=CacheMode.CLAIM, claim="models"),
    "a directory": CacheSettings(mode=CacheMode.HOST_PATH, hub_token_secret="hub"),
}
MODELS: Mapping[str, LLMModel] = {
    "declared": model(sha256="a" * 64, sizeBytes=10**9),
    "undeclared": model("1.5b-" + "x" * 200),
    "on a claim": model(source={"pvc": {"claimName": "c", "path": "f"}}),
}


@pytest.mark.parametrize("chosen", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("served", MODELS.values(), ids=MODELS)
async def test_children_of_every_cache_are_valid_and_settled(
    client: KubeClient, namespace: str, chosen: CacheSettings, served: LLMModel
) -> None:
    """What comes back contains what was sent."""
    given = facts(instance(namespace=namespace), served, settings(cache=chosen))
    for child in build_all(given):
        answer = await client.apply(
            kinds.kind_of(child), child, field_manager="tests", dry_run=True
        )
        assert matches(answer, child), f"a second pass would write {child['kind']} again"


@pytest.mark.parametrize("served", MODELS.values(), ids=MODELS)
async def test_claims_and_jobs_are_valid(
    client: KubeClient, namespace: str, served: LLMModel
) -> None:
    """With one owner or several, for a node or for a look at the bytes."""
    users = [instance_manifest(f"i{n}", uid=f"uid-{n}", namespace=namespace) for n in range(2)]
    claim = cache.claim(served, CacheSettings(mode=CacheMode.CLAIM), namespace, users)
    kind = kinds.PERSISTENT_VOLUME_CLAIM
    assert not lacks(await client.apply(kind, claim, field_manager="tests", dry_run=True), claim)
    for node in ("", "node-1.example.com"):
        chosen = settings(cache=SETTINGS["a directory"], pod=PodSettings(namespace=namespace))
        await client.create(kinds.JOB, fetch_job.build(served, chosen, node), dry_run=True)
