"""What a fetch may contact and whom it shows credentials, on real sockets."""

import ipaddress
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from typing_extensions import override

import fetcher_source as faults
from fetcher_certificates import make_authority
from fetcher_source import HttpSource
from fetcher_tools import Recorder
from privatellm_operator.fetcher import errors
from privatellm_operator.fetcher.addresses import Address, AddressRule
from privatellm_operator.fetcher.client import SourceClient, next_hop
from privatellm_operator.fetcher.fetch import fetch
from privatellm_operator.fetcher.request import FetchRequest, HuggingFaceSource, Source, UrlSource

CONTENT = b"GGUF" + bytes(5000)
LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
METADATA = ipaddress.IPv4Address("169.254.169.254")


class OnlyLoopback(AddressRule):
    """Stands in for "public" where the test's own server is the internet."""

    @override
    def allows(self, address: Address) -> bool:
        """Allow the test's server alone."""
        return address == LOOPBACK


@pytest.fixture
def source() -> Iterator[HttpSource]:
    """Serve a model over plain HTTP."""
    with faults.running(HttpSource(CONTENT)) as running:
        yield running


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Make an authority and a certificate for hub.example and storage.example."""
    return make_authority(tmp_path, "hub.example", "storage.example")


def request_for(source: Source, tmp_path: Path, **changes: Any) -> FetchRequest:
    """Ask for the model from this source."""
    return FetchRequest(output=tmp_path / "out" / "m.gguf", source=source, **changes)


def test_a_private_address_is_refused_by_default(source: HttpSource, tmp_path: Path) -> None:
    """Not a byte is sent there, and the sentence says what was found."""
    with pytest.raises(errors.SourceRefusedError, match=r"127\.0\.0\.1 is at 127\.0\.0\.1"):
        fetch(request_for(UrlSource(source.url), tmp_path), Recorder().tools())
    assert source.requests == []


def test_a_name_that_resolves_to_a_private_address_is_refused(tmp_path: Path) -> None:
    """The address decides, not the name."""
    tools = Recorder().tools(resolver=lambda _host, _port: [METADATA])
    request = request_for(UrlSource("http://innocent.example/m.gguf"), tmp_path)

    with pytest.raises(errors.SourceRefusedError, match=r"innocent\.example is at 169\.254"):
        fetch(request, tools)


def test_a_redirect_to_a_private_address_is_refused(source: HttpSource) -> None:
    """Each hop is checked, not only the first."""
    source.script = [faults.redirect("http://metadata.example/latest/meta-data/")]

    def resolver(host: str, _port: int) -> Sequence[Address]:
        return [METADATA if host == "metadata.example" else LOOPBACK]

    client = SourceClient(rule=OnlyLoopback(), resolver=resolver)
    with (
        pytest.raises(errors.SourceRefusedError, match=r"metadata\.example is at 169\.254"),
        client.open(source.url, {}),
    ):
        pytest.fail("the redirect was followed")
    client.close()


def test_a_resolver_that_changes_its_mind_gains_nothing(source: HttpSource) -> None:
    """The connection goes to the address that was checked; the name is never looked up again."""
    port = source.url.split(":")[2].split("/")[0]
    answers = [[LOOPBACK], [METADATA]]
    client = SourceClient(rule=OnlyLoopback(), resolver=lambda _host, _port: answers.pop(0))

    with client.open(f"http://rebinding.example:{port}/m.gguf", {}) as response:
        assert response.read() == CONTENT
    client.close()

    assert answers == [[METADATA]]
    assert source.requests[0].headers["Host"] == f"rebinding.example:{port}"


def test_forbidden_addresses_of_a_name_are_passed_over(source: HttpSource) -> None:
    """A name with a public and a private address is reached at the public one only."""
    port = source.url.split(":")[2].split("/")[0]
    client = SourceClient(rule=OnlyLoopback(), resolver=lambda _host, _port: [METADATA, LOOPBACK])

    with client.open(f"http://mixed.example:{port}/m.gguf", {}) as response:
        assert response.status_code == 200
    client.close()


def test_an_address_that_does_not_answer_is_followed_by_the_next(source: HttpSource) -> None:
    """A dead IPv6 address does not hide a living IPv4 one."""
    port = source.url.split(":")[2].split("/")[0]
    nobody = ipaddress.IPv4Address("127.255.255.253")
    client = SourceClient(
        rule=AddressRule(allow_private=True), resolver=lambda _host, _port: [nobody, LOOPBACK]
    )

    with client.open(f"http://two.example:{port}/m.gguf", {}) as response:
        assert response.status_code == 200
    client.close()


def test_a_name_that_does_not_exist_is_tried_again_and_named(tmp_path: Path) -> None:
    """A cluster's DNS may need a moment at the start of a pod."""
    recorder = Recorder()
    request = request_for(UrlSource("http://nobody.invalid/m.gguf"), tmp_path, retries=2)

    with pytest.raises(errors.SourceUnreachableError, match=r"nobody\.invalid cannot be resolved"):
        fetch(request, recorder.tools())
    assert len(recorder.pauses) == 2


def test_a_closed_port_is_tried_again_and_named(source: HttpSource, tmp_path: Path) -> None:
    """The sentence names the host."""
    with faults.running(HttpSource(CONTENT)) as gone:
        url = gone.url
    request = request_for(UrlSource(url), tmp_path, retries=1, allow_private_sources=True)

    with pytest.raises(errors.SourceUnreachableError, match=r"connection to 127\.0\.0\.1 broke"):
        fetch(request, Recorder().tools())


def test_a_circle_of_redirects_ends(source: HttpSource, tmp_path: Path) -> None:
    """A misconfigured source is told apart from a slow one."""
    source.script = [faults.redirect(source.url)] * 20
    request = request_for(UrlSource(source.url), tmp_path, allow_private_sources=True)

    with pytest.raises(errors.InvalidSourceError, match="redirects more than 10 times"):
        fetch(request, Recorder().tools())


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("http://elsewhere.example/m.gguf", errors.SourceRefusedError),
        ("file:///etc/passwd", errors.InvalidSourceError),
        ("ftp://elsewhere.example/m.gguf", errors.InvalidSourceError),
        ("https://user:pw@elsewhere.example/m.gguf", errors.InvalidSourceError),
    ],
)
def test_a_redirect_cannot_leave_https_or_the_web(
    location: str, error: type[errors.FetchError]
) -> None:
    """What would be refused as a source is refused as a redirect."""
    with pytest.raises(error):
        next_hop(httpx.URL("https://hub.example/a/b"), location)


def test_an_extra_authority_is_trusted_beside_the_systems(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """The certificate is checked against the name although the connection goes to an address."""
    authority, server = certificate
    with faults.running(HttpSource(CONTENT), certificate=server) as source:
        url = source.url.replace("127.0.0.1", "storage.example")
        request = request_for(
            UrlSource(url), tmp_path, ca_file=authority, allow_private_sources=True
        )
        tools = Recorder().tools(resolver=lambda _host, _port: [LOOPBACK])

        assert fetch(request, tools).size_bytes == len(CONTENT)


@pytest.mark.parametrize(
    ("host", "knows_authority"),
    [
        pytest.param("storage.example", False, id="an unknown authority"),
        pytest.param("other.example", True, id="a certificate for another name"),
    ],
)
def test_an_untrusted_certificate_fails_at_once_with_its_remedy(
    certificate: tuple[Path, Path], tmp_path: Path, host: str, knows_authority: bool
) -> None:
    """Waiting would not make it trusted."""
    authority, server = certificate
    recorder = Recorder()
    with faults.running(HttpSource(CONTENT), certificate=server) as source:
        request = request_for(
            UrlSource(source.url.replace("127.0.0.1", host)),
            tmp_path,
            ca_file=authority if knows_authority else None,
            allow_private_sources=True,
        )
        tools = recorder.tools(resolver=lambda _host, _port: [LOOPBACK])

        with pytest.raises(errors.SourceUnreachableError, match=r"certificate of .* not trusted"):
            fetch(request, tools)
    assert recorder.pauses == []


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_bad_file_of_authorities_is_named(tmp_path: Path, content: str | None) -> None:
    """A wrong mount is told apart from a wrong source."""
    path = tmp_path / "extra.pem"
    if content is not None:
        path.write_text(content)

    with pytest.raises(errors.InvalidSourceError, match=str(path)):
        SourceClient(rule=AddressRule(), ca_file=path)


def test_the_hubs_token_goes_to_the_hub_and_is_dropped_on_redirect(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """A storage host that the hub redirects to never sees the platform's credential."""
    authority, server = certificate
    with (
        faults.running(HttpSource(b""), certificate=server) as hub,
        faults.running(HttpSource(CONTENT), certificate=server) as storage,
    ):
        hub.script = [
            faults.redirect(storage.url.replace("127.0.0.1", "storage.example") + "?signature=1")
        ]
        endpoint = "https://hub.example:" + hub.url.split(":")[2].split("/")[0]
        request = request_for(
            HuggingFaceSource("google/gemma", "m.gguf", "main", endpoint),
            tmp_path,
            ca_file=authority,
            token=SecretStr("hf_secret"),
            allow_private_sources=True,
        )

        fetch(request, Recorder().tools(resolver=lambda _host, _port: [LOOPBACK]))

    assert [asked.authorization for asked in hub.requests] == ["Bearer hf_secret"]
    assert hub.requests[0].path == "/google/gemma/resolve/main/m.gguf"
    assert [asked.authorization for asked in storage.requests] == [None]


def test_the_hubs_token_is_never_sent_without_tls(source: HttpSource, tmp_path: Path) -> None:
    """A plain mirror is read without credentials."""
    endpoint = source.url.removesuffix("/models/m.gguf")
    request = request_for(
        HuggingFaceSource("a/b", "m.gguf", "main", endpoint),
        tmp_path,
        token=SecretStr("hf_secret"),
        allow_private_sources=True,
    )

    fetch(request, Recorder().tools())

    assert [asked.authorization for asked in source.requests] == [None]


def test_a_gated_model_says_so(source: HttpSource, tmp_path: Path) -> None:
    """The sentence tells what the platform team has to do."""
    source.script = [faults.status(401)]
    endpoint = source.url.removesuffix("/models/m.gguf")
    request = request_for(
        HuggingFaceSource("google/gemma", "m.gguf", "main", endpoint),
        tmp_path,
        allow_private_sources=True,
    )

    with pytest.raises(errors.AccessDeniedError, match=r"m\.gguf of google/gemma .*licence"):
        fetch(request, Recorder().tools())
