from pathlib import Path
from typing import Any

import pytest

from node_builders import container, facts, pod
from privatellm_local.node.environment import Environment, arguments, build
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.paths import PathMap
from privatellm_local.node.sources import Sources

SOURCES = Sources(
    secrets={"s": {"key": b"hunter2 /models", "binary": b"\xff"}},
    config_maps={"c": {"file": b"/models/x", "level": b"info"}},
)
PATHS = PathMap({"/models": Path("/host/m")})
GIVEN = {"PATH": "/usr/bin", "HOME": "/host/work", "LANG": "de_AT.UTF-8"}


def built(*env: dict[str, Any], **fields: Any) -> Environment:
    subject = container(env=list(env), **fields)
    return build(subject, facts(pod(subject.model_dump(by_alias=True))), SOURCES, PATHS, GIVEN)


def reference(name: str, **source: Any) -> dict[str, Any]:
    return {"name": name, "valueFrom": source}


def secret(name: str, key: str = "key", **more: Any) -> dict[str, Any]:
    return reference(name, secretKeyRef={"name": "s", "key": key, **more})


def test_literals_are_rewritten_and_expanded_in_order() -> None:
    """A variable can use those before it, and a path in it is the path of this machine."""
    values = built(
        {"name": "DIR", "value": "/models"},
        {"name": "FILE", "value": "$(DIR)/x"},
        {"name": "EARLY", "value": "$(LATE)"},
        {"name": "LATE", "value": "x"},
    ).values

    assert values["FILE"] == "/host/m/x"
    assert values["EARLY"] == "$(LATE)"


def test_a_pod_keeps_what_the_node_gives_unless_it_says_otherwise() -> None:
    """The node's variables are defaults."""
    assert built({"name": "LANG", "value": "C"}).values == GIVEN | {"LANG": "C"}


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "BASH_ENV",
        "DYLD_INSERT_LIBRARIES",
        "NODE_OPTIONS",
        "GCONV_PATH",
        "GGML_BACKEND_PATH",
        "OPENSSL_CONF",
        "COVERAGE_PROCESS_CONFIG",
        "VK_ICD_FILENAMES",
        "HOME",
        "XDG_DATA_HOME",
        "PRIVATE_LLM_VOLUME_MOUNTS",
    ],
)
def test_variables_that_choose_code_are_ignored(name: str) -> None:
    """A pod's program is the image table's, whatever the pod says."""
    assert built({"name": name, "value": "/evil"}).values.get(name) == GIVEN.get(name)


@pytest.mark.parametrize(
    "name",
    [
        "NODE_NAME",
        "LDAP_URL",
        "PATHS",
        "ENV",
        "MY_PATH",
        "PERL",
        "GGML_NO_BACKTRACE",
        "OMP_NUM_THREADS",
    ],
)
def test_variables_that_only_look_like_loaders_are_kept(name: str) -> None:
    """Ordinary names pass."""
    assert built({"name": name, "value": "v"}).values[name] == "v"


def test_every_kind_of_source_gives_its_value() -> None:
    """Facts of the pod, amounts of the container, ConfigMaps and Secrets."""
    environment = built(
        reference("IP", fieldRef={"fieldPath": "status.podIP"}),
        reference("CPU", resourceFieldRef={"resource": "limits.cpu"}),
        reference("LEVEL", configMapKeyRef={"name": "c", "key": "level"}),
        reference("FILE", configMapKeyRef={"name": "c", "key": "file"}),
        secret("KEY"),
        resources={"limits": {"cpu": "1500m"}},
    )

    assert environment.values["IP"] == "127.111.0.7"
    assert environment.values["CPU"] == "2"
    assert environment.values["LEVEL"] == "info"
    assert environment.values["FILE"] == "/host/m/x"
    assert environment.values["KEY"] == "hunter2 /models", "a secret is never rewritten"
    assert environment.secret == {"KEY"}


def test_whole_objects_become_variables_with_a_prefix() -> None:
    """``envFrom`` comes first, so single variables can use and override it."""
    environment = built(
        {"name": "USED", "value": "$(C_level)"},
        envFrom=[
            {"prefix": "C_", "configMapRef": {"name": "c"}},
            {"configMapRef": {"name": "absent", "optional": True}},
        ],
    )

    assert environment.values["C_file"] == "/host/m/x"
    assert environment.values["USED"] == "info"


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        (secret("X", key="absent"), "Secret s, key absent"),
        (reference("X", configMapKeyRef={"name": "absent", "key": "k"}), "ConfigMap absent"),
        (secret("X", key="binary"), "UTF-8"),
        (reference("X", fieldRef={"fieldPath": "status.phase"}), "status.phase"),
        (reference("X", resourceFieldRef={"resource": "amount.cpu"}), "amount.cpu"),
        (reference("X", fileKeyRef={"path": "x"}), "another source"),
        ({"name": "X", "value": "a\0b"}, "NUL"),
    ],
)
def test_a_variable_that_cannot_be_made_refuses_the_container(
    variable: dict[str, Any], said: str
) -> None:
    """The refusal says which one, and why."""
    with pytest.raises(ContainerRefusedError, match=said):
        built(variable)


def test_optional_references_that_lead_nowhere_define_nothing() -> None:
    """The variable is absent, not empty."""
    assert "X" not in built(secret("X", key="absent", optional=True)).values


@pytest.mark.parametrize("argument", ["$(KEY)", "--key=$(KEY)", "$(DERIVED)"])
def test_a_secret_never_gets_into_a_command_line(argument: str) -> None:
    """Not even through a variable that was made of it; its value is in no message either."""
    subject = container(args=[argument])
    environment = built(secret("KEY"), {"name": "DERIVED", "value": "Bearer $(KEY)"})

    with pytest.raises(ContainerRefusedError, match="Mount the Secret") as refusal:
        arguments(subject, environment, PATHS)

    assert "hunter2" not in str(refusal.value)


def test_arguments_are_rewritten_and_expanded_once() -> None:
    """An escaped reference to a secret is only text."""
    subject = container(args=["--dir=/models", "$(DIR)/x", "$$(KEY)"])
    environment = built({"name": "DIR", "value": "/models"}, secret("KEY"))

    assert arguments(subject, environment, PATHS) == ("--dir=/host/m", "/host/m/x", "$(KEY)")


def test_a_secret_that_is_overridden_is_no_secret_any_more() -> None:
    """What counts is where the present value came from."""
    environment = built(secret("KEY"), {"name": "KEY", "value": "public"})

    assert environment.secret == set()


def test_a_pod_cannot_borrow_the_identity_of_the_person_who_runs_the_node() -> None:
    """The node's own kubeconfig is the pod's service account and stays it."""
    environment = Environment(values={"KUBECONFIG": "/host/pod.kubeconfig"})

    environment.set("KUBECONFIG", "/home/you/bootstrap.kubeconfig", secret=False)

    assert environment.values["KUBECONFIG"] == "/host/pod.kubeconfig"
