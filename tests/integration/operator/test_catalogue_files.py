"""The catalogue's files under a running operator: what changes there arrives without a restart."""

import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from eventually import eventually
from operator_objects import model_manifest
from operator_process import RunningOperator, environment, running
from privatellm.errors import NotFoundError
from privatellm.kube import KubeClient, Manifest, kinds

pytestmark = pytest.mark.integration

SOON = 30.0


@dataclass
class Files:
    """The directory that a ConfigMap's volume would be, with models of this test alone."""

    directory: Path
    client: KubeClient

    def __post_init__(self) -> None:
        self.suffix = secrets.token_hex(4)

    def name(self, stem: str) -> str:
        """Return the name of a model; the file is called otherwise."""
        return f"{stem}-{self.suffix}"

    def put(self, stem: str, **spec: object) -> None:
        """Write a file with one model, at once as a volume changes."""
        manifest = model_manifest(self.name(stem), **spec)
        self._write(stem, yaml.safe_dump(manifest | {"metadata": {"name": self.name(stem)}}))

    def spoil(self, stem: str) -> None:
        """Misspell a field of a file."""
        content = yaml.safe_load((self.directory / f"{stem}.yaml").read_text())
        content["spec"]["contextSise"] = content["spec"].pop("contextSize")
        self._write(stem, yaml.safe_dump(content))

    def _write(self, stem: str, text: str) -> None:
        draft = self.directory / f".{stem}"
        draft.write_text(text)
        draft.rename(self.directory / f"{stem}.yaml")

    async def spec(self, stem: str) -> Manifest:
        """Return what the cluster has of a model; empty when there is none."""
        found = await self.client.get(kinds.LLM_MODEL, self.name(stem))
        return dict((found or {}).get("spec", {}))

    async def until(self, stem: str, **spec: object) -> None:
        """Wait until the cluster's model says so."""

        async def arrived() -> bool:
            found = await self.spec(stem)
            assert {name: found.get(name) for name in spec} == spec
            return True

        await eventually(arrived, within=SOON, what=f"the model {self.name(stem)}")

    async def events(self, stem: str) -> list[Manifest]:
        """Return what was told on a model because its file is broken."""
        listing = await self.client.list(
            kinds.EVENT, "default", fields="reason=CatalogueFileSkipped"
        )
        return [event for event in listing.items if event["regarding"]["name"] == self.name(stem)]


@pytest.fixture
async def files(client: KubeClient, tmp_path: Path) -> AsyncIterator[Files]:
    """A directory with one model; every model that came of it goes again."""
    directory = tmp_path / "catalogue"
    directory.mkdir()
    made = Files(directory, client)
    made.put("first", contextSize=2048)
    yield made
    for stem in ("first", "second"):
        with suppress(NotFoundError):
            await client.delete(kinds.LLM_MODEL, made.name(stem))


@pytest.fixture
async def operator(
    bare_kubeconfig: Path, tmp_path: Path, tenant: str, system: str, files: Files
) -> AsyncIterator[RunningOperator]:
    """An operator's process that looks at the files often."""
    variables = environment(
        bare_kubeconfig,
        tmp_path,
        POD_NAMESPACE=system,
        PRIVATE_LLM_TOKEN_NAMESPACE=system,
        PRIVATE_LLM_NAMESPACES=tenant,
        PRIVATE_LLM_CATALOGUE_DIRECTORY=str(files.directory),
        PRIVATE_LLM_SWEEP_SECONDS="0.2",
    )
    async with running(variables, tmp_path / "operator.log") as started:
        await started.until("leading")
        yield started
        assert await started.stop() == 0


async def test_models_come_and_change_with_their_files_and_stay_when_those_break(
    operator: RunningOperator, files: Files, tmp_path: Path
) -> None:
    """A new file, an edited one, a broken one that is told of once, and a mended one."""
    await files.until("first", contextSize=2048)
    files.put("second", contextSize=4096)
    await files.until("second", contextSize=4096)
    files.put("first", contextSize=1024)
    await files.until("first", contextSize=1024)

    files.spoil("first")

    async def told() -> bool:
        return bool(await files.events("first"))

    await eventually(told, within=SOON, what="an event on the model of the broken file")
    files.put("second", contextSize=512)
    await files.until("second", contextSize=512)
    [event] = await files.events("first")
    assert event["type"] == "Warning"
    assert "contextSise" in event["note"]
    assert (await files.spec("first"))["contextSize"] == 1024
    assert await files.events("second") == []
    assert (tmp_path / "operator.log").read_text().count("catalogue file skipped") == 1

    files.put("first", contextSize=256)
    await files.until("first", contextSize=256)
    assert operator.process.returncode is None
