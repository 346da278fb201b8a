"""The operator's passes over instances, as tests drive them over a real API server.

A pass here starts with a fresh list of what is watched, so a test decides what the operator has seen and
needs no watch. A new :class:`InstanceOperator` is an operator that was restarted.
"""

from typing import Any

from operator_objects import model_manifest
from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.reconcile.instance.reconciler import InstanceReconciler
from privatellm_operator.reconcile.platform.middlewares import MiddlewareReconciler
from privatellm_operator.settings import PodSettings, PublicSettings, Settings
from privatellm_operator.world.cache import World
from privatellm_operator.world.routing import platform_key
from privatellm_operator.world.watched import CHILDREN

MODEL = "tiny-for-tests"
HOST = "llm.example.com"


class Revocations:
    """Remembers whose keys were ended, and can refuse to end any."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.failure: Exception | None = None

    async def revoke_instance(self, instance_uid: str) -> None:
        """Take note, or fail as the test wants."""
        if self.failure is not None:
            raise self.failure
        self.ended.append(instance_uid)


class InstanceOperator:
    """The passes over instances and middlewares with what they need."""

    def __init__(self, client: KubeClient, system_namespace: str, **groups: Any) -> None:
        self.client = client
        self.world = World()
        self.revocations = Revocations()
        chosen = {
            "public": PublicSettings(host=HOST),
            "pod": PodSettings(namespace=system_namespace),
        } | groups
        context = ProcessContext(
            client=client,
            settings=Settings(**chosen),
            platform_key=PlatformKey.of("a platform key of the tests, long enough"),
            world=self.world,
            queue=WorkQueue(),
        )
        self._platform = platform_key(system_namespace)
        self._instances = InstanceReconciler(context, self.revocations)
        self._middlewares = MiddlewareReconciler(context)

    async def look(self) -> None:
        """Bring the picture up to date, as watches do."""
        for kind in self.world.kinds:
            store = self.world[kind]
            store.replace(await self.client.list(kind, labels=store.watching.selector))

    async def reconcile(self, namespace: str, name: str) -> float | None:
        """Look at the cluster and do one pass over an instance."""
        await self.look()
        return await self.without_looking(namespace, name)

    async def without_looking(self, namespace: str, name: str) -> float | None:
        """Do one pass over an instance with the picture as it is."""
        return await self._instances.reconcile(Key(kinds.LLM_INSTANCE, namespace, name))

    async def equip(self) -> None:
        """Do one pass over the shared middlewares."""
        await self.look()
        await self._middlewares.reconcile(self._platform)


def order(namespace: str, name: str = "chat", **spec: Any) -> Manifest:
    """Return an LLMInstance of the tests' model, stopped unless the test says otherwise."""
    return {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": "LLMInstance",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"model": MODEL, "replicas": 0} | spec,
    }


def catalogue_entry(name: str = MODEL, **spec: Any) -> Manifest:
    """Return an LLMModel to create."""
    manifest = model_manifest(name, **spec)
    return manifest | {"metadata": {"name": name}}


async def children_of(client: KubeClient, namespace: str) -> dict[str, Manifest]:
    """Return what a pass left in a namespace, without what differs between two runs of the same life."""
    found: dict[str, Manifest] = {}
    for watching in CHILDREN:
        listing = await client.list(watching.kind, namespace, labels=watching.selector)
        for child in listing.items:
            metadata = child["metadata"]
            kept = {key: metadata.get(key) for key in ("labels", "annotations")}
            owners = [owner["name"] for owner in metadata.get("ownerReferences", [])]
            name = f"{watching.kind.name} {metadata['name']}"
            found[name] = {"metadata": kept, "owners": owners, "spec": child.get("spec")}
    return found
