"""What a PublishedResource asks for that we do not do: said before anything is synced, never ignored.

Templates and expressions are compiled here as well, so that a mistake in one reaches its author as a
condition and not every customer as an event.
"""

import re
from collections.abc import Iterator

from privatellm_sync_agent.mutation import paths
from privatellm_sync_agent.naming import hashes
from privatellm_sync_agent.published.mutations import Mutation, Mutations
from privatellm_sync_agent.published.related import ObjectRule
from privatellm_sync_agent.published.spec import PublishedResourceSpec
from privatellm_sync_agent.templates import Template, TemplateError


def refusals(spec: PublishedResourceSpec) -> tuple[str, ...]:
    """Return one sentence for everything that cannot be done; empty when all of it can."""
    return (*_naming(spec), *_mutations("spec.mutation", spec.mutation), *_all_related(spec))


def _naming(spec: PublishedResourceSpec) -> Iterator[str]:
    for field in ("name", "namespace"):
        pattern = getattr(spec.naming, field)
        if "{{" in pattern:
            yield from _template(f"spec.naming.{field}", pattern)


def _mutations(place: str, mutations: Mutations) -> Iterator[str]:
    for way in ("spec", "status"):
        for index, mutation in enumerate(getattr(mutations, way)):
            yield from _mutation(f"{place}.{way}[{index}]", mutation)


def _mutation(place: str, mutation: Mutation) -> Iterator[str]:
    if mutation.cel:
        yield f"{place}.cel is not supported; use regex, template or delete."
        return
    rule = mutation.delete or mutation.regex or mutation.template
    if rule:
        yield from _path(f"{place}.path", rule.path)
    if mutation.regex:
        yield from _regex(f"{place}.regex", mutation.regex.pattern, mutation.regex.replacement)
    if mutation.template:
        yield from _template(f"{place}.template", mutation.template.template)


def _all_related(spec: PublishedResourceSpec) -> Iterator[str]:
    for related in spec.related:
        place = f"spec.related[{related.identifier}]"
        yield from _mutations(f"{place}.mutation", related.mutation)
        yield from _rule(f"{place}.object", related.object)
        if related.object.namespace:
            yield from _rule(f"{place}.object.namespace", related.object.namespace)


def _rule(place: str, rule: ObjectRule) -> Iterator[str]:
    if rule.reference:
        yield from _path(f"{place}.reference.path", rule.reference.path)
        if rule.reference.regex:
            regex = rule.reference.regex
            yield from _regex(f"{place}.reference.regex", regex.pattern, regex.replacement)
    if rule.template:
        yield from _template(f"{place}.template", rule.template.template)
    if rule.selector:
        rewrite = rule.selector.rewrite
        if rewrite.regex:
            yield from _regex(f"{place}.rewrite", rewrite.regex.pattern, rewrite.regex.replacement)
        if rewrite.template:
            yield from _template(f"{place}.rewrite.template", rewrite.template.template)
        for key, value in rule.selector.match_labels.items():
            yield from _template(f"{place}.selector.matchLabels", key)
            yield from _template(f"{place}.selector.matchLabels[{key}]", value)


def _template(place: str, source: str) -> Iterator[str]:
    try:
        Template.parse(source)
    except TemplateError as error:
        yield f"{place}: {error}"


def _regex(place: str, pattern: str, replacement: str) -> Iterator[str]:
    try:
        hashes.go_replace(pattern, replacement, "")
    except ValueError as error:
        yield f"{place}: {re.sub(r'^the', 'The', str(error))}."


def _path(place: str, path: str) -> Iterator[str]:
    try:
        paths.parse(path)
    except paths.PathError as error:
        yield f"{place}: {error}"
