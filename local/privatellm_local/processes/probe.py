"""Readiness probes: one small HTTP/1.0 request, without a client library in a process that must stay small.

Hosts are IP addresses, so no resolver and no thread is involved; the supervisor stays single-threaded,
which its children's tie to its life depends on.
"""

import asyncio
import ssl
from functools import lru_cache
from urllib.parse import urlsplit

from privatellm_local.processes.specification import Probe

PROBE_TIMEOUT_SECONDS = 5.0
"""How long a component may take to say that it is ready."""


async def is_ready(probe: Probe) -> bool:
    """Return whether the probe is answered with a 2xx status in time."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            return await _status(probe) // 100 == 2  # noqa: PLR2004 - the class of successes
    except (OSError, TimeoutError, ValueError):
        # OSError covers refused connections and TLS failures, ValueError an answer that is not HTTP.
        return False


async def _status(probe: Probe) -> int:
    url = urlsplit(probe.url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port, ssl=_tls(probe))
    try:
        writer.write(f"GET {url.path or '/'} HTTP/1.0\r\nHost: {url.netloc}\r\n\r\n".encode())
        await writer.drain()
        line = await reader.readline()
    finally:
        writer.close()
    return int(line.split(b" ", 2)[1]) if line.startswith(b"HTTP/") else 0


@lru_cache(maxsize=32)
def _tls(probe: Probe) -> ssl.SSLContext | None:
    if urlsplit(probe.url).scheme != "https":
        return None
    context = ssl.create_default_context(cafile=probe.ca_file)
    if probe.cert_file:
        context.load_cert_chain(probe.cert_file, probe.key_file)
    return context
