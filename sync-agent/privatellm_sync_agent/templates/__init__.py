"""A subset of Go's text templates: what naming rules, selectors and mutations are written in.

Supported are fields, literals, pipelines, parentheses, ``if``/``else``/``with``/``end``, comments, trim
markers and the functions of :mod:`~privatellm_sync_agent.templates.functions`. Loops, variables and nested
definitions are refused when the template is read, never ignored. Output is plain text: nothing is escaped.
"""

from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.template import Template

__all__ = ["Template", "TemplateError"]
