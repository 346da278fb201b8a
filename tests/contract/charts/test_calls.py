"""The rights that are given are exactly the calls that the operator's code makes.

Every request of ours goes through a method of ``KubeClient`` that is named after a verb, with the kind as
its first argument. So the calls can be read from the source. Where the argument is a variable,
:data:`VARIABLES` says for which kinds it stands, and a new one is entered there.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import privatellm.kube
import privatellm_operator
from privatellm.kube import kinds
from privatellm.kube.kinds import Kind
from privatellm_local.platform.rbac import home_rules, operator_rules, tenant_rules
from privatellm_operator.world import watched

Call = tuple[Kind, str, str]
"""Kind, subresource, verb."""

PACKAGE = Path(privatellm_operator.__file__).parent
SOURCES = (*PACKAGE.rglob("*.py"), Path(privatellm.kube.__file__).with_name("lease.py"))

VERBS = {
    "get": ("get",),
    "list": ("list",),
    "watch": ("watch",),
    "create": ("create",),
    "replace": ("update",),
    "patch": ("patch",),
    "restore": ("patch",),
    "delete": ("delete",),
    # What does not exist yet is created by the same request.
    "apply": ("create", "patch"),
}
RECEIVERS = ("client", "_client", "_owned")
"""What those are called that send requests."""

CHILDREN = tuple(watching.kind for watching in watched.CHILDREN)
EVERYTHING = tuple(watching.kind for watching in watched.ALL)
VARIABLES: dict[tuple[str, str], tuple[Kind, ...]] = {
    ("handlers", "self._kind"): EVERYTHING,
    ("handlers", "obstacle.kind"): CHILDREN,
    ("world", "kind"): EVERYTHING,
    ("reconcile", "kind"): CHILDREN,
}
"""The kinds that a variable stands for, by the folder of the package and the argument."""

OF_KOPF: frozenset[Call] = frozenset(
    (kind, "", verb)
    for kind in (
        kinds.CUSTOM_RESOURCE_DEFINITION,
        kinds.NAMESPACE,
        *(watching.kind for watching in watched.PARENTS),
    )
    for verb in ("list", "watch")
)
"""kopf looks at definitions, at namespaces when it serves some of them, and at what has a handler."""

OF_ADMISSION: frozenset[Call] = frozenset({(kinds.LLM_INSTANCE, "finalizers", "update")})
"""OpenShift asks it of whoever sets ``blockOwnerDeletion`` in an ownerReference."""


def calls(path: Path) -> Iterator[ast.Call]:
    """Yield the calls of a client's methods in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = ast.unparse(node.func.value)
            if node.func.attr in VERBS and receiver.rpartition(".")[2] in RECEIVERS:
                yield node


def kinds_of(path: Path, call: ast.Call) -> tuple[Kind, ...]:
    """Return the kinds that a call may be about."""
    argument = ast.unparse(call.args[0])
    constant = getattr(kinds, argument.removeprefix("kinds."), None)
    if isinstance(constant, Kind):
        return (constant,)
    return VARIABLES[path.relative_to(PACKAGE).parts[0], argument]


def subresource_of(call: ast.Call) -> str:
    """Return the subresource that a call names."""
    assert isinstance(call.func, ast.Attribute)
    named = [keyword.value for keyword in call.keywords if keyword.arg == "subresource"]
    given = call.args[2:] if call.func.attr == "replace" else []
    for value in (*named, *given):
        assert isinstance(value, ast.Constant)
        return str(value.value)
    return ""


def called() -> Iterator[Call]:
    """Yield what the code asks of the API server."""
    for path in SOURCES:
        for call in calls(path):
            assert isinstance(call.func, ast.Attribute)
            subresource = subresource_of(call)
            for verb in VERBS[call.func.attr]:
                # A subresource is there whenever its object is.
                if not (subresource and verb == "create"):
                    yield from ((kind, subresource, verb) for kind in kinds_of(path, call))


def granted(rules: Iterable[dict[str, list[str]]]) -> Iterator[tuple[str, str, str]]:
    """Yield group, resource and verb of each right."""
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((group, resource, verb) for verb in rule["verbs"])


def needed(asked: Iterable[Call]) -> set[tuple[str, str, str]]:
    """Return the rights for these calls."""
    return {
        (kind.group, f"{kind.plural}/{subresource}" if subresource else kind.plural, verb)
        for kind, subresource, verb in asked
    }


def test_the_operator_may_do_what_its_code_does_and_nothing_else() -> None:
    """A right that nobody uses is only of use to whoever takes the operator over."""
    uses = needed({*called(), *OF_KOPF, *OF_ADMISSION})
    given = set(granted((*operator_rules(), *home_rules(), *tenant_rules())))

    assert sorted(uses - given) == []
    assert sorted(given - uses) == []


@pytest.mark.parametrize(("folder", "argument"), VARIABLES, ids=str)
def test_each_variable_is_still_there(folder: str, argument: str) -> None:
    """An entry of calls that are gone would keep their rights alive."""
    paths = (PACKAGE / folder).rglob("*.py")

    assert argument in {ast.unparse(call.args[0]) for path in paths for call in calls(path)}
