"""Evaluate a template's tree against a value; the only place that knows Go's rules for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from privatellm_sync_agent.templates import functions, nodes, values
from privatellm_sync_agent.templates.errors import TemplateError

_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "String": values.text_of,
    "Int": int,
    "Bool": bool,
    "Float": float,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What ``$`` and ``.`` stand for."""

    root: Any
    dot: Any


def text_of(tree: tuple[nodes.Node, ...], scope: Scope) -> str:
    """Return what a template prints.

    Raises:
        TemplateError: when a field is missing in the middle of a path or a function cannot work.
    """
    return "".join(_node(node, scope) for node in tree)


def _node(node: nodes.Node, scope: Scope) -> str:
    match node:
        case nodes.TextNode(text):
            return text
        case nodes.Output(pipeline):
            return values.text_of(_value(pipeline, scope))
        case nodes.Branch():
            return _branch(node, scope)


def _branch(node: nodes.Branch, scope: Scope) -> str:
    condition = _value(node.condition, scope)
    if not values.truthy(condition):
        return text_of(node.otherwise, scope)
    return text_of(node.then, Scope(scope.root, condition) if node.rebinds else scope)


def _value(operand: nodes.Operand, scope: Scope) -> Any:
    match operand:
        case nodes.Literal(value):
            return value
        case nodes.Field(path, from_root):
            return _walk(scope.root if from_root else scope.dot, path)
        case nodes.Chain(inner, path):
            return _walk(_value(inner, scope), path)
        case nodes.Call():
            return _call(operand, scope, ())
        case nodes.Pipeline(commands):
            return _piped(commands, scope)


def _piped(commands: tuple[nodes.Operand, ...], scope: Scope) -> Any:
    value = _value(commands[0], scope)
    for command in commands[1:]:
        assert isinstance(command, nodes.Call)  # noqa: S101 - the parser lets nothing else through
        value = _call(command, scope, (value,))
    return value


def _call(call: nodes.Call, scope: Scope, piped: tuple[Any, ...]) -> Any:
    arguments = (*(_value(argument, scope) for argument in call.arguments), *piped)
    try:
        return functions.ALL[call.function](*arguments)
    except TemplateError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        # Whatever a provider's template does wrong must reach its author, not end the agent.
        raise TemplateError(f"{call.function} cannot work with its arguments: {error}.") from error


def _walk(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if value is None:
            raise TemplateError(f".{'.'.join(path)} has nothing to look {name!r} up in.")
        if not isinstance(value, Mapping):
            if name in _CONVERSIONS:  # Mutations of upstream's users say {{ .Value.String }}.
                value = _CONVERSIONS[name](value)
                continue
            raise TemplateError(f"{name!r} of .{'.'.join(path)} is asked of a plain value.")
        value = value.get(name)
    return value
