"""One pass over one PublishedResource: read it, judge it, publish its schema, and say what became of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from privatellm.errors import InvalidInputError, InvalidObjectError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from privatellm_sync_agent.controllers import conditions
from privatellm_sync_agent.controllers.conditions import Verdict
from privatellm_sync_agent.controllers.schemas import ensure_schema
from privatellm_sync_agent.engine.events import EventRecorder, Reason
from privatellm_sync_agent.engine.obstacles import takes_conditions
from privatellm_sync_agent.engine.publication import Publication, RelatedRule
from privatellm_sync_agent.engine.store import Store
from privatellm_sync_agent.kcp.kinds import find_kind
from privatellm_sync_agent.projection import definitions
from privatellm_sync_agent.projection.definitions import ProjectionError
from privatellm_sync_agent.projection.exports import Published
from privatellm_sync_agent.projection.schemas import schema_of
from privatellm_sync_agent.published import spec as specs
from privatellm_sync_agent.published.deletion import waits_for_others
from privatellm_sync_agent.published.onboarding import Grant, grants_of
from privatellm_sync_agent.published.refusals import refusals
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE, PublishedResourceSpec, Scope
from privatellm_sync_agent.related.guards import Guard, guards_of

log = structlog.get_logger(__name__)

DEFINITION_MISSING_SECONDS = 60.0


class RefusedError(InvalidInputError):
    """The PublishedResource cannot be published; carries the reason for its condition."""

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Wish:
    """What a PublishedResource asks for: upstream's fields, and our annotations beside them."""

    spec: PublishedResourceSpec
    guards: dict[str, Guard]
    grants: tuple[Grant, ...]
    waits_for_others: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a PublishedResource leads to."""

    published: Published
    publication: Publication | None


@dataclass(slots=True)
class Publisher:
    """Publishes single resources.

    Attributes:
        service: Client for the service cluster.
        kcp: Client for the workspace of the export.
        agent: Name of this agent.
        definitions: Names and groups of all CustomResourceDefinitions.
        recorder: For events on PublishedResources.
        endpoints: Clients for the virtual workspaces, to learn kinds that only they serve.
        holder: Names the PublishedResource that publishes an API already.
        writes_schemas: Whether schemas are created; otherwise they must exist.
        clock: Tells the time of a condition's transition.
    """

    service: KubeClient
    kcp: KubeClient
    agent: str
    definitions: Store
    recorder: EventRecorder
    endpoints: Callable[[], Iterable[KubeClient]]
    holder: Callable[[Published], str]
    writes_schemas: bool = True
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _keeps_conditions: bool = True

    async def publish(self, manifest: Manifest) -> Outcome:
        """Publish one resource.

        Raises:
            RefusedError: when it cannot be; its condition and an event say so already.
            KubernetesError: when a request failed; try again.
        """
        try:
            wish = _judged(manifest)
            crd = await self._definition(wish.spec)
            outcome = await self._publish(manifest, wish, crd)
        except RefusedError as refusal:
            await self._say(manifest, refusal.verdict, str(refusal))
            self.recorder.tell(self.service, manifest, Reason.FAILED, str(refusal))
            raise
        await self._say(
            manifest, Verdict.PUBLISHED, "The API is published.", outcome.published.schema
        )
        return outcome

    async def _definition(self, spec: PublishedResourceSpec) -> Manifest:
        group, kind = spec.resource.api_group, spec.resource.kind
        for known in self.definitions:
            if (known["spec"]["group"], known["spec"]["names"]["kind"]) == (group, kind):
                name = known["metadata"]["name"]
                crd = await self.service.get(CUSTOM_RESOURCE_DEFINITION, name)
                if crd is not None:
                    return crd
        raise RefusedError(
            Verdict.DEFINITION_MISSING,
            f"No CustomResourceDefinition has the kind {kind} of the group {group}. Install it, or "
            "correct spec.resource; APIs without a definition cannot be published.",
        )

    async def _publish(self, manifest: Manifest, wish: Wish, crd: Manifest) -> Outcome:
        spec = wish.spec
        try:
            definition = definitions.projected(crd, spec)
        except ProjectionError as error:
            raise RefusedError(Verdict.INVALID, str(error)) from error
        generation = int(crd["metadata"].get("generation", 0))
        schema = schema_of(definition, self.agent, generation)
        published = Published(spec, schema["metadata"]["name"])
        holder = self.holder(published)
        if holder not in ("", manifest["metadata"]["name"]):
            raise RefusedError(
                Verdict.CONFLICT,
                f"{published.resource}.{published.group} is published by {holder} already; delete one "
                "of both or project this one to another name.",
            )
        if self.writes_schemas:
            await ensure_schema(self.kcp, schema)
        if not spec.synchronization.enabled:
            return Outcome(published, None)
        version = definitions.local_version(crd, spec)
        publication = Publication(
            name=manifest["metadata"]["name"],
            spec=spec,
            agent=self.agent,
            remote=_remote_kind(definition),
            local=_local_kind(crd, version["name"]),
            has_status="status" in (version.get("subresources") or {}),
            has_conditions=takes_conditions(version),
            related=await self._related(spec, wish.guards),
            grants=wish.grants,
            waits_for_others=wish.waits_for_others,
        )
        return Outcome(published, publication)

    async def _related(
        self, spec: PublishedResourceSpec, guards: dict[str, Guard]
    ) -> tuple[RelatedRule, ...]:
        return tuple(
            [
                RelatedRule(
                    related,
                    guards.get(related.identifier, Guard()),
                    await self._kind(related.origin_resource),
                    await self._kind(related.destination_resource),
                )
                for related in spec.related
            ]
        )

    async def _kind(self, resource: tuple[str, str, str]) -> Kind:
        return await find_kind((self.service, *self.endpoints()), resource)

    async def _say(
        self, manifest: Manifest, verdict: Verdict, message: str, schema: str | None = None
    ) -> None:
        status = manifest.get("status") or {}
        wanted = {"resourceSchemaName": schema or status.get("resourceSchemaName")}
        if self._keeps_conditions:
            metadata = manifest["metadata"]
            wanted["conditions"] = conditions.accepted(
                status.get("conditions") or [],
                verdict,
                message,
                int(metadata.get("generation", 0)),
                self.clock(),
            )
        changed = {key: value for key, value in wanted.items() if status.get(key) != value}
        if not changed:
            return
        name = manifest["metadata"]["name"]
        answer = await self.service.patch(
            PUBLISHED_RESOURCE, name, None, {"status": changed}, subresource="status"
        )
        # Upstream's definition prunes conditions; then they are written once and never again.
        self._keeps_conditions = "conditions" in (answer.get("status") or {})


def definition_names(crd: Manifest) -> Manifest:
    """Return of a CustomResourceDefinition what tells which kind it defines; schemas are large."""
    spec = crd["spec"]
    names = {"kind": spec["names"]["kind"], "plural": spec["names"]["plural"]}
    metadata = {
        key: crd["metadata"][key] for key in ("name", "uid", "resourceVersion", "generation")
    }
    return {
        "apiVersion": CUSTOM_RESOURCE_DEFINITION.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITION.name,
        "metadata": metadata,
        "spec": {"group": spec["group"], "names": names},
    }


def _judged(manifest: Manifest) -> Wish:
    try:
        wish = Wish(
            spec=specs.parse(manifest),
            guards=guards_of(manifest),
            grants=grants_of(manifest),
            waits_for_others=waits_for_others(manifest),
        )
    except InvalidObjectError as error:
        raise RefusedError(Verdict.INVALID, str(error)) from error
    if reasons := refusals(wish.spec):
        raise RefusedError(Verdict.UNSUPPORTED, " ".join(reasons))
    return wish


def _remote_kind(definition: dict[str, object]) -> Kind:
    names = definition["names"]
    assert isinstance(names, dict)  # noqa: S101 - the API server validated the definition
    return Kind(
        str(definition["group"]),
        str(definitions.storage_version(definition)["name"]),
        names["kind"],
        names["plural"],
        definition["scope"] == Scope.NAMESPACED,
    )


def _local_kind(crd: Manifest, version: str) -> Kind:
    spec = crd["spec"]
    names = spec["names"]
    namespaced = spec["scope"] == Scope.NAMESPACED
    return Kind(spec["group"], version, names["kind"], names["plural"], namespaced)
