"""Cut a template into text and actions, and an action into tokens.

Trim markers (``{{-`` and ``-}}``) are applied here, so the parser never sees them.
"""

import json
import re
from dataclasses import dataclass
from enum import Enum

from privatellm_sync_agent.templates.errors import TemplateError

_ACTION = re.compile(
    r"""\{\{(-(?=\s))?
    ( \s*/\*.*?\*/\s*                                        # A remark, whatever it holds, or
    | (?: "(?:\\.|[^"\\\n])*" | `[^`]*` | [^"`] )*?            # an action: its texts may hold braces.
    )((?<=\s)-)?\}\}""",
    re.DOTALL | re.VERBOSE,
)
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)
      | (?P<number>[-+]?\d+(?:\.\d+)?)
      | (?P<field>(?:\.[A-Za-z_][A-Za-z0-9_]*)+)
      | (?P<dot>\.)
      | (?P<variable>\$[A-Za-z0-9_]*)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<symbol>\||\(|\)|:=|=|,)
    )""",
    re.VERBOSE,
)


class TokenType(Enum):
    """What a token is."""

    STRING = "string"
    NUMBER = "number"
    FIELD = "field"
    DOT = "dot"
    VARIABLE = "variable"
    WORD = "word"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """One word of an action; strings are unquoted already."""

    type: TokenType
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that are copied as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """What stands between ``{{`` and ``}}``."""

    tokens: tuple[Token, ...]
    source: str


def pieces(source: str) -> tuple[Text | Action, ...]:
    """Return the texts and actions of a template in their order.

    Raises:
        TemplateError: when an action is not closed or holds a character without a meaning.
    """
    found: list[Text | Action] = []
    position, trim = 0, False
    for match in _ACTION.finditer(source):
        text = source[position : match.start()]
        found.append(Text(_trimmed(text, left=trim, right=bool(match[1]))))
        body = match[2].strip()
        if not body.startswith("/*"):
            found.append(Action(_tokens(body), body))
        position, trim = match.end(), bool(match[3])
    found.append(Text(_trimmed(source[position:], left=trim, right=False)))
    return tuple(_checked(piece, source) for piece in found if piece != Text(""))


def _trimmed(text: str, *, left: bool, right: bool) -> str:
    text = text.lstrip() if left else text
    return text.rstrip() if right else text


def _checked(piece: Text | Action, source: str) -> Text | Action:
    if isinstance(piece, Text) and "{{" in piece.text:
        raise TemplateError(f"Every {{{{ needs its }}}}; the template {source!r} leaves one open.")
    return piece


def _tokens(body: str) -> tuple[Token, ...]:
    found: list[Token] = []
    position = 0
    while position < len(body.rstrip()):
        match = _TOKEN.match(body, position)
        if match is None or match.lastgroup is None:
            raise TemplateError(f"Unexpected {body[position:].strip()[:20]!r} in {{{{ {body} }}}}.")
        kind = TokenType(match.lastgroup)
        raw = match[match.lastgroup]
        found.append(Token(kind, _unquoted(raw) if kind is TokenType.STRING else raw))
        position = match.end()
    return tuple(found)


def _unquoted(raw: str) -> str:
    if raw.startswith("`"):
        return raw[1:-1]
    try:
        return str(json.loads(raw))
    except ValueError as error:
        raise TemplateError(f"The string {raw} has an escape we do not know.") from error
