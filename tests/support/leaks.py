"""Nothing secret may be found in what the parts write about themselves.

Every key that ever existed in an environment is in etcd's files, so those are the list of what to look for:
no test has to tell which keys it was given. What is searched is everything an operator of the platform or a
customer reads: logs of all components and pods, events, status and metrics.
"""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from embedded import Environment

TOKEN = re.compile(rb"pllm_[a-z2-7]{12}_([0-9A-Za-z]{43})[0-9A-Za-z]{6}")
LONG_RUN = re.compile(rb"[0-9A-Za-z]{43,}")
HASHES = (b"{SSHA256}", b"e1NTSEEyNTZ9")
"""The mark of a verifier's hash, plain and in base64."""

BACKEND_KEY = re.compile(rb"[Bb]earer [0-9a-f]{64}")
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Text = tuple[str, bytes]
"""Where it is from, and what it says."""


def secrets_among(contents: Iterable[bytes]) -> frozenset[bytes]:
    """Return the secret part of every token in these contents."""
    return frozenset(found for content in contents for found in TOKEN.findall(content))


def leaks_in(texts: Iterable[Text], secrets: frozenset[bytes]) -> list[str]:
    """Return one sentence for each text that holds a token, a secret part, a hash or a backend key."""
    return [f"{source} holds {what}" for source, text in texts for what in _found(text, secrets)]


def _found(text: bytes, secrets: frozenset[bytes]) -> Iterator[str]:
    if TOKEN.search(text):
        yield "a token"
    runs = frozenset(LONG_RUN.findall(text))
    if any(secret in run for run in runs for secret in secrets):
        yield "the secret part of a token"
    if any(mark in text for mark in HASHES):
        yield "a verifier's hash"
    if BACKEND_KEY.search(text):
        yield "a backend key"


def issued_secrets(environment: Environment) -> frozenset[bytes]:
    """Return the secret part of every token that the environment's store has seen."""
    files = sorted((environment.state / "etcd").rglob("*"))
    return secrets_among(path.read_bytes() for path in files if path.is_file())


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
    for directory in (state / "log", state / "node"):
        for path in sorted(directory.rglob("*.log*")):
            if path.is_file():
                yield str(path.relative_to(state)), path.read_bytes()


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
