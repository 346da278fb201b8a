"""Turn pieces into a tree, and refuse at once what we do not implement."""

from dataclasses import dataclass, field

from privatellm_sync_agent.templates import functions, nodes
from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.lexer import Action, Text, Token, TokenType, pieces

_UNSUPPORTED = frozenset({"range", "define", "template", "block", "break", "continue"})
_CONSTANTS = {"true": True, "false": False, "nil": None}
_BRANCHES = ("if", "with")


def parse(source: str) -> tuple[nodes.Node, ...]:
    """Return the tree of a template.

    Raises:
        TemplateError: when it breaks Go's grammar, or uses a part of it that is not supported.
    """
    parser = _Parser(list(pieces(source)))
    tree = parser.block(())
    if parser.remaining:
        raise TemplateError(f"{{{{ {_head(parser.remaining[0])} }}}} has no if or with before it.")
    return tree


@dataclass(slots=True)
class _Parser:
    remaining: list[Text | Action]

    def block(self, terminators: tuple[str, ...]) -> tuple[nodes.Node, ...]:
        found: list[nodes.Node] = []
        while self.remaining and _head(self.remaining[0]) not in ("else", "end"):
            found.append(self._node())
        if terminators and not self.remaining:
            raise TemplateError("Every if and with needs its {{ end }}.")
        return tuple(found)

    def _node(self) -> nodes.Node:
        piece = self.remaining.pop(0)
        if isinstance(piece, Text):
            return nodes.TextNode(piece.text)
        head = _head(piece)
        if head in _UNSUPPORTED:
            raise TemplateError(f"{{{{ {head} }}}} is not supported: use fields, functions and if.")
        if head in _BRANCHES:
            return self._branch(piece.tokens[1:], rebinds=head == "with")
        return nodes.Output(_Pipe(list(piece.tokens)).whole())

    def _branch(self, condition: tuple[Token, ...], *, rebinds: bool) -> nodes.Branch:
        pipeline = _Pipe(list(condition)).whole()
        then = self.block(("else", "end"))
        closing = self.remaining.pop(0)
        assert isinstance(closing, Action)  # noqa: S101 - block() stops at actions only
        otherwise: tuple[nodes.Node, ...] = ()
        if _head(closing) == "else":
            otherwise = self._else(closing)
        return nodes.Branch(pipeline, then, otherwise, rebinds)

    def _else(self, action: Action) -> tuple[nodes.Node, ...]:
        rest = action.tokens[1:]
        if rest:  # {{ else if x }} is a branch of its own that shares our {{ end }}.
            if rest[0].text not in _BRANCHES:
                raise TemplateError(f"After else comes if or with, not {rest[0].text!r}.")
            return (self._branch(rest[1:], rebinds=rest[0].text == "with"),)
        otherwise = self.block(("end",))
        closing = self.remaining.pop(0)
        if _head(closing) != "end":
            raise TemplateError("An if or with can have one {{ else }} only.")
        return otherwise


@dataclass(slots=True)
class _Pipe:
    """Reads one pipeline from a list of tokens."""

    tokens: list[Token] = field(default_factory=list)

    def whole(self) -> nodes.Pipeline:
        pipeline = self._pipeline()
        if self.tokens:
            raise TemplateError(f"Unexpected {self.tokens[0].text!r} after a pipeline.")
        return pipeline

    def _pipeline(self) -> nodes.Pipeline:
        commands = [self._command(first=True)]
        while self._next_is("|"):
            self.tokens.pop(0)
            commands.append(self._command(first=False))
        return nodes.Pipeline(tuple(commands))

    def _command(self, *, first: bool) -> nodes.Operand:
        if not self.tokens:
            raise TemplateError("A pipeline needs a value; got nothing.")
        token = self.tokens[0]
        if token.type is TokenType.WORD and token.text not in _CONSTANTS:
            return self._call()
        if not first:
            raise TemplateError(f"Only functions can follow a |; got {token.text!r}.")
        return self._operand()

    def _call(self) -> nodes.Call:
        name = self.tokens.pop(0).text
        if name not in functions.ALL:
            raise TemplateError(f"There is no function {name!r}; known are {_known()}.")
        arguments: list[nodes.Operand] = []
        while self.tokens and not self._next_is("|", ")"):
            arguments.append(self._operand())
        return nodes.Call(name, tuple(arguments))

    def _operand(self) -> nodes.Operand:
        token = self.tokens.pop(0)
        if token == Token(TokenType.SYMBOL, "("):
            return self._parenthesised()
        if token.type is TokenType.WORD and token.text not in _CONSTANTS:
            return nodes.Call(token.text, ()) if token.text in functions.ALL else _unknown(token)
        if token.text == "$" and self.tokens and self.tokens[0].type is TokenType.FIELD:
            return nodes.Field(_path(self.tokens.pop(0)), from_root=True)
        return _leaf(token)

    def _parenthesised(self) -> nodes.Operand:
        inner = self._pipeline()
        if not self._next_is(")"):
            raise TemplateError("Every ( needs its ).")
        self.tokens.pop(0)
        if self.tokens and self.tokens[0].type is TokenType.FIELD:
            return nodes.Chain(inner, _path(self.tokens.pop(0)))
        return inner

    def _next_is(self, *symbols: str) -> bool:
        return bool(
            self.tokens
            and self.tokens[0].type is TokenType.SYMBOL
            and self.tokens[0].text in symbols
        )


def _leaf(token: Token) -> nodes.Operand:
    match token.type:
        case TokenType.STRING:
            return nodes.Literal(token.text)
        case TokenType.NUMBER:
            return nodes.Literal(float(token.text) if "." in token.text else int(token.text))
        case TokenType.WORD:
            return nodes.Literal(_CONSTANTS[token.text])
        case TokenType.FIELD | TokenType.DOT:
            return nodes.Field(_path(token))
        case TokenType.VARIABLE | TokenType.SYMBOL:
            return nodes.Field((), from_root=True) if token.text == "$" else _unknown(token)


def _unknown(token: Token) -> nodes.Operand:
    raise TemplateError(
        f"{token.text!r} is not supported here: use fields, literals and functions."
    )


def _path(token: Token) -> tuple[str, ...]:
    return tuple(part for part in token.text.split(".") if part)


def _head(piece: Text | Action) -> str:
    if isinstance(piece, Text) or not piece.tokens:
        return ""
    return piece.tokens[0].text if piece.tokens[0].type is TokenType.WORD else ""


def _known() -> str:
    return ", ".join(sorted(functions.ALL))
