"""Read everything that one decision needs; write nothing.

All of it is watched, so a pass over a settled world costs no request. The one exception are objects of
others under our children's names: nobody tells us when they go, so they are looked at again.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.errors import InvalidObjectError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import backend_key_name, child_name, claim_name, label_value
from privatellm_operator.fetches import FetchProgress, ProgressBoard
from privatellm_operator.reconcile.instance.facts import (
    ChildName,
    ClaimFacts,
    EdgeFacts,
    InstanceWorld,
)
from privatellm_operator.reconcile.restoring import Answers
from privatellm_operator.render.cache import has_own_claim
from privatellm_operator.render.placement import misplaced
from privatellm_operator.render.server import overreaching
from privatellm_operator.render.source import weights_of
from privatellm_operator.settings import Settings
from privatellm_operator.world import watched
from privatellm_operator.world.cache import World
from privatellm_operator.world.watched import belongs_to, in_namespace

CHILD_KINDS = tuple(watching.kind for watching in watched.CHILDREN)


class InstanceGatherer:
    """Reads the world around one instance."""

    def __init__(
        self,
        client: KubeClient,
        world: World,
        settings: Settings,
        board: ProgressBoard,
        answers: Answers,
    ) -> None:
        self._client = client
        self._world = world
        self._caps = settings.caps
        self._cache = settings.cache
        self._servers = settings.servers
        self._board = board
        self._answers = answers

    async def gather(self, namespace: str, name: str, now: datetime) -> InstanceWorld | None:
        """Return the world around an instance; ``None`` when the instance is gone.

        Raises:
            InvalidObjectError: when the stored instance does not fit its type.
            KubernetesError: when the API server does not answer.
        """
        manifest = self._world[kinds.LLM_INSTANCE].get(namespace, name)
        if manifest is None:
            return None
        instance = LLMInstance.parse(manifest)
        model, fault = self._model(instance.spec.model)
        leaves = self._world.namespace_leaves(namespace)
        pods = self._world[kinds.POD].find(in_namespace(namespace, label_value(name)))
        # What ends asks nobody: the right to look may have gone with its namespace already.
        ends = instance.metadata.is_deleting or leaves
        children = await self._children(instance, asks=not ends)
        return InstanceWorld(
            instance=instance,
            model=model,
            model_fault=fault,
            children=children,
            pods=pods,
            edge=self._edge(),
            older_siblings=self._older_siblings(instance),
            now=now,
            claim=self._claim(namespace, model),
            progress=self._progress(pods),
            leaving=frozenset(n for n, live in children.items() if self._leaves(live)),
            answers=dict(self._odd_answers(children)),
            namespace_leaves=leaves,
        )

    async def look_at(self, instance: LLMInstance, kind: Kind, name: str) -> Manifest | None:
        """Ask the API server about a child and take note of the answer."""
        namespace = instance.metadata.namespace
        live = await self._client.get(kind, name, namespace)
        self._world[kind].correct(namespace, name, live)
        return self._world[kind].get(namespace, name)

    async def look_around(self, instance: LLMInstance) -> None:
        """Ask about everything that could have a child's name and is not known to be the child.

        One object that is met by surprise is seldom alone.
        """
        namespace, uid = instance.metadata.namespace, instance.metadata.uid
        for kind, name in _names(instance):
            known = self._world[kind].get(namespace, name)
            if known is None or not belongs_to(known, uid):
                await self.look_at(instance, kind, name)

    def _model(self, name: str) -> tuple[LLMModel | None, str]:
        manifest = self._world[kinds.LLM_MODEL].get("", name)
        if manifest is None:
            return None, ""
        try:
            model = LLMModel.parse(manifest)
        except InvalidObjectError as error:
            return None, str(error)
        fault = misplaced(model, self._servers) or overreaching(model)
        return (None, fault) if fault else (model, "")

    async def _children(self, instance: LLMInstance, *, asks: bool) -> dict[ChildName, Manifest]:
        metadata = instance.metadata
        owned: dict[ChildName, Manifest] = {
            (kind, child["metadata"]["name"]): child
            for kind in CHILD_KINDS
            for child in self._world[kind].find(metadata.uid)
            if child["metadata"]["namespace"] == metadata.namespace
        }
        for kind, name in _names(instance):
            known = owned.get((kind, name)) or self._world[kind].get(metadata.namespace, name)
            if asks and known is not None and not belongs_to(known, metadata.uid):
                known = await self.look_at(instance, kind, name)
            if known is not None:
                owned[kind, name] = known
        return owned

    def _leaves(self, live: Manifest) -> bool:
        """Say whether an object goes by itself: it is being deleted, or only gone instances own it."""
        owners = live["metadata"].get("ownerReferences") or ()
        is_orphan = bool(owners) and all(self._is_gone(owner) for owner in owners)
        return is_orphan or bool(live["metadata"].get("deletionTimestamp"))

    def _is_gone(self, owner: Manifest) -> bool:
        ours = kinds.LLM_INSTANCE
        if (owner["apiVersion"], owner["kind"]) != (ours.api_version, ours.name):
            return False
        found = self._world[ours].find(owner["uid"])
        return all(instance["metadata"].get("deletionTimestamp") for instance in found)

    def _odd_answers(
        self, children: Mapping[ChildName, Manifest]
    ) -> Iterator[tuple[ChildName, str]]:
        for (kind, name), live in children.items():
            if (print_ := self._answers.of(kind, live)) is not None:
                yield (kind, name), print_

    def _claim(self, namespace: str, model: LLMModel | None) -> ClaimFacts | None:
        if model is None or not has_own_claim(model, self._cache):
            return None
        name = claim_name(weights_of(model))
        return ClaimFacts(name, self._world[kinds.PERSISTENT_VOLUME_CLAIM].get(namespace, name))

    def _progress(self, pods: Iterable[Manifest]) -> FetchProgress | None:
        """Return the first known progress; with several pods people see one of them."""
        shown = (self._board.get(pod["metadata"]["uid"]) for pod in pods)
        return next((progress for progress in shown if progress is not None), None)

    def _edge(self) -> EdgeFacts:
        store = self._world[kinds.MIDDLEWARE]
        return EdgeFacts(
            traefik_defined=self._world.is_defined(kinds.MIDDLEWARE),
            middlewares=frozenset(m["metadata"]["name"] for m in store.all()),
        )

    def _older_siblings(self, instance: LLMInstance) -> int:
        if self._caps.max_instances is None:
            return 0
        return self._world[kinds.LLM_INSTANCE].older_siblings(instance.metadata)


def _names(instance: LLMInstance) -> Iterable[ChildName]:
    child, key = child_name(instance.metadata.name), backend_key_name(instance.metadata.name)
    return [(kind, key if kind is kinds.SECRET else child) for kind in CHILD_KINDS]
