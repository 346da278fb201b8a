"""Evaluate a template's tree against a value; the only place that knows Go's rules for it."""

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from privatellm_sync_agent.templates import functions, nodes, values
from privatellm_sync_agent.templates.errors import TemplateError

_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "String": values.text_of,
    "Int": int,
    "Bool": bool,
    "Float": float,
}


MOST_STEPS = 10_000
"""Nodes that one rendering may visit: loops over a customer's lists must not hold everybody up."""


@dataclass(slots=True)
class Budget:
    """Counts the nodes that a rendering may still visit."""

    left: int = MOST_STEPS

    def spend(self) -> None:
        """Count one.

        Raises:
            TemplateError: when there are none left.
        """
        self.left -= 1
        if self.left < 0:
            raise TemplateError(
                f"A template may do {MOST_STEPS} steps for one object, and not more."
            )


@dataclass(frozen=True, slots=True)
class Scope:
    """What ``$``, ``.`` and variables stand for."""

    root: Any
    dot: Any
    variables: ChainMap[str, Any] = field(default_factory=ChainMap)
    budget: Budget = field(default_factory=Budget)

    def inner(self, **variables: Any) -> "Scope":
        """Return the scope of a block, in which these variables are declared."""
        return replace(self, variables=self.variables.new_child(variables))

    def at(self, dot: Any) -> "Scope":
        """Return a scope in which ``.`` is something else."""
        return replace(self, dot=dot)


def text_of(tree: tuple[nodes.Node, ...], scope: Scope) -> str:
    """Return what a template prints.

    Raises:
        TemplateError: when a field is missing in the middle of a path or a function cannot work.
    """
    return "".join(_node(node, scope) for node in tree)


def _node(node: nodes.Node, scope: Scope) -> str:
    scope.budget.spend()
    match node:
        case nodes.TextNode(text):
            return text
        case nodes.Output(pipeline):
            return values.text_of(_value(pipeline, scope))
        case nodes.Assignment():
            _assign(node, scope)
            return ""
        case nodes.Branch():
            return _branch(node, scope)
        case nodes.Loop():
            return _loop(node, scope)


def _assign(node: nodes.Assignment, scope: Scope) -> None:
    value = _value(node.pipeline, scope)
    if node.declares:
        scope.variables[node.name] = value
        return
    holder = next(one for one in scope.variables.maps if node.name in one)
    holder[node.name] = value


def _branch(node: nodes.Branch, scope: Scope) -> str:
    condition = _value(node.condition, scope)
    within = scope.inner(**({node.variable: condition} if node.variable else {}))
    if not values.truthy(condition):
        return text_of(node.otherwise, within)
    return text_of(node.then, within.at(condition) if node.rebinds else within)


def _loop(node: nodes.Loop, scope: Scope) -> str:
    items = _items(_value(node.items, scope))
    if not items:
        return text_of(node.otherwise, scope.inner())
    printed = []
    for key, item in items:
        named = {name: held for name, held in ((node.key, key), (node.value, item)) if name}
        printed.append(text_of(node.body, scope.inner(**named).at(item)))
    return "".join(printed)


def _items(value: Any) -> list[tuple[Any, Any]]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [(key, value[key]) for key in sorted(value)]
    if isinstance(value, list):
        return list(enumerate(value))
    raise TemplateError(f"range needs a list or a dictionary; got {values.text_of(value)[:40]!r}.")


def _value(operand: nodes.Operand, scope: Scope) -> Any:
    match operand:
        case nodes.Literal(value):
            return value
        case nodes.Field(path, from_root):
            return _walk(scope.root if from_root else scope.dot, path)
        case nodes.Variable(name, path):
            return _walk(scope.variables[name], path)
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
