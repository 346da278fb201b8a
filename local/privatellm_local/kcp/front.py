"""The front: every request of every client, from its token to its answer."""

import asyncio
from typing import Any

import yaml
from aiohttp import web

from privatellm.kube import Manifest
from privatellm_local.kcp import answers, discovery, labels
from privatellm_local.kcp.access import (
    Identity,
    Reach,
    Tokens,
    accepted_claims,
    find_claim,
    selects,
)
from privatellm_local.kcp.faults import Faults, Rule
from privatellm_local.kcp.kinds import API_BINDING, API_EXPORT, API_RESOURCE_SCHEMA
from privatellm_local.kcp.names import ROOT, WILDCARD
from privatellm_local.kcp.registry import Registry
from privatellm_local.kcp.rewriting import Inward, outward, outward_list, outward_status
from privatellm_local.kcp.upstream import Upstream
from privatellm_local.kcp.urls import Export, Place, Resource, verb_of
from privatellm_local.kcp.views import Views

Answer = web.StreamResponse

_HEALTH = ("/livez", "/readyz")
_PASSED_THROUGH = ("version", "openapi", "healthz", "readyz", "livez")


class Front:
    """Answers as kcp would."""

    def __init__(
        self, upstream: Upstream, registry: Registry, tokens: Tokens, faults: Faults
    ) -> None:
        self._upstream = upstream
        self._registry = registry
        self._views = Views(registry)
        self._tokens = tokens
        self._faults = faults

    async def handle(self, request: web.Request) -> Answer:
        """Answer one request, after the faults had their chance."""
        path = request.path
        rule = self._faults.rule_for(request.method, path)
        if self._faults.down or (rule and not rule.status):
            if rule and rule.after:
                await self._answer(request, path)
            return _reset(request)
        if rule is not None:
            await asyncio.sleep(rule.delay)
            if rule.after:
                await self._answer(request, path)
            if rule.status != 200:  # noqa: PLR2004 - HTTP OK: only delayed
                return _refused_by(rule)
        return await self._answer(request, path)

    async def _answer(self, request: web.Request, path: str) -> Answer:
        if path in _HEALTH:  # As in kcp, nobody needs to say who they are to ask for it.
            is_well = path == "/livez" or self._registry.cluster_of(ROOT) is not None
            return web.Response(status=200 if is_well else 503, text="ok" if is_well else "no root")
        identity = self._tokens.identity(request.headers.get("Authorization", ""))
        if identity is None:
            return _refuse(401, "Unauthorized")
        if self._faults.prefix and path.startswith("/services/"):
            return web.Response(status=404, text="404 page not found")
        place = Place.parse(path.removeprefix(self._faults.prefix))
        if place is None:
            return _refuse(403, f'forbidden: User "{identity.name}" cannot get path "{path}"')
        if place.export is not None:
            return await self._in_virtual_workspace(request, identity, place, place.export)
        return await self._in_workspace(request, identity, place)

    async def _in_workspace(self, request: web.Request, identity: Identity, place: Place) -> Answer:
        cluster = self._registry.cluster_of(place.workspace)
        if cluster is None or not identity.may_use(self._registry.path_of(cluster)):
            return _refuse(403, f'User "{identity.name}" has no access to {place.workspace}')
        resource = Resource.parse(place.rest)
        kinds = self._views.in_workspace(cluster)
        if resource is None:
            return await self._other(request, place.rest, discovery.document(place.rest, kinds))
        if not self._views.serves(kinds, resource):
            return web.Response(status=404, text="404 page not found")
        return await self._forward(request, cluster, resource)

    async def _in_virtual_workspace(
        self, request: web.Request, identity: Identity, place: Place, export: Export
    ) -> Answer:
        if not place.workspace or ":" in place.workspace:
            return _refuse(403, "Path not resolved to a valid virtual workspace")
        found = self._registry.get(API_EXPORT, export.cluster, export.name)
        if found is None or not identity.may_serve(export, self._registry.path_of(export.cluster)):
            return _refuse(
                403, f'User "{identity.name}" has no access to the content of {export.name}'
            )
        resource = Resource.parse(place.rest)
        if resource is None:
            kinds = self._views.in_virtual_workspace(export)
            return await self._other(request, place.rest, discovery.document(place.rest, kinds))
        if place.workspace == WILDCARD:
            return await self._wildcard(request, export, resource)
        return await self._in_bound_cluster(request, place.workspace, export, found, resource)

    async def _in_bound_cluster(
        self,
        request: web.Request,
        cluster: str,
        export: Export,
        found: Manifest,
        resource: Resource,
    ) -> Answer:
        binding = self._registry.binding_in(cluster, export)
        verb = verb_of(request.method, resource, watching=_is_watch(request))
        if binding is None or not Reach(found, binding).allows(resource, verb):
            return _refuse(
                403,
                f"{resource.plural}.{resource.group} is forbidden: no access in cluster {cluster}",
            )
        claim = find_claim(accepted_claims(binding), resource)
        return await self._forward(request, cluster, resource, export=export, claim=claim)

    async def _wildcard(self, request: web.Request, export: Export, resource: Resource) -> Answer:
        if resource.namespace:
            return _refuse(400, "cross-cluster LIST and WATCH are required to be cross-namespace")
        if resource.name or request.method != "GET":
            return _refuse(404, "the server could not find the requested resource")
        selector = self._views.wildcard_selector(export, resource)
        if selector is None:
            return await self._not_served(request, resource)
        query = _with_selector(dict(request.query), selector)
        path = f"{resource.root}/{resource.plural}"
        if _is_watch(request):
            return await self._upstream.stream(request, path, query, outward, resource.plural)
        status, body = await self._upstream.ask("GET", path, query, None, "application/json")
        return _answer(status, outward_list(body) if status == 200 else body)  # noqa: PLR2004

    async def _not_served(self, request: web.Request, resource: Resource) -> Answer:
        """Answer for an API without any binding, as kcp's main branch or 0.32 does."""
        if self._faults.legacy_not_served:
            return _refuse(404, "the server could not find the requested resource")
        if _is_watch(request):
            return await self._upstream.silence(request, resource.plural)
        version = f"{resource.group}/{resource.version}" if resource.group else resource.version
        return web.json_response({"apiVersion": version, "kind": "List", "items": []})

    async def _forward(
        self,
        request: web.Request,
        cluster: str,
        resource: Resource,
        *,
        export: Export | None = None,
        claim: dict[str, Any] | None = None,
    ) -> Answer:
        inward = Inward(cluster, resource)
        query = _inward_query(dict(request.query), inward)
        if export is not None and (resource.group, resource.plural) == (
            "apis.kcp.io",
            "apibindings",
        ):
            query = _with_selector(
                query, f"{labels.EXPORT}={labels.export_hash(export.cluster, export.name)}"
            )
        elif export is not None and claim is not None and not resource.name:
            query = _with_selector(query, _claimed(export, claim))
        if _is_watch(request):
            path = inward.path()
            return await self._upstream.stream(request, path, query, outward, resource.plural)
        try:
            body = self._body(inward, request, await _read(request), claim)
        except PermissionError as error:
            return _refuse(403, str(error))
        except UnreadableError as error:
            return _refuse(error.code, str(error))
        if refusal := self._invalid(request.method, cluster, resource, body):
            return _refuse(422, refusal)
        content = request.headers.get("Content-Type", "application/json").split(";")[0]
        status, answer = await self._upstream.ask(
            request.method, inward.path(), query, body, content
        )
        return _answer(status, _outward(answer, status, cluster, resource))

    def _body(
        self, inward: Inward, request: web.Request, body: Any, claim: dict[str, Any] | None
    ) -> Any:
        if request.method in ("GET", "DELETE") or not isinstance(body, dict):
            return body
        content = request.headers.get("Content-Type", "")
        if request.method == "PATCH" and "apply-patch" not in content:
            return inward.partial(body)
        if claim is not None:
            body = _meeting(claim, body)
        return inward.whole(body, self._claim_labels(inward.cluster, inward.resource, body))

    def _claim_labels(self, cluster: str, resource: Resource, body: Manifest) -> dict[str, str]:
        """Return the labels with which exports reach an object that is written now."""
        found = (body.get("metadata") or {}).get("labels") or {}
        marks: dict[str, str] = {}
        for binding in self._registry.all(API_BINDING):
            if binding["metadata"]["annotations"][labels.KCP_CLUSTER] != cluster:
                continue
            export = self._registry.export_of(binding)
            claim = find_claim(accepted_claims(binding), resource)
            if export and claim and selects(claim, found):
                marks[labels.claim_key(export[0].cluster, export[0].name)] = labels.claim_value(
                    claim
                )
        return marks

    def _invalid(self, method: str, cluster: str, resource: Resource, body: Any) -> str:
        """Return why kcp's admission refuses a write, or nothing."""
        if method != "PUT" or resource.subresource or not isinstance(body, dict):
            return ""
        if (resource.group, resource.plural) == (
            API_RESOURCE_SCHEMA.group,
            API_RESOURCE_SCHEMA.plural,
        ):
            stored = self._registry.get(API_RESOURCE_SCHEMA, cluster, resource.name)
            if stored and stored.get("spec") != body.get("spec"):
                return "spec: Invalid value: Value is immutable"
        if (resource.group, resource.plural) == (API_BINDING.group, API_BINDING.plural):
            stored = self._registry.get(API_BINDING, cluster, resource.name)
            if stored and stored["spec"]["reference"] != body["spec"]["reference"]:
                return "spec.reference: Invalid value: APIExport reference must not be changed"
        return ""

    async def _other(self, request: web.Request, rest: str, document: Manifest | None) -> Answer:
        if document is not None:
            return web.json_response(document)
        if rest.split("/", 1)[0] in _PASSED_THROUGH:
            status, answer = await self._upstream.ask(
                "GET", f"/{rest}", dict(request.query), None, "application/json"
            )
            return _answer(status, answer)
        return web.Response(status=404, text="404 page not found")


def _meeting(claim: dict[str, Any], body: Manifest) -> Manifest:
    """Return an object that a claim's selector selects, as kcp's admission makes it."""
    wanted = (claim.get("selector") or {}).get("matchLabels") or {}
    metadata = body.get("metadata") or {}
    found = metadata.get("labels") or {}
    for key, value in wanted.items():
        if found.get(key, value) != value:
            raise PermissionError(f"label {key}={found[key]} conflicts with the claim's selector")
    return body | {"metadata": metadata | {"labels": found | wanted}}


def _claimed(export: Export, claim: dict[str, Any]) -> str:
    return f"{labels.claim_key(export.cluster, export.name)}={labels.claim_value(claim)}"


def _inward_query(query: dict[str, str], inward: Inward) -> dict[str, str]:
    if "fieldSelector" in query:
        query["fieldSelector"] = inward.field_selector(query["fieldSelector"])
    if inward.resource.name:
        return query
    return _with_selector(query, f"{labels.CLUSTER}={inward.cluster}")


def _with_selector(query: dict[str, str], selector: str) -> dict[str, str]:
    given = query.get("labelSelector", "")
    return query | {"labelSelector": f"{given},{selector}" if given else selector}


def _outward(answer: Any, status: int, cluster: str, resource: Resource) -> Any:
    if not isinstance(answer, dict):
        return answer
    if status >= 400:  # noqa: PLR2004 - the first HTTP error status
        return outward_status(answer, cluster, resource)
    return outward_list(answer) if "items" in answer else outward(answer)


class UnreadableError(ValueError):
    """What a client sent cannot be read; carries the HTTP status of the refusal."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def _read(request: web.Request) -> Any:
    """Return what a client sent, as JSON or YAML.

    Raises:
        UnreadableError: when it is neither.
    """
    if request.content_type.endswith(("protobuf", "cbor")):
        raise UnreadableError(
            415,
            f"This double of kcp reads JSON and YAML, not {request.content_type}. With kubectl, write the "
            "object into a file and apply that.",
        )
    try:
        text = await request.text()
        return yaml.safe_load(text) if text else None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UnreadableError(
            400, f"The body cannot be read: {' '.join(str(error).split())}"
        ) from error


def _is_watch(request: web.Request) -> bool:
    return request.query.get("watch", "") in ("true", "1")


def _answer(status: int, body: Any) -> web.Response:
    if isinstance(body, str):
        return web.Response(status=status, text=body)
    return web.json_response(body, status=status)


def _refuse(code: int, message: str) -> web.Response:
    return web.json_response(answers.status(code, message), status=code)


def _refused_by(rule: Rule) -> web.Response:
    headers = {"Retry-After": str(rule.retry_after)} if rule.retry_after >= 0 else {}
    body = answers.status(rule.status, "injected fault")
    return web.json_response(body, status=rule.status, headers=headers)


def _reset(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)
