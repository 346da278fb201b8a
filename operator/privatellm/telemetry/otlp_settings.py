"""What the variables of the OpenTelemetry specification may hold, checked before anything starts.

The SDK reads them by itself, some at the first span, and meets a wrong value in its own ways: with a
traceback, with a default of its own and a warning, or with a warning that repeats a credential. Here each
of them is held to the specification, once, by the process that somebody started; it loads nothing of
OpenTelemetry. What a header says is never repeated.

Nothing is read for the SDK here: a value that passes is one that the SDK takes, which tests compare.
"""

import re
import ssl
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from privatellm.errors import InvalidInputError

Environ = Mapping[str, str]

MAX_QUEUE_SIZE: Final = 2048
MAX_EXPORT_BATCH_SIZE: Final = 512
"""Defaults of the specification's batch processor, in spans: a batch may not be larger than the queue."""

SAMPLERS: Final = tuple(
    f"{parent}{root}"
    for parent in ("", "parentbased_")
    for root in ("always_on", "always_off", "traceidratio")
)

_PREFIXES: Final = ("OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_")
"""The variable of a signal comes before that of all signals."""

_POSITIVE: Final = (
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_BSP_EXPORT_TIMEOUT",
)
_LIMITS: Final = (
    "OTEL_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_SPAN_EVENT_COUNT_LIMIT",
    "OTEL_SPAN_LINK_COUNT_LIMIT",
)

_HEADER_NAME: Final = re.compile(r"(?!(?i:.*-bin)$)[0-9A-Za-z_.-]+")
"""Names that gRPC and HTTP both send with a text; gRPC wants bytes under one that ends in ``-bin``."""

_HEADER_VALUE: Final = re.compile(r"[\x20\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
"""Printable ASCII without ``"``, ``,``, ``;`` and ``\\``, which are written as ``%`` and two digits."""

_URL_CHARACTERS: Final = re.compile(r"[\x21-\x7e]+")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")


class OtlpProtocol(StrEnum):
    """How a collector is spoken to."""

    GRPC = "grpc"
    HTTP = "http/protobuf"


def check_settings(environ: Environ) -> None:
    """Hold the variables that the SDK will read to what they may be.

    Args:
        environ: The process's environment, which wants traces to be sent.

    Raises:
        InvalidInputError: naming the first variable that is wrong.
    """
    protocol = protocol_of(environ)
    _choice(environ, "OTEL_TRACES_EXPORTER", ("otlp", "none"))
    _check_endpoint(environ)
    for prefix in _PREFIXES:
        _check_headers(f"{prefix}HEADERS", environ.get(f"{prefix}HEADERS", ""))
    _check_compression(environ, protocol)
    _check_timeout(environ)
    _check_certificates(environ)
    _check_sampler(environ)
    _check_batches(environ)
    _check_resource(environ)


def protocol_of(environ: Environ) -> OtlpProtocol:
    """Return how the collector is spoken to, which the SDK leaves to a launcher that we do not use."""
    name, value = _first(environ, "PROTOCOL")
    try:
        return OtlpProtocol(value.strip() or OtlpProtocol.GRPC)
    except ValueError:
        raise _wrong(
            name, "is grpc or http/protobuf", value, "Set one of the two, or leave it out for grpc."
        ) from None


def queue_size_of(environ: Environ) -> int:
    """Return how many spans may wait for a collector."""
    return int(environ.get("OTEL_BSP_MAX_QUEUE_SIZE", MAX_QUEUE_SIZE))


def _check_endpoint(environ: Environ) -> None:
    name, value = _first(environ, "ENDPOINT")
    if not _is_url(value):
        # A URL may carry a password.
        shown = "a text with an @, which is not repeated" if "@" in value else repr(value)
        raise InvalidInputError(
            f"{name} is the URL of a collector, with http or https and a host; got {shown}. "
            "Write it like http://collector:4317."
        )


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        has_place = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    return (
        has_place
        and url.scheme in {"http", "https"}
        and _URL_CHARACTERS.fullmatch(text) is not None
    )


def _check_headers(name: str, text: str) -> None:
    for number, pair in enumerate(text.strip().split(","), start=1):
        if pair.strip() and not _is_header(pair.strip()):
            raise InvalidInputError(
                f"{name} is a list of name=value with commas between them, in printable ASCII; pair "
                f"{number} is none (it is not repeated, because it may be a credential). Write it like "
                "authorization=Bearer%20TOKEN, and special characters as % and two hexadecimal digits."
            )


def _is_header(pair: str) -> bool:
    header, equals, value = pair.partition("=")
    return (
        bool(equals and _HEADER_NAME.fullmatch(header.strip(" \t")))
        and _HEADER_VALUE.fullmatch(value.strip(" \t")) is not None
        # Neither gRPC nor HTTP sends anything else, and both say so with the value in the message.
        and _PRINTABLE.fullmatch(unquote(value)) is not None
    )


def _check_compression(environ: Environ, protocol: OtlpProtocol) -> None:
    name, value = _first(environ, "COMPRESSION")
    # The SDK knows fewer over gRPC, where none is what it does unless it is told otherwise.
    known = ("gzip",) if protocol is OtlpProtocol.GRPC else ("gzip", "deflate", "none")
    _choice({name: value.strip()}, name, known)


def _check_timeout(environ: Environ) -> None:
    for prefix in _PREFIXES:
        name = f"{prefix}TIMEOUT"
        if name in environ and not 0 < _float(environ[name]) < float("inf"):
            raise _wrong(name, "is a number of seconds above 0", environ[name])


def _check_certificates(environ: Environ) -> None:
    ca_name, ca = _first(environ, "CERTIFICATE")
    certificate_name, certificate = _first(environ, "CLIENT_CERTIFICATE")
    key_name, key = _first(environ, "CLIENT_KEY")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca:
        _load(ca_name, ca, lambda: context.load_verify_locations(cafile=ca))
    if certificate:
        # An empty password keeps OpenSSL from asking for one at a terminal.
        _load(
            f"{certificate_name} (and {key_name})",
            certificate,
            lambda: context.load_cert_chain(certificate, key or None, password=""),
        )
    elif key:
        raise _wrong(key_name, f"belongs to a {certificate_name}", key, "Set both or none.")


def _load(name: str, path: str, load: Callable[[], None]) -> None:
    try:
        Path(path).read_bytes()
        load()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInputError(
            f"{name} is a PEM file that this process can read; got {path!r}: {reason}. "
            "Correct the path, or mount the file."
        ) from error


def _check_sampler(environ: Environ) -> None:
    _choice(environ, "OTEL_TRACES_SAMPLER", SAMPLERS)
    share = "OTEL_TRACES_SAMPLER_ARG"
    has_share = "ratio" in environ.get("OTEL_TRACES_SAMPLER", "").lower() and share in environ
    if has_share and not 0 <= _float(environ[share]) <= 1:
        raise _wrong(share, "is a share between 0 and 1", environ[share])


def _check_batches(environ: Environ) -> None:
    for name in _POSITIVE:
        if name in environ and not _whole(environ[name], at_least=1):
            raise _wrong(name, "is a whole number above 0", environ[name])
    for name in _LIMITS:
        if environ.get(name, "").strip() and not _whole(environ[name], at_least=0):
            raise _wrong(name, "is a whole number of at least 0", environ[name])
    queue = queue_size_of(environ)
    batch = int(environ.get("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", MAX_EXPORT_BATCH_SIZE))
    if batch > queue:
        raise InvalidInputError(
            f"OTEL_BSP_MAX_EXPORT_BATCH_SIZE ({MAX_EXPORT_BATCH_SIZE} unless set) is at most "
            f"OTEL_BSP_MAX_QUEUE_SIZE ({MAX_QUEUE_SIZE} unless set); got {batch} and {queue}. "
            "Lower the first or raise the second."
        )


def _check_resource(environ: Environ) -> None:
    name = "OTEL_RESOURCE_ATTRIBUTES"
    text = environ.get(name, "")
    if text and not all("=" in pair for pair in text.split(",")):
        raise _wrong(name, "is a list of name=value with commas between them", text)


def _choice(environ: Environ, name: str, known: tuple[str, ...]) -> None:
    value = environ.get(name, "")
    if value and value.lower() not in known:
        raise _wrong(name, f"is {' or '.join(known)}", value)


def _first(environ: Environ, name: str) -> tuple[str, str]:
    """Return the variable that counts and its text: the general one when none is set."""
    names = [f"{prefix}{name}" for prefix in _PREFIXES]
    found = next((one for one in names if environ.get(one, "").strip()), names[-1])
    return found, environ.get(found, "")


def _float(text: str) -> float:
    """Return a number; NaN, which is within no bounds, for what is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _whole(text: str, *, at_least: int) -> bool:
    try:
        return int(text) >= at_least
    except ValueError:
        return False


def _wrong(
    name: str, rule: str, value: str, help_: str = "Correct it, or leave it out."
) -> InvalidInputError:
    return InvalidInputError(f"{name} {rule}; got {value!r}. {help_}")
