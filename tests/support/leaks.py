"""Nothing secret may be found in what the parts write about themselves.

Every key that ever existed in an environment is in etcd's files, so those are the list of what to look for:
no test has to tell which keys it was given. Backend keys derive from the platform key and from UIDs, and
both are there. What is searched is everything an operator of the platform or a customer reads: logs of all
components and pods, those of pods that are gone among them, events, status and metrics; and where they
arrive, answers of the edge (:mod:`edge_route`) and traces (:mod:`telemetry_collector`).

Not seen: the log of a container that came and went between two looks, what a log lost when it was cut at
its bound, events that Kubernetes has forgotten, and the logs of processes that tests start outside of an
environment.
"""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import yaml

from embedded import Environment
from privatellm.backend_keys import PlatformKey

TOKEN = re.compile(rb"pllm_[a-z2-7]{12}_([0-9A-Za-z]{43})[0-9A-Za-z]{6}")
LONG_RUN = re.compile(rb"[0-9A-Za-z_-]{43,}")
PLATFORM_KEY = re.compile(rb"platform-key\x12[\x20-\x7f]([0-9A-Za-z_-]{32,})")
"""The key in its Secret, as Kubernetes stores one: an entry of a map in protobuf."""

UID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASHES = (b"{SSHA256}", b"e1NTSEEyNTZ9")
"""The mark of a verifier's hash, plain and in base64."""

BACKEND_KEY = re.compile(rb"[Bb]earer [0-9a-f]{64}")
LOOK_SECONDS = 1.0
"""Seconds between two looks for new logs."""
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Text = tuple[str, bytes]
"""Where it is from, and what it says."""


def secrets_among(contents: Iterable[bytes]) -> frozenset[bytes]:
    """Return the secret part of every token in these contents."""
    return frozenset(found for content in contents for found in TOKEN.findall(content))


def leaks_in(texts: Iterable[Text], secrets: frozenset[bytes]) -> list[str]:
    """Return one sentence for each text that holds a token, a known secret, a hash or a backend key."""
    return [f"{source} holds {what}" for source, text in texts for what in _found(text, secrets)]


def _found(text: bytes, secrets: frozenset[bytes]) -> Iterator[str]:
    if TOKEN.search(text):
        yield "a token"
    if not secrets.isdisjoint(_words(text, {len(secret) for secret in secrets})):
        yield "the secret part of a token, or a key between the parts"
    if any(mark in text for mark in HASHES):
        yield "a verifier's hash"
    if BACKEND_KEY.search(text):
        yield "a backend key"


def _words(text: bytes, lengths: Iterable[int]) -> Iterator[bytes]:
    """Yield every word of these lengths that a secret could be."""
    for run in frozenset(LONG_RUN.findall(text)):
        for length in lengths:
            yield from (run[start : start + length] for start in range(len(run) - length + 1))


def issued_secrets(environment: Environment) -> frozenset[bytes]:
    """Return every secret that the environment's store has seen.

    The secret parts of tokens, platform keys, and what would be the backend key of each UID.
    """
    files = [path for path in (environment.state / "etcd").rglob("*") if path.is_file()]
    # etcd takes room in advance, which is empty.
    contents = [path.read_bytes().rstrip(b"\0") for path in files]
    return secrets_among(contents) | keys_between_parts(contents)


def keys_between_parts(contents: Iterable[bytes]) -> frozenset[bytes]:
    """Return the platform keys in these contents, and every backend key that may derive from them."""
    platform_keys: set[bytes] = set()
    uids: set[bytes] = set()
    for content in contents:
        platform_keys.update(PLATFORM_KEY.findall(content))
        uids.update(UID.findall(content))
    backend_keys = {
        PlatformKey.of(key.decode()).backend_key(uid.decode()).encode()
        for key in platform_keys
        for uid in uids
    }
    return frozenset(platform_keys | backend_keys)


@contextmanager
def kept_logs(environment: Environment) -> Iterator[None]:
    """Keep what pods write beyond their end: each log gets a second name while its pod is there."""
    ended = Event()

    def keep() -> None:
        while not ended.wait(LOOK_SECONDS):
            _link_logs(environment.state / "node", _kept(environment.state))

    thread = Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _kept(state: Path) -> Path:
    """Return the directory of logs whose pods may be gone: beside the state, where only ours may be."""
    return state.with_name(f"{state.name}-kept-logs")


def _link_logs(node: Path, kept: Path) -> None:
    kept.mkdir(exist_ok=True)
    for path in node.rglob("*.log"):
        name = "+".join(path.relative_to(node).parts)
        # A pod may go at any moment, and most logs have their second name already.
        with suppress(FileNotFoundError, FileExistsError):
            (kept / name).hardlink_to(path)


def public_texts(environment: Environment) -> Iterator[Text]:
    """Yield everything that the parts of an environment say about themselves."""
    yield from _logs(environment.state)
    kubeconfig = environment.kubeconfig
    for kinds in ("events", "llminstances,apitokenrequests,llmmodels", "middlewares,ingresses"):
        yield kinds, _kubectl(kubeconfig, "get", kinds, "--all-namespaces", "--output=json")
    for address in _metrics_addresses(environment.state, kubeconfig):
        # A pod that is being replaced has nothing to say.
        with suppress(OSError), OPENER.open(f"http://{address}/metrics", timeout=10) as answer:
            yield f"metrics of {address}", answer.read()


def _logs(state: Path) -> Iterator[Text]:
    for directory in (state / "log", state / "node", _kept(state)):
        for path in sorted(directory.rglob("*.log*")):
            if path.is_file():
                yield str(path.relative_to(state.parent)), path.read_bytes()


def _metrics_addresses(state: Path, kubeconfig: Path) -> Iterator[str]:
    edge: Any = yaml.safe_load((state / "config" / "traefik.yaml").read_text())
    yield edge["entryPoints"]["internal"]["address"]
    output = ("--namespace=private-llm-system", "--output=json")
    pods: Any = json.loads(_kubectl(kubeconfig, "get", "pods", *output))
    for pod in pods["items"]:
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            is_operator = pod["metadata"]["name"].startswith("private-llm-operator")
            yield f"{pod['status']['podIP']}:{8080 if is_operator else 8091}"


def _kubectl(kubeconfig: Path, *arguments: str) -> bytes:
    program = str(Path(sys.executable).with_name("kubectl"))
    command = [program, f"--kubeconfig={kubeconfig}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
