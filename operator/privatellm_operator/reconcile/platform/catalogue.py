"""The catalogue: files with LLMModels that the operator applies.

A chart cannot install a CRD and an object of it in one release, so the models travel as files of a
ConfigMap, which are read again and again: what changes there arrives without a restart. A broken file is
skipped and named, and the others go on; its model stays as it was, and an event on it says why. What a
file says is kept so in the cluster, and whoever changed it there is told by an event; a model that left the
files stays, because instances may use it, and models of other origin are never touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from privatellm import labels
from privatellm.catalogue import read_model
from privatellm.errors import InvalidInputError
from privatellm.kube import Manifest, kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.events import Announcement, EventRecorder
from privatellm_operator.reconcile.matching import lacks
from privatellm_operator.render.instance import DIGEST_ANNOTATION, with_digest

log = structlog.get_logger(__name__)

RESTORED = Announcement(
    reason="CatalogueRestored",
    note="The model was changed in the cluster and is again what the platform's catalogue says. Change it "
    "there (with Helm in the value catalogue.models), or offer it as a model of another name.",
    action="Restore",
    warning=True,
)
"""What whoever changed a model of the catalogue is told."""


FILE_SKIPPED = "CatalogueFileSkipped"
"""The reason of the event on a model whose file cannot be used."""


def skipped(fault: str) -> Announcement:
    """Return what is told on a model whose file cannot be used any more.

    Args:
        fault: What is wrong with the file, in whole sentences.
    """
    return Announcement(
        reason=FILE_SKIPPED,
        note=f"The model stays as it is until its file is mended. {fault}",
        action="Keep",
        warning=True,
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """What the files said at one moment.

    Attributes:
        models: The models, ready to be applied, by name.
        faults: What is wrong with the other files, by the name of the model that each stands for.
    """

    models: Mapping[str, Manifest]
    faults: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """The models that there is a file for, whatever is in it."""
        return frozenset({*self.models, *self.faults})


class Catalogue:
    """The models of one directory, read afresh whenever somebody asks."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._names: dict[Path, str] = {}
        self._told: frozenset[str] = frozenset()

    def read(self) -> Reading:
        """Read every file.

        A broken one stands for the model that it held before; when nobody knows, for the one that it is
        called after. A fault is logged when it is new, so that a broken file does not fill the log.
        """
        models: dict[str, Manifest] = {}
        faults: dict[str, str] = {}
        for path in self._files():
            try:
                model = prepared(read_model(path))
            except InvalidInputError as error:
                faults[self._names.get(path, path.stem)] = str(error)
            else:
                self._names[path] = model["metadata"]["name"]
                models[self._names[path]] = model
        for fault in faults.values():
            if fault not in self._told:
                log.error("catalogue file skipped", error=fault)
        self._told = frozenset(faults.values())
        return Reading(models, faults)

    def _files(self) -> list[Path]:
        if self._directory is None or not self._directory.is_dir():
            return []
        return sorted(self._directory.glob("[!.]*.yaml"))


class CatalogueReconciler:
    """Keeps each model of the catalogue's files in the cluster."""

    def __init__(self, context: ProcessContext, catalogue: Catalogue) -> None:
        self._context = context
        self._store = context.world[kinds.LLM_MODEL]
        self._catalogue = catalogue
        self._recorder = EventRecorder(context.client, context.clock, context.settings.pod.name)
        self._told: dict[str, str] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass over the model of that name."""
        reading = self._catalogue.read()
        live, desired = self._store.get("", key.name), reading.models.get(key.name)
        if desired is None:
            await self._tell(live, reading.faults.get(key.name))
            return None
        self._told.pop(key.name, None)
        # What the team adds to a model of the files stays.
        if live is None or lacks(live, desired):
            answer = await self._context.client.apply(
                kinds.LLM_MODEL, desired, field_manager=labels.FIELD_MANAGER
            )
            self._context.wrote(kinds.LLM_MODEL, answer, by=key)
            if live is not None and is_edit(live, desired):
                await self._recorder.record(answer, RESTORED)
        return None

    async def _tell(self, live: Manifest | None, fault: str | None) -> None:
        """Say on a model of ours that its file is broken, once for each fault."""
        if live is None or fault is None or not is_ours(live):
            return
        name = live["metadata"]["name"]
        if self._told.get(name) != fault:
            self._told[name] = fault
            await self._recorder.record(live, skipped(fault))


def is_ours(live: Manifest) -> bool:
    """Say whether a model came from the catalogue."""
    marks = live["metadata"].get("labels") or {}
    return bool(marks.get(labels.MANAGED_BY) == labels.MANAGED_BY_OPERATOR)


def is_edit(live: Manifest, desired: Manifest) -> bool:
    """Say whether a model differs from its file because somebody changed the model, and not the file."""
    applied, wanted = (
        (model["metadata"].get("annotations") or {}).get(DIGEST_ANNOTATION)
        for model in (live, desired)
    )
    return applied == wanted


def prepared(manifest: Manifest) -> Manifest:
    """Return a file's model as we apply it: marked as ours, with a digest of itself."""
    metadata = manifest["metadata"]
    ours = {labels.PART_OF: labels.PART_OF_US, labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR}
    marked = {**metadata, "labels": {**(metadata.get("labels") or {}), **ours}}
    return with_digest({**manifest, "metadata": marked})
