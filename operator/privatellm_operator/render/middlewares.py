"""The middlewares that all instances share, in the operator's namespace and out of tenants' reach.

The order of the chain matters. What a model server must not hear is blanked first: upgrades, because
ForwardAuth never sees one and the backend would, and headers that mean something to the server alone.
CORS answers preflights, which carry no key. The guard bounds what one address may ask of the check. The
check comes before the path is stripped, so that it sees what the client sent, and before the limits, which
count by the key that it found.
"""

from collections.abc import Iterable

from privatellm import labels
from privatellm.api.llm_model import Limits, LLMModel
from privatellm.kube import Manifest, kinds
from privatellm.names import SLUG_PATTERN, label_value
from privatellm_operator.render.instance import digest, with_digest
from privatellm_operator.settings import EdgeSettings, Settings

PREFIX = "private-llm"
KEY_ID_HEADER = "X-Private-Llm-Key-Id"
INSTANCE_HEADER = "X-Private-Llm-Instance"

LARGEST_AUTH_ANSWER = 65536
"""Bytes of an answer of the ForwardAuth service; Traefik's default is without limit."""

PREFLIGHT_SECONDS = 600
"""How long a browser may remember the answer to a preflight."""

SECONDS_A_MINUTE = 60

IPV6_CUSTOMER_BITS = 64
"""An IPv6 customer holds a whole network of this prefix, so its addresses count as one."""

SERVER_HEADERS = (
    "X-Api-Key",
    "X-Conversation-Id",
    "Last-Event-Id",
    "X-Resp-Type",
    "X-Tool-Cwd",
    "X-Tool-Runtime",
)
"""Headers that llama.cpp's server interprets beside ``Authorization``. ``X-Conversation-Id`` lets others
read a stream and keeps it running without its client; ``X-Api-Key`` is another place for a key."""

_TAKEN = ("upgrade", "cors", "guard", "auth", "strip", "rate", "inflight", "m")
_BEFORE_LIMITS = ("upgrade", "cors", "guard", "auth", "strip")
_LONGEST_READABLE = 40

_CORS_HEADERS = (
    "Access-Control-Allow-Origin",
    "Access-Control-Allow-Credentials",
    "Access-Control-Allow-Methods",
    "Access-Control-Allow-Headers",
)


def chain_name(model: LLMModel) -> str:
    """Return the name of the chain that an instance of this model uses."""
    return f"{PREFIX}-{_suffix(model)}" if has_own_limits(model) else PREFIX


def has_own_limits(model: LLMModel) -> bool:
    """Say whether a model has limits other than the platform's."""
    return model.spec.limits != Limits()


def build_all(settings: Settings, models: Iterable[LLMModel]) -> tuple[Manifest, ...]:
    """Return every middleware that the platform needs, sorted by name.

    Args:
        settings: What the platform team decided.
        models: The catalogue; a model with limits of its own gets a chain of its own.
    """
    own = [m for model in models if has_own_limits(model) for m in _of_model(settings, model)]
    return tuple(sorted((*_shared(settings), *own), key=lambda m: str(m["metadata"]["name"])))


def _shared(settings: Settings) -> tuple[Manifest, ...]:
    edge = settings.edge
    specs: dict[str, Manifest] = {
        f"{PREFIX}-upgrade": _upgrade(),
        f"{PREFIX}-cors": _cors(edge),
        f"{PREFIX}-guard": _guard(edge),
        f"{PREFIX}-auth": _auth(edge),
        f"{PREFIX}-strip": _strip(),
        f"{PREFIX}-rate": _rate(edge.requests_per_minute),
        f"{PREFIX}-inflight": _inflight(edge.concurrent_requests),
        PREFIX: _chain(f"{PREFIX}-rate", f"{PREFIX}-inflight"),
    }
    return tuple(_middleware(settings, name, spec) for name, spec in specs.items())


def _of_model(settings: Settings, model: LLMModel) -> tuple[Manifest, ...]:
    limits, edge, suffix = model.spec.limits, settings.edge, _suffix(model)
    rate, inflight = f"{PREFIX}-rate-{suffix}", f"{PREFIX}-inflight-{suffix}"
    specs = {
        rate: _rate(limits.requests_per_minute or edge.requests_per_minute),
        inflight: _inflight(limits.concurrent_requests or edge.concurrent_requests),
        chain_name(model): _chain(rate, inflight),
    }
    return tuple(_middleware(settings, name, spec) for name, spec in specs.items())


def _suffix(model: LLMModel) -> str:
    """Return the model's part of a name, kept apart from the names that are taken already.

    A dot becomes a dash, because Traefik's older naming does the same, and a digest keeps such names apart.
    """
    name = label_value(model.metadata.name)
    if "." in name:
        name = f"{name[:_LONGEST_READABLE].replace('.', '-')}-{digest({'model': name})}"
    return f"m-{name}" if name.split("-")[0] in _TAKEN else name


def _upgrade() -> Manifest:
    blanked = ("Upgrade", "Connection", *SERVER_HEADERS)
    return {"headers": {"customRequestHeaders": dict.fromkeys(blanked, "")}}


def _cors(edge: EdgeSettings) -> Manifest:
    """Blank what the server says about origins, then answer for the configured ones."""
    headers: Manifest = {"customResponseHeaders": dict.fromkeys(_CORS_HEADERS, "")}
    if edge.cors_origins:
        headers |= {
            "accessControlAllowOriginList": list(edge.cors_origins),
            "accessControlAllowMethods": ["GET", "POST", "OPTIONS"],
            # The wildcard is for what SDKs add; it does not cover Authorization.
            "accessControlAllowHeaders": ["Authorization", "Content-Type", "*"],
            "accessControlExposeHeaders": ["Retry-After"],
            "accessControlMaxAge": PREFLIGHT_SECONDS,
            "addVaryHeader": True,
        }
    return {"headers": headers}


def _guard(edge: EdgeSettings) -> Manifest:
    """Bound what one address may ask of the check, whatever keys it has; an average of 0 is no limit."""
    average = edge.address_requests_per_second
    address: Manifest = {"ipv6Subnet": IPV6_CUSTOMER_BITS}
    if edge.trusted_proxies:
        address["depth"] = edge.trusted_proxies
    return {
        "rateLimit": {
            "average": average,
            "burst": _burst(average),
            "sourceCriterion": {"ipStrategy": address},
        }
    }


def _auth(edge: EdgeSettings) -> Manifest:
    return {
        "forwardAuth": {
            "address": f"{edge.auth_address.rstrip('/')}/auth/verify",
            "trustForwardHeader": False,
            "authResponseHeaders": ["Authorization", KEY_ID_HEADER, INSTANCE_HEADER],
            "maxResponseBodySize": LARGEST_AUTH_ANSWER,
        }
    }


def _strip() -> Manifest:
    return {"stripPrefixRegex": {"regex": [f"^/llm/{SLUG_PATTERN}"]}}


def _rate(requests_per_minute: int) -> Manifest:
    burst = _burst(requests_per_minute // SECONDS_A_MINUTE)
    limit = {"average": requests_per_minute, "period": "1m", "burst": burst}
    return {"rateLimit": limit | _by_key()}


def _burst(requests_per_second: int) -> int:
    """Return how many requests may come at once: a second's worth, and one at least (ADR 88).

    Traefik forgets who was quiet for a second or two, and then gives a whole burst again. A larger one
    would come back long before the rate allows it.
    """
    return max(1, requests_per_second)


def _inflight(concurrent_requests: int) -> Manifest:
    return {"inFlightReq": {"amount": concurrent_requests} | _by_key()}


def _by_key() -> Manifest:
    return {"sourceCriterion": {"requestHeaderName": KEY_ID_HEADER}}


def _chain(rate: str, inflight: str) -> Manifest:
    shared = [f"{PREFIX}-{part}" for part in _BEFORE_LIMITS]
    return {"chain": {"middlewares": [{"name": name} for name in (*shared, rate, inflight)]}}


def _middleware(settings: Settings, name: str, spec: Manifest) -> Manifest:
    return with_digest(
        {
            "apiVersion": kinds.MIDDLEWARE.api_version,
            "kind": kinds.MIDDLEWARE.name,
            "metadata": {
                "name": name,
                "namespace": settings.pod.namespace,
                "labels": {
                    labels.NAME: PREFIX,
                    labels.PART_OF: labels.PART_OF_US,
                    labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
                },
            },
            "spec": spec,
        }
    )
