"""Where the pods of an instance run, and how they make room for each other."""

from privatellm.api.llm_model import LLMModel, LLMModelSpec
from privatellm.kube import Manifest
from privatellm_operator.settings import NodeClass, ServerSettings

DEFAULT_CLASS = LLMModelSpec.model_fields["node_class"].default
"""The class of models that name none."""


def misplaced(model: LLMModel, settings: ServerSettings) -> str:
    """Return what is wrong with a model's node class; empty when it can be placed."""
    name = model.spec.node_class
    if name in (DEFAULT_CLASS, *settings.node_classes):
        return ""
    known = ", ".join(sorted({DEFAULT_CLASS, *settings.node_classes}))
    return (
        f"LLMModel {model.metadata.name} names the node class {name!r}, and the platform's settings "
        f"define {known}. Correct spec.nodeClass, or define the class."
    )


def placement(model: LLMModel, settings: ServerSettings) -> Manifest:
    """Return the fields of the pod's spec that choose its node; absent ones are left out.

    Args:
        model: Names the node class; the class ``default`` need not be defined and then places nothing.
        settings: Defines the classes.
    """
    chosen = settings.node_classes.get(model.spec.node_class, NodeClass())
    fields = chosen.model_dump(by_alias=True, mode="json", exclude_defaults=True)
    return dict(sorted(fields.items()))


def strategy(model: LLMModel, replicas: int) -> Manifest:
    """Return how old pods are replaced by new ones.

    A new pod usually comes first. Where each server holds a device for itself the new one may never be
    scheduled while the old one lives, so there the old one goes first; with several servers one at a time.
    """
    if model.spec.gpu is None:
        return _rolling(surge=1, unavailable=0)
    return {"type": "Recreate"} if replicas <= 1 else _rolling(surge=0, unavailable=1)


def _rolling(*, surge: int, unavailable: int) -> Manifest:
    limits = {"maxUnavailable": unavailable, "maxSurge": surge}
    return {"type": "RollingUpdate", "rollingUpdate": limits}
