"""Turn pieces into a tree, and refuse at once what we do not implement."""

from dataclasses import dataclass, field

from privatellm_sync_agent.templates import functions, nodes
from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.lexer import Action, Text, Token, TokenType, pieces

_UNSUPPORTED = frozenset({"define", "template", "block", "break", "continue"})
_CONSTANTS = {"true": True, "false": False, "nil": None}
_BRANCHES = ("if", "with")
_LOOP = "range"
_PAIR = 2
_ASSIGNS = (":=", "=")


def parse(source: str) -> tuple[nodes.Node, ...]:
    """Return the tree of a template.

    Raises:
        TemplateError: when it breaks Go's grammar, or uses a part of it that is not supported.
    """
    parser = _Parser(list(pieces(source)))
    tree = parser.block(())
    if parser.remaining:
        raise TemplateError(
            f"{{{{ {_head(parser.remaining[0])} }}}} has no if, with or range before it."
        )
    return tree


@dataclass(slots=True)
class _Parser:
    remaining: list[Text | Action]
    declared: list[set[str]] = field(default_factory=lambda: [set()])

    def block(self, terminators: tuple[str, ...]) -> tuple[nodes.Node, ...]:
        found: list[nodes.Node] = []
        while self.remaining and _head(self.remaining[0]) not in ("else", "end"):
            found.append(self._node())
        if terminators and not self.remaining:
            raise TemplateError("Every if, with and range needs its {{ end }}.")
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
        if head == _LOOP:
            return self._loop(piece.tokens[1:])
        names, declares, rest = _target(piece.tokens)
        if not names:
            return nodes.Output(self._whole(rest))
        if len(names) > 1:
            raise TemplateError("Only range declares two variables at once.")
        assigned = nodes.Assignment(names[0], self._whole(rest), declares)
        if declares:
            self.declared[-1].add(names[0])
        elif not any(names[0] in known for known in self.declared):
            raise _undeclared(names[0])
        return assigned

    def _branch(self, condition: tuple[Token, ...], *, rebinds: bool) -> nodes.Branch:
        names, declares, rest = _target(condition)
        if len(names) > 1 or (names and not declares):
            raise TemplateError("An if or with can declare one variable, with :=.")
        pipeline = self._whole(rest)
        then, otherwise = self._blocks(set(names))
        return nodes.Branch(pipeline, then, otherwise, rebinds, "".join(names))

    def _loop(self, items: tuple[Token, ...]) -> nodes.Loop:
        names, declares, rest = _target(items)
        if names and not declares:
            raise TemplateError("A range declares its variables, with :=.")
        pipeline = self._whole(rest)
        body, otherwise = self._blocks(set(names))
        key, value = names if len(names) == _PAIR else ("", "".join(names))
        return nodes.Loop(pipeline, body, otherwise, key, value)

    def _blocks(self, names: set[str]) -> tuple[tuple[nodes.Node, ...], tuple[nodes.Node, ...]]:
        """Return both blocks up to the end of what began; the second is what comes after its else."""
        self.declared.append(set(names))
        then = self.block(("else", "end"))
        self.declared[-1] = set(names)
        closing = self.remaining.pop(0)
        assert isinstance(closing, Action)  # noqa: S101 - block() stops at actions only
        otherwise = self._else(closing) if _head(closing) == "else" else ()
        self.declared.pop()
        return then, otherwise

    def _else(self, action: Action) -> tuple[nodes.Node, ...]:
        rest = action.tokens[1:]
        if rest:  # {{ else if x }} is a branch of its own that shares our {{ end }}.
            if rest[0].text not in _BRANCHES:
                raise TemplateError(f"After else comes if or with, not {rest[0].text!r}.")
            return (self._branch(rest[1:], rebinds=rest[0].text == "with"),)
        otherwise = self.block(("end",))
        closing = self.remaining.pop(0)
        if _head(closing) != "end":
            raise TemplateError("An if, with or range can have one {{ else }} only.")
        return otherwise

    def _whole(self, tokens: tuple[Token, ...]) -> nodes.Pipeline:
        return _Pipe(list(tokens), frozenset().union(*self.declared)).whole()


@dataclass(slots=True)
class _Pipe:
    """Reads one pipeline from a list of tokens."""

    tokens: list[Token]
    declared: frozenset[str]

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
        if token.type is TokenType.VARIABLE:
            return self._variable(token.text.removeprefix("$"))
        return _leaf(token)

    def _variable(self, name: str) -> nodes.Operand:
        path: tuple[str, ...] = ()
        if self.tokens and self.tokens[0].type is TokenType.FIELD:
            path = _path(self.tokens.pop(0))
        if not name:
            return nodes.Field(path, from_root=True)
        if name not in self.declared:
            raise _undeclared(name)
        return nodes.Variable(name, path)

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
            return _unknown(token)


def _target(tokens: tuple[Token, ...]) -> tuple[list[str], bool, tuple[Token, ...]]:
    """Return the variables before a ``:=`` or ``=``, whether they are declared, and what comes after it."""
    at = next((i for i, one in enumerate(tokens) if one.text in _ASSIGNS and _is_symbol(one)), None)
    if at is None:
        return [], False, tokens
    before = tokens[:at]
    names = [one.text.removeprefix("$") for one in before[::2]]
    is_list = all(one.type is TokenType.VARIABLE for one in before[::2])
    commas = all(_is_symbol(one) and one.text == "," for one in before[1::2])
    if not (is_list and commas and all(names) and len(names) in (1, _PAIR)):
        raise TemplateError(f"Before {tokens[at].text} stand one or two variables, such as $x.")
    return names, tokens[at].text == ":=", tokens[at + 1 :]


def _is_symbol(token: Token) -> bool:
    return token.type is TokenType.SYMBOL


def _undeclared(name: str) -> TemplateError:
    return TemplateError(f"The variable ${name} is used before it is declared with :=.")


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
