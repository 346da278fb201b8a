"""What a pass over one model knows before it decides: frozen values, everything already fetched."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from privatellm.api.llm_model import LLMModel
from privatellm_operator.fetches import FetchProgress
from privatellm_operator.reconcile.instance.causes import Cause
from privatellm_operator.reconcile.model.reports import Report


@dataclass(frozen=True, slots=True)
class FetchJob:
    """One Job of the platform for this model.

    Attributes:
        name: Its name.
        uid: Its UID.
        node: The node whose cache it fills; empty when it only looks at the bytes.
        weights: What the weights that it fetches are called.
        succeeded_at: When it ended well; ``None`` when it did not.
        failed_at: When it gave up; ``None`` when it did not.
        report: What it saw; ``None`` until it ended well.
        cause: What keeps it from ending well; ``None`` when nothing is known.
        progress: How far it is; ``None`` when that is not known.
    """

    name: str
    uid: str
    node: str
    weights: str
    succeeded_at: datetime | None = None
    failed_at: datetime | None = None
    report: Report | None = None
    cause: Cause | None = None
    progress: FetchProgress | None = None

    @property
    def is_active(self) -> bool:
        """Whether it still tries."""
        return self.succeeded_at is None and self.failed_at is None


@dataclass(frozen=True, slots=True)
class ModelWorld:
    """Everything one decision needs.

    Attributes:
        model: The model.
        is_used: Whether an instance names it.
        users: These instances, as ``namespace/name``, sorted; told only of a model that is to go.
        is_run: Whether one of them may use it and wants a server.
        waiting: When pods began to wait for a node's cache, the latest by node.
        jobs: The platform's Jobs for this model, sorted by name.
        now: The time of the pass, aware and in UTC.
        is_shared: Whether operators of other namespaces may look after the model as well.
    """

    model: LLMModel
    is_used: bool
    users: tuple[str, ...]
    is_run: bool
    waiting: Mapping[str, datetime]
    jobs: tuple[FetchJob, ...]
    now: datetime
    is_shared: bool = False
