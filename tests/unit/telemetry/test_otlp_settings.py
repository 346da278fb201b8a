"""Wrong variables of OpenTelemetry: refused at the start, in a sentence, without what is secret."""

import logging
import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import export
from opentelemetry.sdk.trace.sampling import _KNOWN_SAMPLERS
from opentelemetry.util.re import parse_env_headers
from typing_extensions import override

from fetcher_certificates import make_authority
from privatellm.errors import InvalidInputError
from privatellm.telemetry import otlp_settings
from privatellm.telemetry.otlp import OtlpSpans
from privatellm.telemetry.otlp_settings import check_settings
from privatellm.telemetry.tracing import open_sink

WANTED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
HTTP = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
SECRET = "sesame-open"
HEADER_LETTERS = st.sampled_from(f'{string.printable}é%=,;\\"\x7f\x00')


class Heard(logging.Handler):
    """Keeps what a logger says."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def refusal(environ: dict[str, str]) -> str:
    """Return the sentence with which an environment is refused."""
    with pytest.raises(InvalidInputError) as caught:
        open_sink("a-part", WANTED | environ)
    return str(caught.value)


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        (
            {"OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "100"},
            "got 100 and 10",
        ),
        ({"OTEL_BSP_MAX_QUEUE_SIZE": "100"}, "got 512 and 100"),
        ({"OTEL_BSP_SCHEDULE_DELAY": "0"}, "above 0; got '0'"),
        ({"OTEL_BSP_EXPORT_TIMEOUT": "soon"}, "above 0; got 'soon'"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "grpc or http/protobuf; got 'http/json'"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "nonsense"}, "URL of a collector.*got 'nonsense'"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://"}, "a host; got"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:port"}, "a host; got"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "c:4317"}, "_TRACES_ENDPOINT is the URL"),
        ({"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nope"}, "got '/nope': No such file"),
        ({"OTEL_EXPORTER_OTLP_CERTIFICATE": "/dev/null"}, "PEM file.*'/dev/null'"),
        ({"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "/nope"}, "_CLIENT_KEY.*'/nope'"),
        ({"OTEL_EXPORTER_OTLP_CLIENT_KEY": "/nope"}, "Set both or none"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "seconds above 0; got '10s'"),
        ({"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "nan"}, "seconds above 0"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "brotli"}, "is gzip; got 'brotli'"),
        (HTTP | {"OTEL_EXPORTER_OTLP_COMPRESSION": "brotli"}, "gzip or deflate or none"),
        ({"OTEL_TRACES_EXPORTER": "jaeger"}, "is otlp or none; got 'jaeger'"),
        ({"OTEL_TRACES_SAMPLER": "sometimes"}, "parentbased_traceidratio; got 'sometimes'"),
        (
            {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "25"},
            "between 0 and 1; got '25'",
        ),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "-1"}, "at least 0; got '-1'"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "region"}, "name=value.*got 'region'"),
    ],
    ids=str,
)
def test_a_wrong_variable_is_named_with_what_it_may_be(
    environ: dict[str, str], sentence: str
) -> None:
    """And with what it is, where that is no secret."""
    found = refusal(environ)

    assert re.search(sentence, found), found
    assert any(name in found for name in environ)


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize(
    "text",
    [
        f"authorization Bearer {SECRET}",
        SECRET,
        f"x-tenant=acme,Bearer {SECRET}",
        f"authorization={SECRET};x",
        f"authorization={SECRET}%0d%0a",
        f"authorization={SECRET}%c3%a9",
        f"name with spaces={SECRET}",
        f"={SECRET}",
        f"X-Trace-Bin={SECRET}",
    ],
)
def test_a_malformed_header_is_refused_without_what_it_says(
    name: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is a credential more often than not, and neither we nor the library may show it."""
    with pytest.raises(InvalidInputError) as caught:
        open_sink("a-part", WANTED | {name: text})

    assert name in str(caught.value)
    assert SECRET not in str(caught.value)
    assert SECRET not in caplog.text


def test_a_password_in_an_endpoint_is_not_repeated() -> None:
    assert SECRET not in refusal({"OTEL_EXPORTER_OTLP_ENDPOINT": f"ftp://me:{SECRET}@host"})


@pytest.mark.parametrize(
    "text",
    [
        "authorization=Bearer%20abc==,x-tenant=acme",
        "Authorization = Bearer abc , x-tenant=",
        "authorization=Bearer abc\n",
        "a=b,",
        "",
    ],
)
def test_headers_of_the_specification_are_taken(text: str) -> None:
    """Also with the space that the chart's documentation shows, and a file's last line break."""
    for name in HEADERS:
        check_settings(WANTED | {name: text})


@given(st.one_of(st.text(HEADER_LETTERS), st.from_regex(r"[a-z -]+=[ -~]*(,[A-Z.]+=.*)?")))
def test_the_library_has_nothing_to_say_about_headers_that_we_take(text: str) -> None:
    """Its warning would repeat them, and so would the one of who sends them."""
    try:
        check_settings(WANTED | {HEADERS[0]: text})
    except InvalidInputError:
        return
    heard = Heard()
    logger = logging.getLogger("opentelemetry.util.re")
    logger.addHandler(heard)
    try:
        headers = parse_env_headers(text, liberal=True)
    finally:
        logger.removeHandler(heard)

    # Of an empty line it says that it is no header, which tells nobody anything.
    assert all(not str(part).strip() for one in heard.records for part in one.args or ())
    assert all(_can_be_sent(name, value) for name, value in headers.items())


def _can_be_sent(name: str, value: str) -> bool:
    """Whether gRPC takes this as metadata; HTTP takes more."""
    letters = set(f"{string.ascii_lowercase}{string.digits}_.-")
    return bool(name) and set(name) <= letters and all(" " <= one <= "~" for one in value)


def test_certificates_that_can_be_read_are_taken(tmp_path: Path) -> None:
    """As the chart mounts the authority's; a client's may be in one file with its key."""
    authority, with_key = make_authority(tmp_path, "collector.example")
    files = {"CERTIFICATE": authority, "CLIENT_CERTIFICATE": with_key}

    check_settings(WANTED | {f"OTEL_EXPORTER_OTLP_{name}": str(p) for name, p in files.items()})
    assert "got " in refusal({"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(authority)})


def test_the_sdks_defaults_and_names_are_ours() -> None:
    """A check against others would let something pass that it refuses."""
    assert export._DEFAULT_MAX_QUEUE_SIZE == otlp_settings.MAX_QUEUE_SIZE
    assert export._DEFAULT_MAX_EXPORT_BATCH_SIZE == otlp_settings.MAX_EXPORT_BATCH_SIZE
    assert set(otlp_settings.SAMPLERS) == set(_KNOWN_SAMPLERS)


def test_nothing_is_checked_while_nobody_wants_traces() -> None:
    """A variable that nobody reads harms nobody."""
    wrong = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}
    assert open_sink("a-part", wrong) is None
    assert open_sink("a-part", WANTED | wrong | {"OTEL_SDK_DISABLED": "true"}) is None


def test_what_only_the_sdk_finds_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence, whatever the SDK raises."""
    monkeypatch.setenv("OTEL_PYTHON_EXPORTER_OTLP_GRPC_RETRYABLE_ERROR_CODES", "NONSENSE")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")

    with pytest.raises(InvalidInputError, match=r"variables OTEL_\*"):
        OtlpSpans.of_environment("a-part", WANTED)
