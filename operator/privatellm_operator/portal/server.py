"""The HTTP application: the document at its path, and probes."""

from aiohttp import ETag, web

from privatellm_operator.portal.document import Source

CACHE_SECONDS = 60
RETRY_SECONDS = 5


def create_application(source: Source, path: str) -> web.Application:
    """Return the application.

    Args:
        source: Where the document comes from.
        path: Path that it is served at, such as ``/pm-content.json``.
    """

    async def document(request: web.Request) -> web.Response:
        found = source.current()
        if found is None:
            return web.Response(status=503, headers={"Retry-After": str(RETRY_SECONDS)})
        known = request.if_none_match or ()
        is_known = any(tag.value in (found.tag, "*") for tag in known)
        answer = (
            web.Response(status=304)
            if is_known
            else web.Response(body=found.body, content_type="application/json", charset="utf-8")
        )
        answer.etag = ETag(found.tag)
        answer.headers["Cache-Control"] = f"public, max-age={CACHE_SECONDS}"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer

    async def ready(_request: web.Request) -> web.Response:
        return web.Response(status=200 if source.current() else 503)

    application = web.Application()
    application.router.add_get(path, document)
    application.router.add_get("/healthz", _alive)
    application.router.add_get("/readyz", ready)
    return application


async def _alive(_request: web.Request) -> web.Response:
    return web.Response(text="ok\n")
