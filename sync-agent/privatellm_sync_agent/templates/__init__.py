"""A subset of Go's text templates: what naming rules, selectors and mutations are written in.

Supported are fields, literals, variables, pipelines, parentheses, ``if``, ``with`` and ``range`` with their
``else``, comments, trim markers and the functions of :mod:`~privatellm_sync_agent.templates.functions`.
Nested definitions, ``break`` and ``continue`` are refused when the template is read, never ignored. Output
is plain text: nothing is escaped. A rendering has a budget, so that no loop over a customer's list holds
others up.
"""

from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.template import Template

__all__ = ["Template", "TemplateError"]
