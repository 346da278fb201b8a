"""Objects for tests of the operator, with everything but the point left out."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.kube import kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.reconcile.instance.facts import EdgeFacts, InstanceWorld
from privatellm_operator.render.children import build_all
from privatellm_operator.render.instance import InstanceFacts
from privatellm_operator.render.middlewares import chain_name
from privatellm_operator.settings import PublicSettings, Settings

Manifest = dict[str, Any]

NOW = datetime(2026, 11, 30, 9, 0, 0, tzinfo=UTC)
UID = "11111111-2222-3333-4444-555555555555"
BACKEND_KEY = "b" * 64


def settings(**groups: Any) -> Settings:
    """Return settings of a platform at llm.example.com."""
    return Settings(**({"public": PublicSettings(host="llm.example.com")} | groups))


def instance_manifest(
    name: str = "chat", *, namespace: str = "acme", uid: str = UID, **spec: Any
) -> Manifest:
    """Return a stored LLMInstance."""
    return {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": "LLMInstance",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "generation": 1,
            "resourceVersion": "100",
            "creationTimestamp": "2026-11-30T08:00:00Z",
        },
        "spec": {"model": "tinyllama", "replicas": 1} | spec,
    }


def instance(name: str = "chat", **arguments: Any) -> LLMInstance:
    """Return a parsed LLMInstance."""
    return LLMInstance.parse(instance_manifest(name, **arguments))


def model_manifest(name: str = "tinyllama", **spec: Any) -> Manifest:
    """Return a stored LLMModel."""
    source = {"huggingFace": {"repo": "owner/repo", "file": "model.gguf", "revision": "abc"}}
    return {
        "apiVersion": kinds.LLM_MODEL.api_version,
        "kind": "LLMModel",
        "metadata": {"name": name, "uid": "model-uid", "resourceVersion": "7"},
        "spec": {"source": source} | spec,
    }


def model(name: str = "tinyllama", **spec: Any) -> LLMModel:
    """Return a parsed LLMModel."""
    return LLMModel.parse(model_manifest(name, **spec))


def facts(
    ordered: LLMInstance | None = None,
    served: LLMModel | None = None,
    chosen: Settings | None = None,
) -> InstanceFacts:
    """Return what children are built from."""
    return InstanceFacts(
        ordered or instance(), served or model(), chosen or settings(), BACKEND_KEY
    )


def stored(manifest: Manifest, *, uid: str = "", version: int = 200) -> Manifest:
    """Return a manifest as the API server would give it back."""
    metadata = manifest["metadata"]
    return manifest | {
        "metadata": metadata
        | {"uid": uid or f"uid-of-{manifest['kind']}", "resourceVersion": str(version)}
    }


def children(of: InstanceFacts) -> dict[tuple[Kind, str], Manifest]:
    """Return all children of an instance as they are stored after a pass."""
    return {
        (kinds.kind_of(manifest), manifest["metadata"]["name"]): stored(manifest)
        for manifest in build_all(of)
    }


def world(  # noqa: PLR0913 - a world has many sides
    ordered: LLMInstance | None = None,
    *,
    served: LLMModel | None = None,
    known: bool = True,
    model_fault: str = "",
    live: Mapping[tuple[Kind, str], Manifest] | None = None,
    pods: Iterable[Manifest] = (),
    traefik: bool = True,
    middlewares: Iterable[str] | None = None,
    older: int = 0,
) -> InstanceWorld:
    """Return what a pass gathered; by default an accepted order of which nothing exists yet."""
    chosen = (served or model()) if known else None
    chains = {chain_name(chosen or model())} if middlewares is None else set(middlewares)
    return InstanceWorld(
        instance=ordered or instance(),
        model=chosen,
        model_fault=model_fault,
        children=dict(live or {}),
        pods=tuple(pods),
        edge=EdgeFacts(traefik_defined=traefik, middlewares=frozenset(chains)),
        older_siblings=older,
        now=NOW,
    )


def with_deployment_status(
    live: dict[tuple[Kind, str], Manifest], **status: Any
) -> dict[tuple[Kind, str], Manifest]:
    """Return the children with a status on the Deployment."""
    return {
        name: child | {"status": status} if name[0] is kinds.DEPLOYMENT else child
        for name, child in live.items()
    }


def rolled_out(replicas: int) -> dict[str, int]:
    """Return the status of a Deployment whose pods all answer."""
    counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    return dict.fromkeys(counts, replicas) | {"observedGeneration": 1}


def pod(
    name: str = "chat-llama-1",
    *,
    init: Manifest | None = None,
    server: Manifest | None = None,
    **status: Any,
) -> Manifest:
    """Return a pod of an instance.

    Args:
        name: Its name.
        init: Fields of the fetcher's container status.
        server: Fields of the server's container status.
        status: Further fields of the pod's status.
    """
    statuses: Manifest = {}
    if init is not None:
        statuses["initContainerStatuses"] = [{"name": "fetch-model", "image": "fetcher"} | init]
    if server is not None:
        statuses["containerStatuses"] = [{"name": "llama-server", "image": "server"} | server]
    return {"metadata": {"name": name, "namespace": "acme"}, "status": statuses | status}
