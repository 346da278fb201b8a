"""Apply mutation rules in their order. Pure: the object that is given is never changed."""

from collections.abc import Iterable
from typing import Any

from privatellm.kube import Manifest
from privatellm_sync_agent.mutation import paths
from privatellm_sync_agent.naming.hashes import go_replace
from privatellm_sync_agent.published.mutations import Mutation, RegexMutation, TemplateMutation
from privatellm_sync_agent.templates import Template
from privatellm_sync_agent.templates.values import text_of


def mutated(manifest: Manifest, rules: Iterable[Mutation], other: Manifest | None) -> Manifest:
    """Return an object after all rules.

    Args:
        manifest: The object that travels.
        rules: Steps that were accepted by :mod:`~privatellm_sync_agent.published.refusals`.
        other: The object on the other side, if it exists; templates see it as ``.RemoteObject``.

    Raises:
        TemplateError: when a template cannot be rendered for this object.
        PathError: when a path leads into a list that is too short.
    """
    result = manifest
    for rule in rules:
        result = _step(result, rule, other)
    return result


def _step(manifest: Manifest, rule: Mutation, other: Manifest | None) -> Manifest:
    changed: Any = manifest
    if rule.delete:
        changed = paths.without(manifest, paths.parse(rule.delete.path))
    elif rule.regex:
        changed = _regex(manifest, rule.regex)
    elif rule.template:
        changed = _template(manifest, rule.template, other)
    result: Manifest = changed
    return result


def _regex(manifest: Manifest, rule: RegexMutation) -> Any:
    path = paths.parse(rule.path)
    if not rule.pattern:
        return paths.put(manifest, path, rule.replacement)
    replaced = go_replace(rule.pattern, rule.replacement, _as_text(paths.get(manifest, path)))
    return paths.put(manifest, path, replaced)


def _template(manifest: Manifest, rule: TemplateMutation, other: Manifest | None) -> Any:
    path = paths.parse(rule.path)
    found = paths.get(manifest, path)
    value = "" if found is paths.MISSING else found
    context = {"Value": value, "LocalObject": manifest, "RemoteObject": other}
    return paths.put(manifest, path, Template.parse(rule.template).render(context))


def _as_text(value: Any) -> str:
    return "" if value is paths.MISSING or value is None else text_of(value)
