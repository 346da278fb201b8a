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
from privatellm_sync_agent.templates.values import text_of


class ResolutionError(InvalidInputError):
    """Both sides name different numbers of related objects, or a place is missing or given twice."""


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


def namespaces(
    related: RelatedResource, primaries: Primaries, selected: Iterable[Manifest] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the namespaces of originals, each with that of its copies; none while they are not known yet.

    Args:
        related: The rule.
        primaries: The published object on both sides.
        selected: The namespaces that :func:`selector_of` selected on the origin's side, when the rule for
            namespaces has a selector.

    Raises:
        ResolutionError: when a primary without a namespace needs a rule for them.
    """
    rule = related.object.namespace
    if rule is None:
        here, there = primaries.on(related.origin), primaries.on(destination_side(related))
        found = [(_own_namespace(here), _own_namespace(there))]
    else:
        found = _mapped(rule, related, primaries, selected)
    checked = ((checked_namespace(here), checked_namespace(there)) for here, there in found)
    return tuple(sorted(set(checked)))


def pairs(
    related: RelatedResource,
    primaries: Primaries,
    places: Iterable[tuple[str, str]],
    originals: Iterable[Manifest] = (),
) -> tuple[Pair, ...]:
    """Return the related objects in a stable order; none while they are not known yet.

    Args:
        related: The rule.
        primaries: The published object on both sides.
        places: What :func:`namespaces` returned, or less.
        originals: What :func:`selector_of` selected, when the rule has a selector.

    Raises:
        ResolutionError: when both sides name a different number of objects.
        TemplateError: when a template cannot be rendered.
        IllegalNameError: when a rule yields something no object can be called.
    """
    everything = tuple(originals)
    found = set()
    for origin, destination in places:
        here = (one for one in everything if one["metadata"].get("namespace") == origin)
        found |= {
            Pair(Place(origin, checked_name(name)), Place(destination, checked_name(copy)))
            for name, copy in _mapped(related.object, related, primaries, here)
        }
    if len({pair.destination for pair in found}) != len(found):
        raise ResolutionError(
            "Every related object needs a place of its own; the rule gives one place to several."
        )
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


def _own_namespace(primary: Manifest) -> str:
    namespace = str(primary["metadata"].get("namespace", ""))
    if not namespace:
        raise ResolutionError(
            "A published object without a namespace needs object.namespace for its related ones."
        )
    return namespace


def _mapped(
    rule: ObjectRule, related: RelatedResource, primaries: Primaries, selected: Iterable[Manifest]
) -> list[tuple[str, str]]:
    """Return names on the origin's side, each with its counterpart, where neither side is empty."""
    if rule.selector:
        names = _rewritten(rule.selector, primaries, selected)
    else:
        names = _named(rule, primaries, related.origin, destination_side(related))
    return [(here, there) for here, there in names if here and there]


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
        return [Template.parse(rule.template.template).render(primaries.context(side))]
    return []


def _referenced(reference: Reference, primary: Manifest) -> list[str]:
    found = paths.get(primary, paths.parse(reference.path))
    if found is paths.MISSING or found is None:
        return []
    # An empty item keeps its place, or the lists of both sides would be read askew.
    values = found if isinstance(found, list) else [found]
    names = ["" if value is None else text_of(value).strip() for value in values]
    return [_replaced(reference.regex, name) if reference.regex else name for name in names]


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
