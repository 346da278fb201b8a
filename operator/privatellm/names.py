"""Every name that is derived from another one.

Names are derived, never read from metadata that a tenant can write. A slug is a digest of the
instance's UID; children of an instance carry its name where that is legal, and otherwise a shortened
form with a digest. The shortened forms live in a set of their own (they end in a marked digest, and a
name that happens to look like one is shortened too), so two instances never share a child's name.
"""

import base64
import hashlib
import re

SLUG_LENGTH = 16
SLUG_PATTERN = r"[a-z2-7]{16}"
"""Regular expression of a slug: RFC 4648 base32 in lower case, without padding."""

SERVICE_PORT_PATTERN = r"e-[a-z2-7]{12}"
"""Regular expression of the port name by which the edge finds an instance's Service."""

LONGEST_LABEL_VALUE = 63
"""Characters in a label value and in a DNS label (RFC 1123)."""

LONGEST_OBJECT_NAME = 253
"""Characters in the name of an object (RFC 1123 subdomain)."""

_CHILD_SUFFIX = "-llama"
_TOKEN_SUFFIX = "-token"  # noqa: S105 - the end of a name
_DIGEST_LENGTH = 12
_LONGEST_STEM = LONGEST_LABEL_VALUE - len(_CHILD_SUFFIX)
_LONGEST_WEIGHTS_STEM = 30
_LEGAL_STEM = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_SHORTENED = re.compile(rf".*-h[a-z2-7]{{{_DIGEST_LENGTH}}}")
_NOT_DNS = re.compile(r"[^a-z0-9-]+")


def slug_of(instance_uid: str) -> str:
    """Return the slug of an instance: 16 base32 characters of SHA-256 over its UID."""
    return _digest(instance_uid)[:SLUG_LENGTH]


def path_of(slug: str) -> str:
    """Return the path below which an instance is served."""
    return f"/llm/{slug}"


def endpoint_of(scheme: str, public_host: str, slug: str) -> str:
    """Return the URL of an instance.

    Args:
        scheme: ``http`` or ``https``.
        public_host: ``host`` or ``host:port`` of the edge.
        slug: The instance's slug.
    """
    return f"{scheme}://{public_host}{path_of(slug)}"


def service_port_name(slug: str) -> str:
    """Return the port name that keeps Traefik's service key of an instance unique.

    Traefik keys services by namespace, service and port joined with dashes, so namespace ``a`` with
    service ``b-c`` and namespace ``a-b`` with service ``c`` would meet without it.
    """
    return f"e-{slug[:12]}"


def child_name(instance: str) -> str:
    """Return the name of an instance's Deployment, Service, Ingress and NetworkPolicy."""
    return _stem(instance) + _CHILD_SUFFIX


def backend_key_name(instance: str) -> str:
    """Return the name of the Secret with an instance's backend key."""
    return f"{child_name(instance)}-key"


def token_secret_name(request: str) -> str:
    """Return the name of the Secret that a token request fills."""
    fits = len(request) + len(_TOKEN_SUFFIX) <= LONGEST_OBJECT_NAME
    if fits and not _SHORTENED.fullmatch(request):
        return request + _TOKEN_SUFFIX
    return _shortened(request, LONGEST_OBJECT_NAME - len(_TOKEN_SUFFIX)) + _TOKEN_SUFFIX


def weights_name(model: str, source_digest: str) -> str:
    """Return what weights are called in every cache: another source gives another name.

    Args:
        model: Name of the LLMModel.
        source_digest: Digest of where its weights come from and which they are.
    """
    kept = _readable(model)[:_LONGEST_WEIGHTS_STEM].rstrip("-")
    return f"{kept}-{_digest(f'{model}/{source_digest}')[:_DIGEST_LENGTH]}"


def claim_name(weights: str) -> str:
    """Return the name of the claim that keeps these weights in a namespace."""
    return f"{weights}-weights"


def fetch_job_name(weights: str, node: str = "") -> str:
    """Return the name of the Job that fetches these weights.

    Args:
        weights: What they are called.
        node: The node whose cache it fills; empty when any node will do.
    """
    place = f"-{_digest(node)[:_DIGEST_LENGTH]}" if node else ""
    return f"fetch-{weights}{place}"


def verifier_name(key_id: str) -> str:
    """Return the name of the Secret that verifies the key with this id."""
    return f"v-{key_id}"


def label_value(name: str) -> str:
    """Return ``name`` as a label value: itself when it fits, else shortened with a digest."""
    if len(name) <= LONGEST_LABEL_VALUE and not _SHORTENED.fullmatch(name):
        return name
    return _shortened(name, LONGEST_LABEL_VALUE)


def _stem(instance: str) -> str:
    legal = _LEGAL_STEM.fullmatch(instance) and len(instance) <= _LONGEST_STEM
    if legal and not _SHORTENED.fullmatch(instance):
        return instance
    return _shortened(instance, _LONGEST_STEM)


def _shortened(name: str, longest: int) -> str:
    kept = _readable(name)[: longest - _DIGEST_LENGTH - 2].rstrip("-")
    return f"{kept}-h{_digest(name)[:_DIGEST_LENGTH]}"


def _readable(name: str) -> str:
    readable = _NOT_DNS.sub("-", name)
    return readable if readable[:1].isalpha() else f"x{readable}"


def _digest(text: str) -> str:
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().lower()
