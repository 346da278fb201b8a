"""The API server accepts every object that the chart can render, to the last field."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from chart_helm import CHART, Manifest
from chart_release import Release, kubectl
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(300)]

NOT_HERE = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}
"""Kinds of the Prometheus operator, which no embedded cluster has."""

POD: dict[str, Any] = {
    "podAnnotations": {"note": "yes"},
    "podLabels": {"team": "platform"},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "priorityClassName": "system-cluster-critical",
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ],
}

EVERYTHING: dict[str, Any] = {
    "PUBLIC_HOST": "llm.example.com",
    "tls": {"secretName": "public-tls"},
    "imagePullSecrets": [{"name": "pull"}],
    "extraEnv": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    "operator": {**POD, "replicas": 2},
    "authserver": {
        **POD,
        "service": {"clusterIP": "", "annotations": {"a": "b"}},
        "podDisruptionBudget": {"minAvailable": "50%"},
        "extraEnv": [{"name": "A", "value": "1"}],
    },
    "traefik": {
        **POD,
        "replicas": 2,
        "ingressClass": {"name": "another-class"},
        "service": {"type": "NodePort", "annotations": {"a": "b"}},
    },
    "extraCA": {"configMapName": "bundle"},
    "proxy": {"https": "http://proxy.example:3128", "exceptions": [".example"]},
    "metrics": {
        "serviceMonitor": {"enabled": True},
        "alerts": {"enabled": True},
        "dashboards": {"enabled": True},
    },
    "otel": {"endpoint": "https://otel.example:4317", "headersSecret": {"name": "otel"}},
    "server": {"nodeClasses": {"gpu": {"nodeSelector": {"gpu": "yes"}}}},
    "catalogue": {"models": {"mine": {"source": {"url": "https://hub.example/mine.gguf"}}}},
}

CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything": EVERYTHING,
    "openshift": yaml.safe_load((CHART / "presets" / "openshift.yaml").read_text()),
    "watching some namespaces": {
        "watch": {"namespaces": ["default"]},
        "rbac": {"secretsInAllNamespaces": True},
    },
    "one of two releases": {
        "crds": {"enabled": False},
        "catalogue": {"enabled": False},
        "watch": {"namespaces": ["default"]},
        "onboardedNamespaces": ["default"],
        "tokens": {"namespace": "dry-run-tokens", "createNamespace": False},
        "traefik": {"enabled": False},
        "admissionPolicies": {"furtherOperators": ["system:serviceaccount:a:private-llm-operator"]},
    },
    "highly available behind a Traefik of the platform's": {
        "PUBLIC_HOST": "llm.example.com",
        "operator": {"replicas": 2},
        "authserver": {"replicas": None, "podDisruptionBudget": {"minAvailable": 2}},
        "traefik": {"enabled": False},
        "edge": {"namespaces": ["ingress"], "trustedProxies": 1},
        "platformKey": {"existingSecret": "mine"},
    },
    "a disconnected site": {
        "PUBLIC_HOST": "llm.site.example",
        "global": {
            "imageRegistry": "registry.site.example:5000",
            "imagePullSecrets": [{"name": "site"}],
        },
        "imagePullSecrets": [{"name": "site"}],
        "server": {"mirror": "https://hub.site.example", "imagePullSecrets": [{"name": "site"}]},
        "extraCA": {"configMapName": "site-ca"},
        "catalogue": {"defaults": False},
    },
    "variables of ours that are given": {
        "extraEnv": [{"name": "NO_PROXY", "value": ".corp"}, {"name": "POD_IP", "value": "::1"}],
        "proxy": {"http": "http://proxy.example:3128", "https": "http://proxy.example:3128"},
    },
    "neither policies nor rights of people": {
        "admissionPolicies": {"enabled": False},
        "networkPolicies": {"enabled": False},
        "rbac": {"aggregateRoles": False},
        "authserver": {"replicas": 1},
    },
    "addresses of six": {
        "PUBLIC_HOST": "[fd00::1]:8443",
        "PUBLIC_SCHEME": "https",
        "bindHost": "::",
        "portal": {"enabled": True},
    },
    "portal": {"portal": {**POD, "enabled": True, "replicas": 2, "ingressAnnotations": {"a": "b"}}},
    "no peers": {"edge": {"namespaces": []}, "metrics": {"scraperNamespaces": []}},
}


@pytest.fixture
async def namespaces(client: KubeClient) -> None:
    """The namespaces that a dry run cannot make."""
    for name in ("dry-run", "dry-run-tokens"):
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.apply(kinds.NAMESPACE, manifest, field_manager="tests")


def here(objects: tuple[Manifest, ...]) -> list[Manifest]:
    """Leave out what this cluster has no kind for."""
    return [item for item in objects if item["kind"] not in NOT_HERE]


@pytest.mark.parametrize("values", CASES.values(), ids=CASES.keys())
async def test_the_api_server_accepts_every_object(
    release: Release, kubeconfig: Path, namespaces: None, values: dict[str, Any]
) -> None:
    """Unknown fields are errors, and expressions of admission policies are compiled."""
    objects = here(release.helm.template(values, namespace="dry-run"))

    answer = await kubectl(
        kubeconfig,
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        *("--force-conflicts", "--field-manager=dry-run"),
        objects=objects,
    )

    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == len(objects)


async def test_the_chart_fits_the_restricted_pod_security(
    release: Release, kubeconfig: Path, client: KubeClient
) -> None:
    """A namespace that warns of everything else stays silent."""
    label = {"pod-security.kubernetes.io/warn": "restricted"}
    metadata = {"name": "dry-run-restricted", "labels": label}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    await client.apply(kinds.NAMESPACE, manifest, field_manager="tests")
    values = {"portal": {"enabled": True}}
    objects = release.helm.template(values, namespace="dry-run-restricted")
    deployments = [item for item in objects if item["kind"] == "Deployment"]

    answer = await kubectl(
        kubeconfig,
        *("apply", "--server-side", "--dry-run=server", "-f", "-"),
        objects=deployments,
    )

    assert len(deployments) == 4
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
