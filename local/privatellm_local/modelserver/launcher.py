"""The order of events of a model server: check, start, serve, drain, leave.

The launcher takes one option of its own in front of llama-server's arguments:

    --launcher-grace-seconds N      longest drain after SIGTERM (default: an hour)

It is long because its real bound is the kubelet's, which kills when the pod's is over. Where llama-server
is looked for is no option but the PATH variable: arguments are a pod's to choose, and programs are not.
"""

import errno
import logging
import os
import shutil
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Never

from privatellm import draining
from privatellm.errors import InvalidInputError
from privatellm_local.holders import holder_of
from privatellm_local.modelserver import parameters, signals
from privatellm_local.modelserver.arguments import (
    SentenceParser,
    ServerArguments,
    parse_arguments,
)
from privatellm_local.modelserver.errors import ModelServerError

SERVER_NAME = "llama-server"
GGUF_MAGIC = b"GGUF"
DEFAULT_GRACE_SECONDS = 3600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """The launcher's own options, and what remains for the server."""

    grace_seconds: float
    server_argv: tuple[str, ...]


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run a model server until it is told to stop; the exit code says whether it could start."""
    logging.basicConfig(level=logging.INFO, format="modelserver: %(message)s", stream=sys.stderr)
    environment = os.environ if environ is None else environ
    try:
        options = split_options(sys.argv[1:] if argv is None else argv)
        launch(options, environment)
    except ModelServerError as error:
        _log.error("%s", error)
        return error.exit_code


def split_options(argv: Sequence[str]) -> LaunchOptions:
    """Take the launcher's own options out of the arguments.

    Raises:
        InvalidArgumentsError: one of them is malformed.
    """
    parser = SentenceParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--launcher-grace-seconds", type=float, default=DEFAULT_GRACE_SECONDS)
    own, rest = parser.parse_known_args(argv)
    return LaunchOptions(own.launcher_grace_seconds, tuple(rest))


def launch(options: LaunchOptions, environ: Mapping[str, str]) -> Never:
    """Become llama-server if there is one, else serve in this process; never returns.

    Raises:
        ModelServerError: neither is possible.
    """
    installed = shutil.which(SERVER_NAME, path=environ.get("PATH", ""))
    if installed is not None:
        _log.info("starting %s", installed)
        os.execve(installed, [SERVER_NAME, *options.server_argv], dict(environ))  # noqa: S606
    serve(parse_arguments(options.server_argv), options.grace_seconds)


def serve(arguments: ServerArguments, grace_seconds: float) -> Never:
    """Serve with xllamacpp until a stop signal, finish what is in hand, and leave.

    Raises:
        ModelServerError: the model, the address or the library is not usable.
    """
    check_model(arguments.model)
    check_address(arguments.host, arguments.port)
    library = parameters.load_library()
    signals.let_stop_signals_kill()
    server = parameters.start_server(library, parameters.build_parameters(library, arguments))

    def read_load() -> draining.Load:
        try:
            return draining.parse_load(server.handle_metrics())
        except InvalidInputError as error:
            raise ModelServerError(str(error)) from error

    with signals.caught_stop_signals() as stop:
        # Read once before it matters, so that a library without the gauges fails at its start.
        read_load()
        _log.info("serving %s on %s", arguments.model.name, server.listening_address)
        stop.wait()
        _log.info("stopping after what is in hand, within %.0f s", grace_seconds)
        outcome = draining.drain(read_load, stop.wait, time.monotonic, grace_seconds)
    _log.info("leaving: %s", outcome.value)
    _leave()


def _leave() -> Never:
    """End the process without tearing the C++ server down, which can hang."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def check_model(model: Path) -> None:
    """Check that the file can be a model at all, for a clearer sentence than the library's.

    Raises:
        ModelServerError: the file cannot be read or is not in GGUF format.
    """
    try:
        with model.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelServerError(
            f"The model {model} cannot be read ({error.strerror}); check the fetch step."
        ) from error
    if magic != GGUF_MAGIC:
        raise ModelServerError(
            f"The model {model} is not in GGUF format (it starts with {magic!r}); "
            "check the model's source."
        )


def check_address(host: str, port: int) -> None:
    """Check that the address is free, since the library only says that it failed.

    Raises:
        ModelServerError: the address is in use, not ours or not allowed.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # A server that just left keeps its address in TIME_WAIT, which is no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        raise ModelServerError(
            f"The model server cannot listen on {host}:{port}: {_address_failure(error, host, port)}"
        ) from error


def _address_failure(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{holder_of(host, port)} does already; stop it or choose another port."
    if error.errno == errno.EADDRNOTAVAIL:
        return "the address does not belong to this machine; choose one that does."
    if error.errno == errno.EACCES:
        return "ports below 1024 need privileges; choose a higher port."
    return f"{error.strerror}; choose another address."
