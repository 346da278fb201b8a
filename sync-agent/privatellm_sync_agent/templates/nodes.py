"""The tree of a parsed template: frozen values, evaluated by :mod:`.evaluation`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Field:
    """``.a.b``: a path from the current object, or from the root when it began with ``$``."""

    path: tuple[str, ...]
    from_root: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name.a.b``: a path from what a variable holds."""

    name: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """``(pipeline).a.b``: a path from a value that was computed."""

    operand: "Pipeline"
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments; in a pipeline the value before it is its last argument."""

    function: str
    arguments: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined with ``|``."""

    commands: tuple["Operand", ...]


Operand = Literal | Field | Variable | Chain | Call | Pipeline


@dataclass(frozen=True, slots=True)
class TextNode:
    """Characters that are copied."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """A pipeline whose value is printed."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Assignment:
    """``$name := pipeline`` declares a variable in its block, ``$name = pipeline`` changes one."""

    name: str
    pipeline: Pipeline
    declares: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """``if`` or ``with``: the latter makes the condition's value the current object.

    Attributes:
        variable: What the condition's value is called within; empty: nothing.
    """

    condition: Pipeline
    then: tuple["Node", ...]
    otherwise: tuple["Node", ...]
    rebinds: bool
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """``range``: the body for each item of a list or each value of a dictionary, in the order of its keys.

    Attributes:
        key: What the index or the key is called; empty: nothing.
        value: What the item is called; empty: nothing.
    """

    items: Pipeline
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]
    key: str = ""
    value: str = ""


Node = TextNode | Output | Assignment | Branch | Loop
