"""A platform with other cache settings, and models of the tests' own, on the embedded environment."""

import asyncio
import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from customer import MODEL, READY_SECONDS, instance
from eventually import eventually
from fetcher_source import Answer, Exchange, HttpSource
from privatellm import labels
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.client import PatchType
from privatellm_local.platform.facts import OPERATOR, SYSTEM_NAMESPACE

FETCHER = "fetch-model"


@contextmanager
def platform_settings(kubeconfig: Path, **variables: str) -> Iterator[None]:
    """Restart the operator with further variables, and with its own again at the end.

    It takes a while on a busy machine, so a module does it once; its fixture is an ordinary one.
    """
    before = asyncio.run(_with(kubeconfig, variables))
    try:
        yield
    finally:
        asyncio.run(_with(kubeconfig, {}, before))


async def _with(
    kubeconfig: Path, variables: Mapping[str, str], only: list[Manifest] | None = None
) -> list[Manifest]:
    """Add variables, or put these in place of all, and return what there was before."""
    async with await KubeClient.connect(kubeconfig) as client:
        deployment = await client.get(kinds.DEPLOYMENT, OPERATOR, SYSTEM_NAMESPACE)
        assert deployment is not None
        before: list[Manifest] = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
        kept = [variable for variable in before if variable["name"] not in variables]
        added = [{"name": name, "value": value} for name, value in variables.items()]
        await _restart(client, [*kept, *added] if only is None else only)
        return before


async def _restart(client: KubeClient, variables: list[Manifest]) -> None:
    path = "/spec/template/spec/containers/0/env"
    patch = [{"op": "replace", "path": path, "value": variables}]
    await client.patch(
        kinds.DEPLOYMENT, OPERATOR, SYSTEM_NAMESPACE, patch, patch_type=PatchType.JSON
    )

    async def replaced() -> bool:
        """Exactly one operator is left, and it runs with these variables."""
        pods = await client.list(kinds.POD, SYSTEM_NAMESPACE, labels=f"{labels.NAME}={OPERATOR}")
        given = [pod["spec"]["containers"][0]["env"] for pod in pods.items]
        named = [[variable["name"] for variable in env] for env in given]
        ready = [
            c["ready"] for pod in pods.items for c in pod["status"].get("containerStatuses", ())
        ]
        wanted = [variable["name"] for variable in variables]
        return named == [wanted] and given[0] == _defaulted(variables) and ready == [True]

    await eventually(replaced, within=180, what="an operator with other settings")


def _defaulted(variables: list[Manifest]) -> list[Manifest]:
    """Return the variables as the API server stores them."""
    return [
        variable
        | {"valueFrom": {"fieldRef": {"apiVersion": "v1"} | variable["valueFrom"]["fieldRef"]}}
        if "valueFrom" in variable
        else variable
        for variable in variables
    ]


async def add_model(client: KubeClient, url: str, **spec: Any) -> str:
    """Offer the demo's model from another address and return its name; no digest unless given."""
    demo = await client.get(kinds.LLM_MODEL, MODEL)
    assert demo is not None
    kept = {k: v for k, v in demo["spec"].items() if k not in {"sha256", "sizeBytes"}}
    name = f"model-{secrets.token_hex(4)}"
    manifest = {
        "apiVersion": kinds.LLM_MODEL.api_version,
        "kind": "LLMModel",
        "metadata": {"name": name},
        "spec": kept | {"source": {"url": url}} | spec,
    }
    await client.create(kinds.LLM_MODEL, manifest)
    return name


async def demo_weights(client: KubeClient) -> Path:
    """Return the file of the demo's model."""
    demo = await client.get(kinds.LLM_MODEL, MODEL)
    assert demo is not None
    return Path(demo["spec"]["source"]["url"].removeprefix("file://"))


def linked(weights: Path, directory: Path, name: str = "m.gguf") -> Path:
    """Return a second name of the file, which can be replaced without touching the first."""
    path = directory / name
    try:
        os.link(weights, path)
    except OSError:
        path.write_bytes(weights.read_bytes())
    return path


def replace(path: Path) -> None:
    """Put other bytes that look like a model in a file's place."""
    path.unlink()
    path.write_bytes(b"GGUF" + os.urandom(100_000))


def padded(weights: Path, path: Path) -> Path:
    """Write weights that a server loads like the given ones and whose digest is another."""
    path.write_bytes(weights.read_bytes() + b"\0")
    return path


def digest_of(path: Path) -> str:
    """Return a file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def order(client: KubeClient, namespace: str, name: str, model: str, **spec: Any) -> None:
    """Order an instance and wait for nothing."""
    await client.create(kinds.LLM_INSTANCE, instance(namespace, name, model=model, **spec))


async def until_gone(
    client: KubeClient, kind: kinds.Kind, namespace: str | None, name: str
) -> None:
    """Wait until an object does not exist."""

    async def gone() -> bool:
        return await client.get(kind, name, namespace) is None

    await eventually(gone, within=READY_SECONDS, what=f"the end of {kind.name} {name}")


async def pods_of(client: KubeClient, namespace: str, name: str) -> list[Manifest]:
    """Return the pods of an instance that are not on their way out."""
    listing = await client.list(kinds.POD, namespace, labels=f"{labels.LLM_INSTANCE}={name}")
    return [pod for pod in listing.items if not pod["metadata"].get("deletionTimestamp")]


async def claims_of(client: KubeClient, namespace: str) -> list[Manifest]:
    """Return the claims that keep weights in a namespace."""
    selector = f"{labels.NAME}={labels.MODEL_CACHE}"
    return list(
        (await client.list(kinds.PERSISTENT_VOLUME_CLAIM, namespace, labels=selector)).items
    )


async def directory_of(client: KubeClient, claim: Manifest) -> Path:
    """Return where the node keeps a claim's files."""
    volume = await client.get(kinds.PERSISTENT_VOLUME, claim["spec"]["volumeName"])
    assert volume is not None
    return Path(volume["spec"]["hostPath"]["path"])


def models_in(directory: Path, model: str = "") -> list[Path]:
    """Return the model files below a directory, of one model or of all."""
    return sorted(directory.rglob(f"{model}*.gguf"))


async def fetch_jobs_of(client: KubeClient, model: str) -> list[Manifest]:
    """Return the platform's Jobs for a model."""
    selector = f"{labels.LLM_MODEL}={model}"
    return list((await client.list(kinds.JOB, SYSTEM_NAMESPACE, labels=selector)).items)


def slowly(pieces: int, seconds_each: float) -> Answer:
    """Send the whole file in pieces, until the test lets the rest go at once."""

    def answer(exchange: Exchange, source: HttpSource) -> None:
        content = source.content
        exchange.begin(200, {**source.headers(), "Content-Length": str(len(content))})
        size = len(content) // pieces + 1
        for at in range(0, len(content), size):
            exchange.wfile.write(content[at : at + size])
            exchange.wfile.flush()
            source.released.wait(seconds_each)

    return answer


def percentages(message: str) -> list[int]:
    """Return the percentages in a message."""
    return [int(found) for found in re.findall(r"(\d+) %", message)]
