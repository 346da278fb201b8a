import copy
import dataclasses
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import thoroughness
from operator_objects import children, facts, instance, model, settings
from privatellm import labels
from privatellm.kube import kinds
from privatellm.names import slug_of
from privatellm_operator.render import deployment, ingress, middlewares, network_policy, service
from privatellm_operator.render.children import build_all
from privatellm_operator.render.instance import DIGEST_ANNOTATION, InstanceFacts
from privatellm_operator.render.source import model_path
from privatellm_operator.settings import (
    CapSettings,
    EdgeSettings,
    ModelMetricsSettings,
    PublicSettings,
    ServerSettings,
)
from privatellm_operator.world.watched import CHILDREN

SLUG = slug_of(instance().metadata.uid)

names = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?", fullmatch=True)
quantities = st.sampled_from(["500m", "2", 1, "0.5", "4Gi"])
model_fields = st.fixed_dictionaries(
    {
        "sha256": st.none() | st.just("a" * 64),
        "sizeBytes": st.none() | st.integers(1, 10**11),
        "chatTemplate": st.none() | st.text(max_size=50),
        "parallel": st.integers(1, 256),
        "resources": st.fixed_dictionaries(
            {"requests": st.fixed_dictionaries({"cpu": quantities})}
        ),
        "extraArguments": st.lists(st.text(max_size=20), max_size=3),
    }
)
models = st.builds(lambda name, fields: model(name, **fields), names, model_fields)
instances = st.builds(
    lambda name, uid, replicas: instance(name, uid=str(uid), replicas=replicas),
    names,
    st.uuids(),
    st.integers(0, 10),
)


@examples(max_examples=thoroughness.examples(30))
@given(instances, models)
def test_rendering_twice_is_the_same_and_changes_no_input(ordered: Any, served: Any) -> None:
    """Builders are pure."""
    given_facts = facts(ordered, served)
    before = copy.deepcopy(given_facts)

    assert build_all(given_facts) == build_all(given_facts)
    assert given_facts == before


@given(instances, models)
def test_children_carry_legal_names_our_labels_and_their_owner(ordered: Any, served: Any) -> None:
    """Whatever the customer called the instance, the API server takes its children."""
    for child in build_all(facts(ordered, served)):
        metadata = child["metadata"]
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", metadata["name"]) or (
            child["kind"] == "Secret"
        )
        assert all(len(value) <= 63 for value in metadata["labels"].values())
        assert metadata["labels"][labels.MANAGED_BY] == labels.MANAGED_BY_OPERATOR
        [owner] = metadata["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (ordered.metadata.uid, True)


@examples(max_examples=thoroughness.examples(30))
@given(st.lists(instances, min_size=2, max_size=6, unique_by=lambda i: i.metadata.name))
def test_two_instances_never_share_a_child(ordered: Any) -> None:
    """Shortened names are still different names."""
    found = [
        (child["kind"], child["metadata"]["name"])
        for each in ordered
        for child in build_all(facts(each))
    ]
    assert len(found) == len(set(found))


def test_an_instance_has_five_children_and_the_route_comes_last() -> None:
    """What protects is written first, then what runs, then the way to it."""
    kinds_in_order = [child["kind"] for child in build_all(facts())]
    assert kinds_in_order == ["Secret", "NetworkPolicy", "Service", "Deployment", "Ingress"]


def test_the_digest_follows_the_manifest() -> None:
    """A field that we stop wanting changes the digest, so that it is removed."""
    plain = service.build(facts())
    other = service.build(facts(instance("other")))
    digests = {m["metadata"]["annotations"][DIGEST_ANNOTATION] for m in (plain, other)}
    assert len(digests) == 2


def _pod(given_facts: InstanceFacts) -> dict[str, Any]:
    spec: dict[str, Any] = deployment.build(given_facts)["spec"]["template"]["spec"]
    return spec


def _server(given_facts: InstanceFacts) -> dict[str, Any]:
    container: dict[str, Any] = _pod(given_facts)["containers"][0]
    return container


def _value(arguments: list[str], option: str) -> str:
    return arguments[arguments.index(option) + 1]


def test_the_server_gets_exactly_the_arguments_of_the_contract() -> None:
    """The launcher and the real server read the same line."""
    served = model(
        contextSize=2048,
        parallel=2,
        resources={"requests": {"cpu": "1500m"}},
        chatTemplate="{{ x }}",
    )
    assert _server(facts(served=served))["args"] == [
        *("--model", model_path(served)),
        *("--host", "$(POD_IP)"),
        *("--port", "8000"),
        *("--alias", "tinyllama"),
        "--metrics",
        *("--api-key-file", "/keys/api-key"),
        "--no-webui",
        "--no-slots",
        *("--threads", "2"),
        *("--poll", "0"),
        *("--parallel", "2"),
        *("--ctx-size", "2048"),
        *("--jinja", "--chat-template", "{{ x }}"),
    ]


@pytest.mark.parametrize(
    ("resources", "threads"),
    [
        ({}, "1"),
        ({"requests": {"cpu": "500m"}}, "1"),
        ({"limits": {"cpu": "4"}}, "4"),
        ({"requests": {"cpu": 2}, "limits": {"cpu": 8}}, "2"),
        ({"requests": {"memory": "1Gi"}}, "1"),
    ],
)
def test_threads_follow_the_processors_that_are_asked_for(
    resources: dict[str, Any], threads: str
) -> None:
    """More threads than processors cost two thirds of the throughput."""
    arguments = _server(facts(served=model(resources=resources)))["args"]
    assert _value(arguments, "--threads") == threads


def test_a_template_cannot_name_a_variable_of_the_pod() -> None:
    """Kubernetes would put the value of an environment variable into the text."""
    arguments = _server(facts(served=model(chatTemplate="a $(POD_IP) b")))["args"]
    assert _value(arguments, "--chat-template") == "a $$(POD_IP) b"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"huggingFace": {"repo": "o/r", "file": "d/f.gguf", "revision": "abc"}},
            ["--hf-repo", "o/r", "--hf-file", "d/f.gguf", "--hf-revision", "abc"],
        ),
        ({"url": "https://example.com/f.gguf"}, ["--url", "https://example.com/f.gguf"]),
        ({"pvc": {"claimName": "c", "path": "/d/f.gguf"}}, ["--path", "/source/d/f.gguf"]),
        (
            {"s3": {"endpoint": "https://s3.example.com/", "bucket": "b", "key": "k.gguf"}},
            ["--url", "https://s3.example.com/b/k.gguf"],
        ),
    ],
)
def test_each_source_becomes_arguments_of_the_fetcher(
    source: dict[str, Any], expected: list[str]
) -> None:
    """No shell, and each value is a word of its own."""
    served = model(source=source, sha256="a" * 64, sizeBytes=10)
    fetcher = _pod(facts(served=served))["initContainers"][0]
    assert fetcher["command"] == ["privatellm-fetch"]
    assert fetcher["args"] == [
        *("--output", model_path(served)),
        *("--sha256", "a" * 64),
        *("--size-bytes", "10"),
        *expected,
        *("--report", "/dev/termination-log"),
        *("--progress-host", "$(POD_IP)", "--progress-port", "8002"),
    ]


def test_platform_settings_reach_the_fetcher() -> None:
    """What a source may be is the platform's decision."""
    servers = ServerSettings(
        allow_file_sources=True, allow_private_sources=True, mirror="https://mirror.example.com"
    )
    fetcher = _pod(facts(chosen=settings(servers=servers)))["initContainers"][0]
    assert _value(fetcher["args"], "--mirror") == "https://mirror.example.com"
    assert {"--allow-file-sources", "--allow-private-sources"} <= set(fetcher["args"])


def test_a_claim_is_mounted_for_the_fetcher_only_and_read_only() -> None:
    """The server reads its own copy."""
    pod = _pod(facts(served=model(source={"pvc": {"claimName": "c", "path": "f"}})))
    assert {"name": "source", "mountPath": "/source", "readOnly": True} in pod["initContainers"][0][
        "volumeMounts"
    ]
    assert all(mount["name"] != "source" for mount in pod["containers"][0]["volumeMounts"])


def test_pods_fit_the_restricted_profile() -> None:
    """Non-root, read-only, without capabilities, and without a token of a service account."""
    pod = _pod(facts())
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*pod["initContainers"], *pod["containers"]):
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["readOnlyRootFilesystem"] is True
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_a_cold_load_of_half_an_hour_is_survived() -> None:
    """The start-up probe gives the time, and no other probe runs before it succeeds."""
    probe = _server(facts())["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 30 * 60


def test_a_long_prompt_cannot_trip_liveness() -> None:
    """Health is answered beside the work; ten minutes without one answer are no long prompt."""
    probe = _server(facts())["livenessProbe"]
    assert probe["httpGet"]["path"] == "/health"
    assert probe["periodSeconds"] * probe["failureThreshold"] == 600


def test_a_hung_server_is_ended_without_its_drain() -> None:
    """A port that is open proves no life, and waiting for a server that hangs helps nobody."""
    pod = deployment.build(facts())["spec"]["template"]["spec"]
    probe = _server(facts())["livenessProbe"]
    assert "tcpSocket" not in probe
    assert probe["terminationGracePeriodSeconds"] < pod["terminationGracePeriodSeconds"] / 10


@pytest.mark.parametrize(
    "change",
    [
        {"source": {"url": "https://example.com/other.gguf"}},
        {"sha256": "b" * 64},
        {"extraArguments": ["--flash-attn"]},
        {"chatTemplate": "x"},
        {"contextSize": 8192},
    ],
)
def test_a_change_of_the_model_rolls_the_pods(change: dict[str, Any]) -> None:
    """The old file is never served under the new entry."""
    before = deployment.build(facts(served=model()))["spec"]["template"]
    after = deployment.build(facts(served=model(**change)))["spec"]["template"]
    assert before != after


def test_another_platform_key_rolls_the_pods() -> None:
    """llama.cpp reads its key at its start, and would answer 401 for ever."""
    before = facts()
    after = dataclasses.replace(before, backend_key="another" + before.backend_key)

    templates = [deployment.build(given)["spec"]["template"] for given in (before, after)]

    assert templates[0] != templates[1]
    assert before.backend_key not in json.dumps(templates)


@pytest.mark.parametrize("change", [{"displayName": "Tiny"}, {"license": "MIT"}])
def test_a_change_of_words_rolls_nothing(change: dict[str, Any]) -> None:
    """What customers read about a model does not restart it."""
    assert deployment.build(facts(served=model(**change))) == deployment.build(facts())


def test_the_service_has_a_port_whose_name_is_unique_to_the_instance() -> None:
    """Traefik keys its services by namespace, service and port."""
    ports = service.build(facts())["spec"]["ports"]
    assert [(p["name"], p["port"], p["targetPort"]) for p in ports] == [
        ("http", 8000, 8000),
        (f"e-{SLUG[:12]}", 8001, 8000),
    ]


def test_the_ingress_names_class_path_port_and_chain() -> None:
    """One path leads to one port through the shared chain."""
    built = ingress.build(facts())
    [rule] = built["spec"]["rules"]
    [path] = rule["http"]["paths"]
    annotations = built["metadata"]["annotations"]
    assert built["spec"]["ingressClassName"] == "traefik"
    assert rule["host"] == "llm.example.com"
    assert (path["path"], path["pathType"]) == (f"/llm/{SLUG}", "Prefix")
    assert path["backend"]["service"] == {
        "name": "chat-llama",
        "port": {"name": f"e-{SLUG[:12]}"},
    }
    assert {key: value for key, value in annotations.items() if key.startswith("traefik")} == {
        "traefik.ingress.kubernetes.io/router.middlewares": (
            "private-llm-system_private-llm@kubernetescrd"
        ),
        "traefik.ingress.kubernetes.io/router.entrypoints": "websecure",
        "traefik.ingress.kubernetes.io/router.tls": "true",
    }


@pytest.mark.parametrize(
    ("public_host", "rule_host"),
    [
        ("llm.example.com:8443", "llm.example.com"),
        ("localhost", "localhost"),
        ("127.0.0.1:8443", None),
        ("[::1]:8443", None),
        ("10.0.0.7", None),
    ],
)
def test_a_rule_carries_a_host_without_port_and_no_address(
    public_host: str, rule_host: str | None
) -> None:
    """An Ingress refuses both other forms."""
    chosen = settings(public=PublicSettings(host=public_host))
    [rule] = ingress.build(facts(chosen=chosen))["spec"]["rules"]
    assert rule.get("host") == rule_host


def test_plain_http_asks_for_no_tls_and_the_separator_is_a_setting() -> None:
    """Older Traefiks join namespace and name with a dash."""
    chosen = settings(
        public=PublicSettings(host="localhost", scheme="http"),
        edge=EdgeSettings(middleware_separator="-", ingress_annotations={"a": "b"}),
    )
    annotations = ingress.annotations(facts(chosen=chosen))
    assert "traefik.ingress.kubernetes.io/router.tls" not in annotations
    assert annotations["a"] == "b"
    assert annotations["traefik.ingress.kubernetes.io/router.middlewares"] == (
        "private-llm-system-private-llm@kubernetescrd"
    )


def test_only_edge_scraper_and_operator_reach_the_server() -> None:
    """Everybody else in the cluster is shut out, and the operator too where it asks for no figures."""
    spec = network_policy.build(facts())["spec"]
    [rule, _progress, figures] = spec["ingress"]
    unasked = settings(model_metrics=ModelMetricsSettings(seconds=0))
    assert figures["ports"] == rule["ports"]
    assert network_policy.build(facts(chosen=unasked))["spec"]["ingress"] == [rule, _progress]
    assert spec["policyTypes"] == ["Ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8000}]
    assert rule["from"] == [
        {
            "namespaceSelector": {
                "matchExpressions": [
                    {
                        "key": "kubernetes.io/metadata.name",
                        "operator": "In",
                        "values": ["monitoring", "traefik"],
                    }
                ]
            }
        }
    ]


def _shared(**edge: Any) -> dict[str, dict[str, Any]]:
    chosen = settings(edge=EdgeSettings(**edge))
    return {m["metadata"]["name"]: m["spec"] for m in middlewares.build_all(chosen, ())}


def test_the_chain_has_the_order_of_the_contract() -> None:
    """Upgrade, CORS, guard, check, strip, limits."""
    chain = _shared()["private-llm"]["chain"]["middlewares"]
    parts = ("upgrade", "cors", "guard", "auth", "strip", "rate", "inflight")
    assert [link["name"] for link in chain] == [f"private-llm-{part}" for part in parts]


def test_the_guard_counts_by_address_before_the_check() -> None:
    """An IPv6 network counts as one address; behind proxies the client's entry counts."""
    direct = _shared(address_requests_per_second=7)["private-llm-guard"]["rateLimit"]
    assert (direct["average"], direct["burst"]) == (7, 7)
    assert direct["sourceCriterion"] == {"ipStrategy": {"ipv6Subnet": 64}}
    behind = _shared(trusted_proxies=1)["private-llm-guard"]["rateLimit"]
    assert behind["sourceCriterion"] == {"ipStrategy": {"ipv6Subnet": 64, "depth": 1}}


def test_a_guard_of_zero_is_no_limit() -> None:
    """Traefik lets everything through at an average of 0; a burst of 0 it would refuse."""
    off = _shared(address_requests_per_second=0)["private-llm-guard"]["rateLimit"]
    assert (off["average"], off["burst"]) == (0, 1)


def test_the_check_replaces_the_tenants_authorization() -> None:
    """ForwardAuth deletes each listed header first, so a backend never sees what the client sent."""
    auth = _shared(auth_address="http://127.100.0.10:8090/")["private-llm-auth"]["forwardAuth"]
    assert auth == {
        "address": "http://127.100.0.10:8090/auth/verify",
        "trustForwardHeader": False,
        "authResponseHeaders": [
            "Authorization",
            "X-Private-Llm-Key-Id",
            "X-Private-Llm-Instance",
        ],
        "maxResponseBodySize": 65536,
    }


def test_limits_count_by_key() -> None:
    """One customer's key does not use up another's."""
    shared = _shared(requests_per_minute=60, concurrent_requests=4)
    by_key = {"requestHeaderName": "X-Private-Llm-Key-Id"}
    assert shared["private-llm-rate"]["rateLimit"]["sourceCriterion"] == by_key
    assert shared["private-llm-rate"]["rateLimit"]["average"] == 60
    assert shared["private-llm-inflight"]["inFlightReq"] == {
        "amount": 4,
        "sourceCriterion": by_key,
    }


@pytest.mark.parametrize(
    ("a_minute", "at_once"), [(1, 1), (59, 1), (60, 1), (119, 1), (120, 2), (600, 10)]
)
def test_no_more_than_a_seconds_requests_come_at_once(a_minute: int, at_once: int) -> None:
    """Traefik forgets a key that was quiet for longer, and lets it have its burst again."""
    limit = _shared(requests_per_minute=a_minute)["private-llm-rate"]["rateLimit"]
    assert (limit["average"], limit["period"], limit["burst"]) == (a_minute, "1m", at_once)


def test_upgrades_are_blanked_and_open_cors_headers_removed() -> None:
    """The backend's own answer to browsers is never passed on."""
    shared = _shared()
    blanked = shared["private-llm-upgrade"]["headers"]["customRequestHeaders"]
    assert set(blanked) == {"Upgrade", "Connection", *middlewares.SERVER_HEADERS}
    assert set(blanked.values()) == {""}
    cors = shared["private-llm-cors"]["headers"]
    assert cors["customResponseHeaders"]["Access-Control-Allow-Origin"] == ""
    assert "accessControlAllowOriginList" not in cors


def test_configured_origins_get_their_preflight_answered() -> None:
    """Preflights carry no key, so they are answered before the check."""
    cors = _shared(cors_origins="https://a.example, https://b.example")["private-llm-cors"]
    assert cors["headers"]["accessControlAllowOriginList"] == [
        "https://a.example",
        "https://b.example",
    ]


def test_only_a_whole_slug_is_stripped() -> None:
    """The pattern is anchored to the form that slugs have."""
    [pattern] = _shared()["private-llm-strip"]["stripPrefixRegex"]["regex"]
    assert re.sub(pattern, "", f"/llm/{SLUG}/v1/models") == "/v1/models"
    assert re.sub(pattern, "", "/x/llm/abc/v1") == "/x/llm/abc/v1"


def test_a_model_with_limits_of_its_own_gets_a_chain_of_its_own() -> None:
    """Its instances name it; the others share the platform's."""
    limited = model("phi-2", limits={"requestsPerMinute": 5})
    built = {m["metadata"]["name"]: m for m in middlewares.build_all(settings(), (limited,))}
    chain = [link["name"] for link in built["private-llm-phi-2"]["spec"]["chain"]["middlewares"]]
    assert chain[-2:] == ["private-llm-rate-phi-2", "private-llm-inflight-phi-2"]
    assert built["private-llm-rate-phi-2"]["spec"]["rateLimit"]["average"] == 5
    assert built["private-llm-inflight-phi-2"]["spec"]["inFlightReq"]["amount"] == 64
    assert middlewares.chain_name(model()) == "private-llm"


@given(st.lists(names, unique=True, max_size=8))
def test_no_model_can_take_the_name_of_another_middleware(found: list[str]) -> None:
    """A model called auth must not replace the check."""
    limited = [model(name, limits={"concurrentRequests": 1}) for name in (*found, "auth", "rate-x")]
    unique = {m.metadata.name: m for m in limited}.values()
    built = [m["metadata"]["name"] for m in middlewares.build_all(settings(), unique)]
    assert len(built) == len(set(built)) == 8 + 3 * len(unique)


def test_caps_bound_nothing_in_the_manifests() -> None:
    """Caps are checked before rendering, not hidden in it."""
    assert build_all(facts(chosen=settings(caps=CapSettings(max_replicas=1)))) == build_all(facts())


def test_every_child_is_of_a_kind_that_is_watched() -> None:
    """What is written but not watched would never be repaired."""
    watched = {watching.kind for watching in CHILDREN}
    assert {kind for kind, _ in children(facts(instance(replicas=2)))} == watched
    assert all(kinds.kind_of(child) in watched for child in build_all(facts()))
