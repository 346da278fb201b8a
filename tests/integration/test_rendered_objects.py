"""Everything that the operator renders is taken by a real API server, and needs no second write."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

import thoroughness
from operator_objects import facts, instance, model, settings
from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.kube import KubeClient, kinds
from privatellm_operator.reconcile.matching import matches
from privatellm_operator.render import middlewares
from privatellm_operator.render.children import build_all
from privatellm_operator.settings import (
    EdgeSettings,
    NodeClass,
    PodSettings,
    PublicSettings,
    ServerSettings,
)

pytestmark = pytest.mark.integration

SOURCES = (
    {"huggingFace": {"repo": "owner/repo", "file": "d/f.gguf", "revision": "abc"}},
    {"url": "https://example.com/f.gguf"},
    {"pvc": {"claimName": "claim", "path": "d/f.gguf"}},
    {"s3": {"endpoint": "https://s3.example.com", "bucket": "b", "key": "k"}},
)
names = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,80}[a-z0-9])?", fullmatch=True)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)
model_specs = st.fixed_dictionaries(
    {
        "source": st.sampled_from(SOURCES),
        "sha256": st.none() | st.just("a" * 64),
        "sizeBytes": st.none() | st.integers(1, 10**11),
        "chatTemplate": st.none() | texts,
        "contextSize": st.integers(128, 2**20),
        "parallel": st.integers(1, 256),
        "resources": st.sampled_from(
            [
                {},
                {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2Gi"}},
                {"requests": {"cpu": 1}, "limits": {"cpu": "1000m"}},
            ]
        ),
        "extraArguments": st.lists(texts, max_size=3),
        "server": st.fixed_dictionaries(
            {},
            optional={
                "image": st.just("ghcr.io/example/server@sha256:" + "a" * 64),
                "threads": st.integers(1, 64),
                "cacheTypeK": st.sampled_from(["f16", "q8_0"]),
                "flashAttention": st.sampled_from(["on", "auto"]),
                "embeddings": st.booleans(),
                "promptCacheMebibytes": st.integers(0, 2**14),
            },
        ),
        "gpu": st.none() | st.builds(lambda count: {"count": count}, st.integers(1, 8)),
        "nodeClass": st.sampled_from(["default", "gpu"]),
        "limits": st.sampled_from([{}, {"requestsPerMinute": 10}]),
    }
)
instance_specs = st.fixed_dictionaries(
    {"replicas": st.integers(0, 10), "dnsPolicy": st.sampled_from(["ClusterFirst", "Default"])}
)


async def _accepted(client: KubeClient, ordered: LLMInstance, served: LLMModel) -> None:
    placed = {"nodeSelector": {"gpu": "yes"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    servers = ServerSettings(
        image_pull_secrets=("pull",), node_classes={"gpu": NodeClass.model_validate(placed)}
    )
    chosen = settings(servers=servers)
    for child in build_all(facts(ordered, served, chosen)):
        answer = await client.apply(
            kinds.kind_of(child), child, field_manager="tests", dry_run=True
        )
        assert matches(answer, child), f"a second pass would write {child['kind']} again"


@examples(
    max_examples=thoroughness.examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(name=names, ordered=instance_specs, served=model_specs, model_name=names)
async def test_the_api_server_takes_every_child_as_it_is_rendered(
    client: KubeClient,
    namespace: str,
    name: str,
    ordered: dict[str, object],
    served: dict[str, object],
    model_name: str,
) -> None:
    """Any valid order of any valid model: valid objects, and what comes back contains what was sent."""
    await _accepted(
        client,
        instance(name, namespace=namespace, **ordered),
        model(model_name, **served),
    )


@pytest.mark.parametrize("host", ["llm.example.com:8443", "127.0.0.1:8443", "localhost", "[::1]"])
async def test_every_form_of_public_host_makes_a_valid_ingress(
    client: KubeClient, namespace: str, host: str
) -> None:
    """Ports and addresses never reach the rule."""
    chosen = settings(public=PublicSettings(host=host))
    ingress = build_all(facts(instance(namespace=namespace), model(), chosen))[-1]
    await client.apply(kinds.INGRESS, ingress, field_manager="tests", dry_run=True)


async def test_middlewares_are_taken_as_they_are_rendered(
    client: KubeClient, namespace: str
) -> None:
    """The shared ones with and without browsers, and those of a model with limits."""
    chosen = settings(
        pod=PodSettings(namespace=namespace),
        edge=EdgeSettings(cors_origins=("https://a.example",)),
    )
    limited = model("qwen2.5", limits={"requestsPerMinute": 5, "concurrentRequests": 1})
    for middleware in middlewares.build_all(chosen, (limited,)):
        answer = await client.apply(
            kinds.MIDDLEWARE, middleware, field_manager="tests", dry_run=True
        )
        assert matches(answer, middleware)
