"""The command line of the fetcher, parsed once into a frozen request.

::

    privatellm-fetch --output FILE [--sha256 HEX | --sha256-file FILE] [--size-bytes N]
        ( --url URL | --hf-repo R --hf-file F [--hf-revision REV] | --path P )
        [--mirror URL] [--hf-token-file FILE] [--ca-file FILE] [--retries N] [--report FILE]
        [--allow-file-sources] [--allow-private-sources]
        [--wait] [--progress-host ADDRESS --progress-port N]

A digest in ``--sha256-file`` is one that the platform recorded when the source was first used. The
file may be absent, which is how a first use looks. With ``--wait`` nothing is fetched: somebody else
fills the cache, which may be read-only here.

The hub's token comes from ``--hf-token-file`` or from ``HF_TOKEN``; it is no argument, because
arguments are visible to every user of the machine.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Never
from urllib.parse import unquote

from pydantic import SecretStr
from typing_extensions import override

from privatellm_operator.fetcher.errors import InvalidSourceError, SourceRefusedError
from privatellm_operator.fetcher.request import (
    DEFAULT_ENDPOINT,
    DEFAULT_RETRIES,
    FetchRequest,
    HuggingFaceSource,
    PathSource,
    Source,
    UrlSource,
)
from privatellm_operator.fetcher.urls import parse_url

TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 - the name of the variable, not its value
DEFAULT_REVISION = "main"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


def parse_arguments(argv: Sequence[str], environ: Mapping[str, str]) -> FetchRequest:
    """Parse the command line.

    Args:
        argv: the arguments without the program's name.
        environ: the environment, which may hold the hub's token.

    Raises:
        InvalidSourceError: the arguments name no source, several, or one that makes no sense.
        SourceRefusedError: the source is a ``file://`` URL and those are not allowed.
    """
    options = _parser().parse_args(argv)
    return FetchRequest(
        output=options.output,
        source=_source(options),
        sha256=options.sha256 or _recorded_digest(options.sha256_file),
        is_digest_recorded=options.sha256 is None,
        size_bytes=options.size_bytes,
        allow_private_sources=options.allow_private_sources,
        ca_file=options.ca_file,
        token=_token(options.hf_token_file, environ),
        retries=options.retries,
        report_file=options.report,
        waits=options.wait,
        progress_address=_progress_address(options),
    )


class _Parser(argparse.ArgumentParser):
    """A parser that raises our error instead of printing its usage and leaving."""

    @override
    def error(self, message: str) -> Never:
        raise InvalidSourceError(
            f"The fetcher cannot obey its arguments: {message}. Correct the LLMModel's source."
        )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="privatellm-fetch", add_help=False, allow_abbrev=False)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sha256", type=_digest)
    parser.add_argument("--sha256-file", type=Path)
    parser.add_argument("--size-bytes", type=_count)
    parser.add_argument("--url")
    parser.add_argument("--hf-repo")
    parser.add_argument("--hf-file")
    parser.add_argument("--hf-revision", default=DEFAULT_REVISION)
    parser.add_argument("--hf-token-file", type=Path)
    parser.add_argument("--path", type=Path)
    parser.add_argument("--mirror", default=DEFAULT_ENDPOINT)
    parser.add_argument("--ca-file", type=Path)
    parser.add_argument("--retries", type=_count, default=DEFAULT_RETRIES)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--wait", action="store_true")
    parser.add_argument("--progress-host")
    parser.add_argument("--progress-port", type=_count, default=0)
    parser.add_argument("--allow-file-sources", action="store_true")
    parser.add_argument("--allow-private-sources", action="store_true")
    return parser


def _source(options: argparse.Namespace) -> Source:
    given = [name for name in ("url", "hf_repo", "path") if getattr(options, name) is not None]
    match given:
        case ["url"]:
            return _url_source(options.url, allow_files=options.allow_file_sources)
        case ["hf_repo"]:
            return _hugging_face_source(options)
        case ["path"]:
            return PathSource(options.path)
        case _:
            raise InvalidSourceError(
                "A model has exactly one source: give one of --url, --hf-repo and --path, "
                f"not {' and '.join(given) or 'none'}."
            )


def _url_source(url: str, *, allow_files: bool) -> UrlSource | PathSource:
    if url.lower().startswith("file:"):
        return _file_source(url, allow_files=allow_files)
    parse_url(url)
    return UrlSource(url)


def _file_source(url: str, *, allow_files: bool) -> PathSource:
    if not allow_files:
        raise SourceRefusedError(
            f"The platform allows no file:// sources, got {url}; offer the file by https or on a "
            "volume, or allow file sources in the platform's settings."
        )
    # What follows is a path and no URL syntax: a question mark is part of the name.
    path = unquote(re.sub(r"^file:(//(localhost)?(?=/))?", "", url, flags=re.IGNORECASE))
    if not path.startswith("/") or path.startswith("//") or "\0" in path:
        raise InvalidSourceError(
            f"A file:// URL holds an absolute path on this machine, got {url!r}."
        )
    return PathSource(Path(path))


def _hugging_face_source(options: argparse.Namespace) -> HuggingFaceSource:
    if not _REPOSITORY.fullmatch(options.hf_repo) or not options.hf_file:
        raise InvalidSourceError(
            "A Hugging Face source is a repository as owner/name and a file in it, got "
            f"repository {options.hf_repo!r} and file {options.hf_file!r}."
        )
    if any(part in {"", ".", ".."} for part in options.hf_file.split("/")):
        raise InvalidSourceError(
            f"The file is a path inside the repository without dot segments, got "
            f"{options.hf_file!r}."
        )
    parse_url(options.mirror)
    return HuggingFaceSource(
        repo=options.hf_repo,
        file=options.hf_file,
        revision=options.hf_revision or DEFAULT_REVISION,
        endpoint=options.mirror,
    )


def _token(token_file: Path | None, environ: Mapping[str, str]) -> SecretStr | None:
    text = environ.get(TOKEN_VARIABLE, "")
    if token_file is not None:
        try:
            text = token_file.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidSourceError(
                f"The hub's token file {token_file} cannot be read ({type(error).__name__}); "
                "check the Secret's mount."
            ) from error
    return SecretStr(text.strip()) if text.strip() else None


def _recorded_digest(path: Path | None) -> str | None:
    """Read the digest that the platform recorded; an absent or empty file means that there is none."""
    try:
        text = path.read_text(encoding="ascii").strip() if path else ""
        return _digest(text) if text else None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, argparse.ArgumentTypeError) as error:
        # Without the check a changed file would be served, so an unreadable record is an end. What the
        # file holds is not repeated: this message reaches the pod's status, and the file may be any.
        why = error.strerror if isinstance(error, OSError) else "it is not 64 hexadecimal digits"
        raise InvalidSourceError(
            f"The recorded digest in {path} cannot be read ({why}); check the Secret's mount."
        ) from None


def _progress_address(options: argparse.Namespace) -> tuple[str, int] | None:
    return (options.progress_host, options.progress_port) if options.progress_host else None


def _digest(text: str) -> str:
    if not _SHA256.fullmatch(text.lower()):
        raise argparse.ArgumentTypeError(f"a SHA-256 has 64 hexadecimal digits, got {text!r}")
    return text.lower()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"a whole number of 0 or more is needed, got {text!r}")
    return int(text)
