"""The fault port: the double's faults over HTTP, for those who run it as a process of its own.

``POST /rules`` adds a rule (the fields of :class:`~privatellm_local.kcp.faults.Rule` as JSON).
``POST /blows`` hits open watches (``blow``, ``path``, ``plural``).
``PUT /state`` sets ``down``, ``prefix``, ``claimDelay`` and ``legacyNotServed``.
``DELETE /`` ends every fault.

It has no token, so it listens on loopback only.
"""

from typing import Any

from aiohttp import web

from privatellm_local.kcp.faults import Blow, Faults, Rule
from privatellm_local.kcp.registry import Registry

_STATE = {
    "down": "down",
    "prefix": "prefix",
    "claimDelay": "claim_delay",
    "legacyNotServed": "legacy_not_served",
}


def application(faults: Faults, registry: Registry) -> web.Application:
    """Return the fault port's web application."""

    async def add_rule(request: web.Request) -> web.Response:
        faults.add(_rule(await request.json()))
        return web.json_response({"rules": len(faults.rules)})

    async def strike(request: web.Request) -> web.Response:
        body = await request.json()
        blow = _blow(body.get("blow", ""))
        hit = faults.strike(blow, path=body.get("path", ""), plural=body.get("plural", ""))
        return web.json_response({"hit": hit})

    async def set_state(request: web.Request) -> web.Response:
        for key, value in (await request.json()).items():
            if key not in _STATE:
                raise web.HTTPBadRequest(text=f"known are {', '.join(_STATE)}; got {key}")
            setattr(faults, _STATE[key], value)
        if faults.down:
            faults.go_down()
        registry.changed.set()  # A new prefix must reach the endpoint slices.
        return web.json_response({})

    async def clear(_request: web.Request) -> web.Response:
        faults.clear()
        registry.changed.set()
        return web.json_response({})

    made = web.Application()
    made.router.add_post("/rules", add_rule)
    made.router.add_post("/blows", strike)
    made.router.add_put("/state", set_state)
    made.router.add_delete("/", clear)
    return made


def _rule(body: dict[str, Any]) -> Rule:
    try:
        return Rule(**body)
    except TypeError as error:
        raise web.HTTPBadRequest(text=f"not a rule: {error}") from error


def _blow(name: str) -> Blow:
    try:
        return Blow(name)
    except ValueError as error:
        known = ", ".join(blow.value for blow in Blow)
        raise web.HTTPBadRequest(text=f"blow must be one of {known}; got {name!r}") from error
