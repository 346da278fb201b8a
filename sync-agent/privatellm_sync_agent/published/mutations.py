"""Mutation rules: how content is changed while it travels."""

from typing import Self

from pydantic import model_validator

from privatellm_sync_agent.published.model import SpecModel


class DeleteMutation(SpecModel):
    """Removes the value at a path."""

    path: str


class RegexMutation(SpecModel):
    """Replaces matches in the value at a path, or the whole value when there is no pattern."""

    path: str
    pattern: str = ""
    replacement: str = ""


class TemplateMutation(SpecModel):
    """Sets a path to what a template yields."""

    path: str
    template: str


class CelMutation(SpecModel):
    """Sets a path to what a CEL expression yields. Known, and refused: see ``refusals``."""

    path: str
    expression: str


class Mutation(SpecModel):
    """One step: exactly one of its fields is set."""

    delete: DeleteMutation | None = None
    regex: RegexMutation | None = None
    template: TemplateMutation | None = None
    cel: CelMutation | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        chosen = [rule for rule in (self.delete, self.regex, self.template, self.cel) if rule]
        if len(chosen) != 1:
            raise ValueError(
                f"a mutation is exactly one of delete, regex, template and cel; got {len(chosen)}"
            )
        return self


class Mutations(SpecModel):
    """The steps for what goes to the copy (``spec``) and for what comes back (``status``)."""

    spec: tuple[Mutation, ...] = ()
    status: tuple[Mutation, ...] = ()
