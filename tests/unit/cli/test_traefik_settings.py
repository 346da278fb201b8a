import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from privatellm_cli.doctor import traefik
from privatellm_cli.doctor.checks.edge import wanted_settings
from privatellm_cli.doctor.facts import Installation, Traefik
from privatellm_cli.doctor.gathering import embedded_traefik, installation_of
from privatellm_local.addresses import plan_for
from privatellm_local.edge import configuration


def _workload(**container: Any) -> dict[str, Any]:
    return {
        "kind": "Deployment",
        "metadata": {"name": "traefik", "namespace": "edge"},
        "spec": {"template": {"spec": {"containers": [{"name": "traefik", **container}]}}},
    }


def test_flags_are_read_whatever_their_case_and_form() -> None:
    """As Traefik reads them."""
    assert traefik.of_flags(["--api", "--Providers.KubernetesCRD.SafeNaming=true", "traefik"]) == {
        "api": "true",
        "providers.kubernetescrd.safenaming": "true",
    }


def test_a_file_becomes_the_same_table() -> None:
    """Its nesting is the dots of the flags."""
    content = {"entryPoints": {"web": {"http": {"sanitizePath": True, "x": ["a", "b"]}}}}

    assert traefik.of_file(content) == {
        "entrypoints.web.http.sanitizepath": "true",
        "entrypoints.web.http.x": "a,b",
    }


def test_a_workload_of_the_chart_is_recognised() -> None:
    """By its providers; flags win over the environment."""
    found = traefik.of_workload(
        _workload(
            image="docker.io/traefik:v3.7.15@sha256:aa",
            args=["--providers.kubernetescrd.safenaming"],
            env=[{"name": "TRAEFIK_PROVIDERS_KUBERNETESCRD_SAFENAMING", "value": "false"}],
        )
    )

    assert found is not None
    assert found.origin == "Deployment edge/traefik"
    assert found.version == "3.7.15"
    assert found.settings["providers.kubernetescrd.safenaming"] == "true"


def test_another_program_under_the_label_is_none() -> None:
    """Such as a dashboard."""
    assert traefik.of_workload(_workload(image="x", args=["--serve"])) is None


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("traefik:v3.7.15", "3.7.15"),
        ("reg:5000/traefik:3.7.15", "3.7.15"),
        ("traefik:latest", ""),
        ("traefik@sha256:aa", ""),
        ("3.7.15", "3.7.15"),
    ],
)
def test_a_version_is_read_off_the_tag(image: str, version: str) -> None:
    """A tag that moves tells none."""
    assert traefik.version_of(image) == version


def test_the_embedded_edge_holds_every_setting_that_we_ask_of_others() -> None:
    """The list of the doctor and the configuration that we ship cannot drift apart."""
    settings = traefik.of_file(yaml.safe_load(configuration.render(plan_for(1))))
    installation = Installation(
        "s", settings={"PRIVATE_LLM_ENTRY_POINTS": configuration.ENTRY_POINT}
    )
    seen = Traefik("test", "3.7.15", settings)

    assert [s.name for s in wanted_settings(installation) if s.fault(seen)] == []


def test_a_kubeconfig_leads_to_the_edge_of_its_environment(tmp_path: Path) -> None:
    """And one that lies elsewhere leads nowhere."""
    kubeconfig = tmp_path / "kubeconfigs" / "admin.kubeconfig"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "traefik.yaml").write_text("ping: {entryPoint: web}\n")

    assert embedded_traefik(kubeconfig) == ()
    (tmp_path / "state.json").touch()
    (found,) = embedded_traefik(kubeconfig)
    assert found.settings == {"ping.entrypoint": "web"}
    assert embedded_traefik(None) == ()


def test_the_operators_own_settings_say_how_the_edge_must_look() -> None:
    """Read off its Deployment, under whatever name a release gave it."""
    deployment = {
        "metadata": {"name": "x", "labels": {"app.kubernetes.io/name": "private-llm-operator"}},
        "spec": {
            "template": {
                "spec": {
                    "serviceAccountName": "op",
                    "containers": [
                        {
                            "env": [
                                {"name": "PRIVATE_LLM_INGRESS_CLASS", "value": "edge"},
                                {"name": "PRIVATE_LLM_ENTRY_POINTS", "value": "web, websecure"},
                                {"name": "POD_IP", "valueFrom": {}},
                            ]
                        }
                    ],
                }
            }
        },
    }

    found = installation_of((deployment,), "sys")

    assert found.username == "system:serviceaccount:sys:op"
    assert found.ingress_class == "edge"
    assert found.entry_points == ("web", "websecure")
    assert installation_of(None, "sys") == Installation("sys")


def test_every_setting_is_in_the_guide() -> None:
    """Whoever's Traefik cannot be seen compares by hand."""
    guide = (Path(__file__).parents[3] / "docs" / "how-to" / "use-the-cli.md").read_text().lower()
    installation = Installation("s", settings={"PRIVATE_LLM_ENTRY_POINTS": "NAME"})

    for setting in wanted_settings(installation):
        name = re.sub(r"allowencoded\w+", "allowencoded*", setting.name)
        assert f"`{name}` | " in guide
