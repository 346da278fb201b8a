"""Which related objects there are: pairs of a place on the origin's side and one on the destination's.

Pure: both primaries and, for selectors, the selected originals come in; pairs go out. Nothing is remembered
between two calls, so no tenant's rendered selector can ever serve another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from privatellm.errors import InvalidInputError
from privatellm.kube import Manifest
from privatellm_sync_agent.mutation import paths
from privatellm_sync_agent.naming.hashes import go_replace
from privatellm_sync_agent.naming.names import checked_name, checked_namespace
from privatellm_sync_agent.objects.selectors import LabelSelector
from privatellm_sync_agent.published.related import (
    ObjectRule,
    Origin,
    Reference,
    RegularExpression,
    RelatedResource,
    Rewrite,
    Selector,
)
from privatellm_sync_agent.templates import Template
from privatellm_sync_agent.templates.functions import text_of


class ResolutionError(InvalidInputError):
    """Both sides do not lead to the same number of related objects, or a namespace is missing."""


@dataclass(frozen=True, slots=True)
class Primaries:
    """The published object on both sides."""

    remote: Manifest
    local: Manifest
    cluster: str
    cluster_path: str = ""

    def on(self, side: Origin) -> Manifest:
        """Return the object of one side."""
        return self.remote if side is Origin.KCP else self.local

    def context(self, side: Origin) -> dict[str, Any]:
        """Return what templates see when they are rendered for one side."""
        return {"Side": side.value, "Object": self.on(side), **self._cluster()}

    def both(self) -> dict[str, Any]:
        """Return what templates of selectors see."""
        return {"LocalObject": self.local, "RemoteObject": self.remote, **self._cluster()}

    def _cluster(self) -> dict[str, str]:
        return {"ClusterName": self.cluster, "ClusterPath": self.cluster_path}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Namespace and name of an object on one side."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """An original and where its copy belongs."""

    origin: Place
    destination: Place


def destination_side(related: RelatedResource) -> Origin:
    """Return the side on which copies live."""
    return Origin.KCP if related.origin is Origin.SERVICE else Origin.SERVICE


def namespaces(related: RelatedResource, primaries: Primaries) -> tuple[str, str] | None:
    """Return the namespaces of originals and copies; ``None`` while one is not known yet.

    Raises:
        ResolutionError: when a primary without a namespace needs a rule for them.
    """
    found = [
        _namespace(related.object.namespace, primaries, side)
        for side in (related.origin, destination_side(related))
    ]
    origin, destination = found
    return (origin, destination) if origin and destination else None


def pairs(
    related: RelatedResource, primaries: Primaries, originals: Iterable[Manifest] = ()
) -> tuple[Pair, ...]:
    """Return the related objects in a stable order; none while they are not known yet.

    Args:
        related: The rule.
        primaries: The published object on both sides.
        originals: What :func:`selector_of` selected, when the rule has a selector.

    Raises:
        ResolutionError: when both sides name a different number of objects.
        TemplateError: when a template cannot be rendered.
        IllegalNameError: when a rule yields something no object can be called.
    """
    places = namespaces(related, primaries)
    if places is None:
        return ()
    rule = related.object
    if rule.selector:
        names = _rewritten(rule.selector, primaries, originals)
    else:
        names = _named(rule, primaries, related.origin, destination_side(related))
    found = {
        Pair(Place(places[0], checked_name(here)), Place(places[1], checked_name(there)))
        for here, there in names
    }
    return tuple(sorted(found))


def selector_of(selector: Selector, primaries: Primaries) -> LabelSelector:
    """Return a selector with its templates rendered for one object; the rule itself stays as it is."""
    context = primaries.both()
    rendered = {
        Template.parse(key).render(context): Template.parse(value).render(context)
        for key, value in selector.match_labels.items()
    }
    return LabelSelector(
        match_labels={key: value for key, value in rendered.items() if key},
        match_expressions=selector.match_expressions,
    )


def _namespace(rule: ObjectRule | None, primaries: Primaries, side: Origin) -> str:
    if rule is None:
        namespace = primaries.on(side)["metadata"].get("namespace", "")
        if not namespace:
            raise ResolutionError(
                "A published object without a namespace needs object.namespace for its related ones."
            )
        return str(namespace)
    names = _names(rule, primaries, side)
    return checked_namespace(names[0]) if names else ""


def _named(
    rule: ObjectRule, primaries: Primaries, origin: Origin, destination: Origin
) -> list[tuple[str, str]]:
    here, there = _names(rule, primaries, origin), _names(rule, primaries, destination)
    if not here or not there:
        return []
    if len(here) != len(there):
        raise ResolutionError(
            f"Both sides must name the same number of related objects; got {len(here)} on the "
            f"{origin.value} side and {len(there)} on the {destination.value} side."
        )
    return list(zip(here, there, strict=True))


def _names(rule: ObjectRule, primaries: Primaries, side: Origin) -> list[str]:
    if rule.reference:
        return _referenced(rule.reference, primaries.on(side))
    if rule.template:
        name = Template.parse(rule.template.template).render(primaries.context(side))
        return [name] if name else []
    return []


def _referenced(reference: Reference, primary: Manifest) -> list[str]:
    found = paths.get(primary, paths.parse(reference.path))
    values = found if isinstance(found, list) else [found]
    names = [
        _replaced(reference.regex, text_of(value)) if reference.regex else text_of(value)
        for value in values
        if value is not paths.MISSING and value is not None
    ]
    return [name for name in names if name]


def _rewritten(
    selector: Selector, primaries: Primaries, originals: Iterable[Manifest]
) -> list[tuple[str, str]]:
    return [
        (original["metadata"]["name"], _destination(selector.rewrite, primaries.both(), original))
        for original in originals
    ]


def _destination(rewrite: Rewrite, context: Mapping[str, Any], original: Manifest) -> str:
    name = original["metadata"]["name"]
    if rewrite.template:
        source = Template.parse(rewrite.template.template)
        return source.render({**context, "Value": name, "RelatedObject": original})
    return _replaced(rewrite.regex or RegularExpression(), name)


def _replaced(rule: RegularExpression, value: str) -> str:
    if not rule.pattern:
        return rule.replacement
    return go_replace(rule.pattern, rule.replacement, value)
