"""The catalogue: files with LLMModels that the operator applies.

A chart cannot install a CRD and an object of it in one release, so the models travel as files of a
ConfigMap. A broken file is skipped and named, and the others go on. What a file says is kept so in the
cluster, and whoever changed it there is told by an event; a model that left the files stays, because
instances may use it, and models of other origin are never touched.
"""

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


class Catalogue:
    """The models of one directory, read afresh whenever somebody asks."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._told: frozenset[str] = frozenset()

    def models(self) -> dict[str, Manifest]:
        """Return the models by name, without those whose file is broken.

        A fault is logged when it is new, so that a broken file does not fill the log.
        """
        found: dict[str, Manifest] = {}
        faults: list[str] = []
        for path in self._files():
            try:
                model = prepared(read_model(path))
                found[model["metadata"]["name"]] = model
            except InvalidInputError as error:
                faults.append(str(error))
        for fault in faults:
            if fault not in self._told:
                log.error("catalogue file skipped", error=fault)
        self._told = frozenset(faults)
        return found

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

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass over the model of that name."""
        desired = self._catalogue.models().get(key.name)
        if desired is None:
            return None
        live = self._store.get("", key.name)
        # What the team adds to a model of the files stays.
        if live is None or lacks(live, desired):
            answer = await self._context.client.apply(
                kinds.LLM_MODEL, desired, field_manager=labels.FIELD_MANAGER
            )
            self._context.wrote(kinds.LLM_MODEL, answer, by=key)
            if live is not None and is_edit(live, desired):
                await self._recorder.record(answer, RESTORED)
        return None


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
