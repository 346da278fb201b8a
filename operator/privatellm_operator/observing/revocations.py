"""How long keys lived on at the edge after their end.

The operator knows when it asked for a verifier's end: that is a step of the pass that removed it. Each
pod of the ForwardAuth service tells, beside the last uses, when its last worker began to refuse a key. The
difference is the lag, right to the difference of the two pods' clocks; where it would be negative it is
that difference, and counts as none. Verifiers that the sweep removes are not measured: nobody waits for
those.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime

from privatellm.names import verifier_name
from privatellm.telemetry.passes import PassRecord

REMEMBERED = 10_000
"""Ended keys whose lag is still to be heard of."""


def ignore_lag(_seconds: float) -> None:
    """Take no note of a lag."""


class Revocations:
    """Ended keys, and which pods told of them."""

    def __init__(
        self, token_namespace: str = "", on_lag: Callable[[float], None] = ignore_lag
    ) -> None:
        """Begin without keys.

        Args:
            token_namespace: Where verifiers are; empty to measure nothing.
            on_lag: Is told each lag, in seconds.
        """
        self._namespace = token_namespace
        self._on_lag = on_lag
        self._ended: OrderedDict[str, float] = OrderedDict()
        self._heard: dict[str, set[str]] = {}

    def note(self, record: PassRecord) -> None:
        """Take note of the verifiers that a pass removed."""
        for step in record.steps:
            is_ours = step.attributes.get("k8s.namespace.name") == self._namespace
            if step.name == "delete secrets" and is_ours and not step.error:
                name = str(step.attributes["private_llm.object.name"])
                self._end(name.removeprefix(verifier_name("")), step.began / 1e9)

    def hear(self, pod: str, refused: Mapping[str, datetime]) -> None:
        """Take in what a pod tells: since when each key is refused there by all its workers."""
        for key_id, since in refused.items():
            ended = self._ended.get(key_id)
            heard = self._heard.get(key_id, set())
            if ended is not None and pod not in heard:
                self._heard.setdefault(key_id, heard).add(pod)
                self._on_lag(max(since.timestamp() - ended, 0.0))

    def _end(self, key_id: str, moment: float) -> None:
        # A pass that is repeated removes what is gone already; the first time counts.
        self._ended.setdefault(key_id, moment)
        if len(self._ended) > REMEMBERED:
            forgotten, _ = self._ended.popitem(last=False)
            self._heard.pop(forgotten, None)
