"""The real OCI registry on loopback, and artifacts in it."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bare_servers import free_port, process
from eventually import eventually
from privatellm_local.build.builder import ensure_built
from privatellm_local.build.programs import REGISTRY
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True, slots=True)
class Registry:
    """A running registry, by its host and port."""

    host: str

    @property
    def url(self) -> str:
        """Where it answers; it has no TLS."""
        return f"http://{self.host}"

    def digest(self, repository: str, reference: str) -> str:
        """Return the digest of an artifact; fail when there is none."""
        place = f"{self.url}/v2/{repository}/manifests/{reference}"
        answer = httpx.head(place, headers={"Accept": MANIFEST}).raise_for_status()
        found: str = answer.headers["Docker-Content-Digest"]
        return found

    def push_image(self, repository: str, tag: str, content: bytes) -> str:
        """Push a small image and return its digest."""
        config = {
            "architecture": "amd64",
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": []},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self._blob(repository, CONFIG, json.dumps(config).encode()),
            "layers": [self._blob(repository, LAYER, content)],
        }
        place = f"{self.url}/v2/{repository}/manifests/{tag}"
        body = json.dumps(manifest).encode()
        httpx.put(place, content=body, headers={"Content-Type": MANIFEST}).raise_for_status()
        return _digest(body)

    def _blob(self, repository: str, media_type: str, content: bytes) -> dict[str, object]:
        digest = _digest(content)
        begun = httpx.post(f"{self.url}/v2/{repository}/blobs/uploads/").raise_for_status()
        upload = httpx.URL(begun.headers["Location"]).copy_merge_params({"digest": digest})
        octets = {"Content-Type": "application/octet-stream"}
        httpx.put(upload, content=content, headers=octets).raise_for_status()
        return {"mediaType": media_type, "digest": digest, "size": len(content)}


@contextmanager
def registry(directory: Path) -> Iterator[Registry]:
    """Run a registry for the length of the block.

    Args:
        directory: Where it keeps what is pushed, and its log.
    """
    paths = cache_paths()
    paths.create()
    (program,) = asyncio.run(ensure_built((REGISTRY,), paths, SilentProgress()))
    host = f"127.0.0.1:{free_port()}"
    configuration = {
        "version": "0.1",
        "storage": {"filesystem": {"rootdirectory": str(directory / "content")}},
        "http": {"addr": host},
        "log": {"level": "warn"},
    }
    file = directory / "registry.json"
    file.write_text(json.dumps(configuration))
    with process([str(program), "serve", str(file)], directory / "registry.log"):
        asyncio.run(_until_up(host))
        yield Registry(host)


async def _until_up(host: str) -> None:
    async with httpx.AsyncClient() as http:

        async def answers() -> bool:
            try:
                return (await http.get(f"http://{host}/v2/")).is_success
            except httpx.TransportError:
                return False

        await eventually(answers, what="the registry")


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
