"""From a model's typed settings to what runs: arguments, devices, nodes, disruptions."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operator_objects import facts, instance, model, settings
from privatellm.api.server import CacheType
from privatellm.kube import kinds
from privatellm_operator.render import deployment, pod_disruption_budget
from privatellm_operator.render.children import build_all
from privatellm_operator.render.placement import misplaced
from privatellm_operator.render.server import overreaching, server_arguments
from privatellm_operator.render.source import fetch_arguments
from privatellm_operator.settings import NodeClass, ServerSettings

GIBIBYTE = 2**30


def _options(**spec: Any) -> dict[str, str]:
    """Return the server's options that have a value."""
    words = server_arguments(model(**spec))
    return {a: b for a, b in pairwise(words) if a.startswith("--")}


def _pod(chosen: ServerSettings | None = None, **spec: Any) -> dict[str, Any]:
    built = deployment.build(
        facts(served=model(**spec), chosen=settings(servers=chosen or ServerSettings()))
    )
    pod: dict[str, Any] = built["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize(
    ("server", "option", "value"),
    [
        ({"threads": 3}, "--threads", "3"),
        ({"cacheTypeK": "q8_0"}, "--cache-type-k", "q8_0"),
        ({"cacheTypeV": "q4_0"}, "--cache-type-v", "q4_0"),
        ({"flashAttention": "on"}, "--flash-attn", "on"),
        ({"promptCacheMebibytes": 17}, "--cache-ram", "17"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_setting_becomes_an_option(server: dict[str, Any], option: str, value: str) -> None:
    assert _options(server=server)[option] == value


def test_settings_that_are_absent_are_left_to_llama_cpp() -> None:
    """What nobody decided is not frozen at today's default."""
    unsaid = {"--cache-type-k", "--cache-type-v", "--flash-attn", "--n-gpu-layers", "--cache-ram"}
    assert unsaid.isdisjoint(server_arguments(model()))


@pytest.mark.parametrize("task", ["embeddings", "reranking"])
def test_a_server_for_another_task_saves_no_prompts(task: str) -> None:
    """Its prompt cache would only grow."""
    arguments = server_arguments(model(server={task: True}))

    assert f"--{task}" in arguments
    assert arguments[arguments.index("--cache-ram") + 1] == "0"


@given(st.integers(0, 64), st.none() | st.integers(1, 64))
def test_saved_prompts_fit_beside_the_weights(limit: int, size: int | None) -> None:
    """The cache never takes more than a quarter of what the weights leave of the memory limit."""
    spec: dict[str, Any] = {"resources": {"limits": {"memory": f"{limit}Gi"}}}
    spec |= {"sizeBytes": size * GIBIBYTE} if size else {}
    cache = int(_options(**spec)["--cache-ram"])

    left = max(0, (limit - (size or 0)) * 1024)
    assert 0 <= cache <= min(left / 4, 8192)


def test_every_cache_type_is_one_that_the_embedded_server_knows() -> None:
    """The two lists are llama.cpp's."""
    arguments = pytest.importorskip("privatellm_local.modelserver.arguments")
    assert {kind.value for kind in CacheType} == set(arguments.CACHE_TYPES)


@pytest.mark.parametrize(
    "spec",
    [
        {"server": {"threads": 2, "cacheTypeK": "q8_0", "cacheTypeV": "q8_0"}},
        {"server": {"flashAttention": "auto", "reranking": True}},
        {"gpu": {"count": 2}, "server": {"embeddings": True}},
    ],
    ids=str,
)
def test_the_embedded_server_understands_what_we_write(spec: dict[str, Any]) -> None:
    """One list of arguments works for the image and for the launcher."""
    launcher = pytest.importorskip("privatellm_local.modelserver.arguments")
    launcher.parse_arguments(server_arguments(model(**spec)))


def test_devices_are_asked_for_by_their_resource_name() -> None:
    """All layers go to the device unless the model says how many."""
    gpu = {"resource": "amd.com/gpu", "count": 2}
    limits = {"memory": "8Gi"}
    pod = _pod(gpu=gpu, resources={"limits": limits})

    assert pod["containers"][0]["resources"]["limits"] == {"memory": "8Gi", "amd.com/gpu": 2}
    assert int(_options(gpu=gpu)["--n-gpu-layers"]) > 200
    assert _options(gpu=gpu | {"layers": 0})["--n-gpu-layers"] == "0"


@pytest.mark.parametrize(
    ("gpu", "replicas", "strategy"),
    [
        (None, 1, ("RollingUpdate", 1, 0)),
        (None, 3, ("RollingUpdate", 1, 0)),
        ({}, 0, ("Recreate", None, None)),
        ({}, 1, ("Recreate", None, None)),
        ({}, 3, ("RollingUpdate", 0, 1)),
    ],
)
def test_an_exclusive_device_never_waits_for_itself(
    gpu: dict[str, Any] | None, replicas: int, strategy: tuple[str, int | None, int | None]
) -> None:
    """Where a surge pod could not be scheduled beside the old one, the old one goes first."""
    served = model() if gpu is None else model(gpu=gpu)
    built = deployment.build(facts(instance(replicas=replicas), served))["spec"]["strategy"]

    rolling = built.get("rollingUpdate", {})
    found = (built["type"], rolling.get("maxSurge"), rolling.get("maxUnavailable"))
    assert found == strategy


def test_a_model_may_need_an_image_of_its_own() -> None:
    assert _pod(server={"image": "cuda"})["containers"][0]["image"] == "cuda"
    assert _pod()["containers"][0]["image"] == ServerSettings().server_image


def test_a_node_class_places_the_pods() -> None:
    """The class is the platform's, the model only names it."""
    gpu = NodeClass(
        node_selector={"pool": "gpu"},
        tolerations=({"key": "gpu", "operator": "Exists"},),
        priority_class_name="models",
    )
    pod = _pod(ServerSettings(node_classes={"gpu": gpu}), nodeClass="gpu")

    assert pod["nodeSelector"] == {"pool": "gpu"}
    assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert pod["priorityClassName"] == "models"
    assert "runtimeClassName" not in pod
    assert "nodeSelector" not in _pod(ServerSettings(node_classes={"gpu": gpu}))


def test_a_node_class_that_nobody_defined_is_told() -> None:
    """It would run anywhere, such as on the nodes that it was meant to stay off."""
    chosen = ServerSettings(node_classes={"gpu": NodeClass()})

    assert misplaced(model(), chosen) == misplaced(model(nodeClass="gpu"), chosen) == ""
    assert "'tpu'" in misplaced(model(nodeClass="tpu"), chosen)
    assert "default, gpu" in misplaced(model(nodeClass="tpu"), chosen)


def test_node_classes_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the JSON that a chart's values turn into, with the names of a pod's spec."""
    text = '{"gpu": {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu"}]}}'
    monkeypatch.setenv("PRIVATE_LLM_NODE_CLASSES", text)

    assert ServerSettings().node_classes["gpu"].node_selector == {"pool": "gpu"}


@pytest.mark.parametrize(("replicas", "wanted"), [(0, False), (1, False), (2, True)])
def test_several_servers_have_a_disruption_budget(replicas: int, *, wanted: bool) -> None:
    """One server alone must not keep a node from being drained."""
    given_facts = facts(instance(replicas=replicas))
    built = {kinds.kind_of(child) for child in build_all(given_facts)}

    assert (kinds.POD_DISRUPTION_BUDGET in built) is wanted
    spec = pod_disruption_budget.build(given_facts)["spec"]
    assert spec["maxUnavailable"] == 1


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("models/a b.gguf", "models/a%20b.gguf"),
        ("a#b?c&d.gguf", "a%23b%3Fc%26d.gguf"),
        ("100%/ü.gguf", "100%25/%C3%BC.gguf"),
    ],
)
def test_a_key_of_a_bucket_is_quoted(key: str, path: str) -> None:
    """What means something in a URL means nothing in a key."""
    source = {"s3": {"endpoint": "https://s3.example.com", "bucket": "b", "key": key}}
    arguments = fetch_arguments(model(source=source), settings().servers)

    assert f"https://s3.example.com/b/{path}" in arguments


def test_a_model_that_was_stored_with_an_argument_of_the_platform_is_refused_in_words() -> None:
    """The API server refuses it today; one of before that rule is met by the operator."""
    words = ["--top-k", "40", "--host=0.0.0.0", "--api_key_file", "/x", "--host=0.0.0.0"]
    fault = overreaching(model("odd", extraArguments=words))
    assert "LLMModel odd gives --host=0.0.0.0, --api_key_file in spec.extraArguments" in fault
    assert overreaching(model(extraArguments=["--top-k", "40"])) == ""
