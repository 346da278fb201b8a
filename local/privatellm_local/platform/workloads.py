"""The Deployments of the operator and of the ForwardAuth service, and the Service in front of it."""

from typing import Any

from privatellm import labels
from privatellm_local.platform import pods
from privatellm_local.platform.facts import (
    ADMIN_PORT,
    AUTHSERVER,
    AUTHSERVER_IMAGE,
    CATALOGUE,
    METRICS_PORT,
    OPERATOR,
    OPERATOR_IMAGE,
    PLATFORM_KEY,
    SERVER_IMAGE,
    TOKEN_NAMESPACE,
    VERIFY_PORT,
    PlatformFacts,
)

Manifest = dict[str, Any]

KEY_DIRECTORY = "/platform-key"
KEY_FILE = f"{KEY_DIRECTORY}/platform-key"
CATALOGUE_DIRECTORY = "/catalogue"


def workloads(facts: PlatformFacts) -> tuple[Manifest, ...]:
    """Return the Deployments and the Service with its fixed address."""
    return (_operator(facts), _authserver(facts), _auth_service(facts))


def _operator(facts: PlatformFacts) -> Manifest:
    environment = _common_environment(facts) | {
        "PUBLIC_SCHEME": facts.public_scheme,
        "PRIVATE_LLM_AUTH_ADDRESS": f"http://{facts.auth_address}:{VERIFY_PORT}",
        "PRIVATE_LLM_INGRESS_CLASS": facts.ingress_class,
        "PRIVATE_LLM_ENTRY_POINTS": ",".join(facts.entry_points),
        "PRIVATE_LLM_SERVER_IMAGE": SERVER_IMAGE,
        "PRIVATE_LLM_FETCHER_IMAGE": OPERATOR_IMAGE,
        "PRIVATE_LLM_CATALOGUE_DIRECTORY": CATALOGUE_DIRECTORY,
        "PRIVATE_LLM_METRICS_PORT": str(METRICS_PORT),
        # Who tries this out wants to see it, and there are few keys and servers.
        "PRIVATE_LLM_LAST_USE_SECONDS": "10",
        "PRIVATE_LLM_MODEL_METRICS_SECONDS": "10",
        # The demo's model is a file of this machine; a real platform keeps this off.
        "PRIVATE_LLM_ALLOW_FILE_SOURCES": "true",
    }
    catalogue = {"name": "catalogue", "configMap": {"name": CATALOGUE}}
    container = _container(OPERATOR_IMAGE, environment, {"metrics": METRICS_PORT}, METRICS_PORT)
    container["volumeMounts"].append({"name": "catalogue", "mountPath": CATALOGUE_DIRECTORY})
    return _deployment(OPERATOR, container, catalogue)


def _authserver(facts: PlatformFacts) -> Manifest:
    environment = _common_environment(facts) | {
        "PRIVATE_LLM_VERIFY_PORT": str(VERIFY_PORT),
        "PRIVATE_LLM_ADMIN_PORT": str(ADMIN_PORT),
        "PRIVATE_LLM_WORKERS": "1",
    }
    ports = {"verify": VERIFY_PORT, "admin": ADMIN_PORT}
    return _deployment(AUTHSERVER, _container(AUTHSERVER_IMAGE, environment, ports, ADMIN_PORT))


def _auth_service(facts: PlatformFacts) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": pods.metadata(AUTHSERVER),
        "spec": {
            "clusterIP": str(facts.auth_address),
            "selector": {labels.NAME: AUTHSERVER},
            "ports": [
                {"name": "verify", "port": VERIFY_PORT, "targetPort": "verify"},
                {"name": "admin", "port": ADMIN_PORT, "targetPort": "admin"},
            ],
        },
    }


def _common_environment(facts: PlatformFacts) -> dict[str, str]:
    return {
        "PUBLIC_HOST": facts.public_host,
        "PRIVATE_LLM_TOKEN_NAMESPACE": TOKEN_NAMESPACE,
        "PRIVATE_LLM_PLATFORM_KEY_FILE": KEY_FILE,
        # Every listener stays on the pod's own loopback address.
        "PRIVATE_LLM_BIND_HOST": "$(POD_IP)",
    }


def _container(
    image: str, environment: dict[str, str], ports: dict[str, int], health_port: int
) -> Manifest:
    variables = [
        pods.from_pod("POD_IP", "status.podIP"),
        pods.from_pod("POD_NAMESPACE", "metadata.namespace"),
        pods.from_pod("POD_NAME", "metadata.name"),
        *({"name": name, "value": value} for name, value in environment.items()),
    ]
    key = {"name": "platform-key", "mountPath": KEY_DIRECTORY, "readOnly": True}
    return pods.container(image, ports, health_port, key) | {"env": variables}


def _deployment(name: str, container: Manifest, *volumes: Manifest) -> Manifest:
    key = {"name": "platform-key", "secret": {"secretName": PLATFORM_KEY, "defaultMode": 0o440}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": pods.metadata(name),
        "spec": {
            # Said outright, so that applying it again brings back what was scaled to nothing.
            "replicas": 1,
            "selector": {"matchLabels": {labels.NAME: name}},
            "template": {
                "metadata": {"labels": pods.marks(name)},
                "spec": pods.pod(name, container, key, *volumes),
            },
        },
    }
