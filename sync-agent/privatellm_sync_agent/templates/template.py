"""A template that was read once and can be rendered many times."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from privatellm_sync_agent.templates import evaluation, nodes
from privatellm_sync_agent.templates.parser import parse


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template; rendering it changes nothing, so one can serve every tenant."""

    source: str
    tree: tuple[nodes.Node, ...]

    @classmethod
    def parse(cls, source: str) -> Self:
        """Read a template.

        Raises:
            TemplateError: naming what is wrong or not supported.
        """
        return cls(source, parse(source))

    def render(self, context: Mapping[str, Any]) -> str:
        """Return the template's output without white space around it, as upstream does.

        Raises:
            TemplateError: when a value is missing or a function cannot work with it.
        """
        return evaluation.text_of(self.tree, evaluation.Scope(context, context)).strip()
