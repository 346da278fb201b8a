"""Docstrings under the attributes of a class, which Python itself does not keep."""

import ast
import inspect
import textwrap
from itertools import pairwise


def attribute_texts(owner: type) -> dict[str, str]:
    """Return the text under each attribute that has one, in the order of the source.

    Raises:
        OSError: when the source is not there, as in a program made of compiled files alone.
    """
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - the source of a class is a class
    found: dict[str, str] = {}
    for statement, after in pairwise(definition.body):
        name, text = _name_of(statement), _text_of(after)
        if name and text:
            found[name] = text
    return found


def in_markdown(text: str) -> str:
    """Return a docstring as the cell of a table: one line, code marked once."""
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def _name_of(statement: ast.stmt) -> str | None:
    match statement:
        case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
            return name
        case _:
            return None


def _text_of(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return None
