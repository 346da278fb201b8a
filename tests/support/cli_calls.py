"""One call of every command, with the troubles that it can meet: the table that error tests are made from.

A test compares it with the commands there are, so that a new one cannot be without its error cases.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """A command line that makes sense.

    Attributes:
        command: The command's name, such as ``token create``.
        rest: Its arguments, about objects that need not exist.
        names: What the arguments name first that a cluster may not have; empty for nothing.
        needs_right: Whether it is of no use to somebody who may do nothing; ``doctor`` is.
    """

    command: str
    rest: str = ""
    names: str = ""
    needs_right: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """What is typed behind ``privatellm``."""
        return tuple(f"{self.command} {self.rest}".split())

    @property
    def id(self) -> str:
        """How a test names it."""
        return " ".join(self.words)


INSTANCE, REQUEST, MODEL = "LLMInstance", "APITokenRequest", "LLMModel"

IN_CLUSTER = (
    Call("models"),
    Call("list"),
    Call("list", "-A"),
    Call("get", "nope", INSTANCE),
    Call("describe", "nope", INSTANCE),
    Call("logs", "nope", INSTANCE),
    Call("deploy", "nope --model nope", MODEL),
    Call("scale", "nope --replicas 1", INSTANCE),
    Call("delete", "nope", INSTANCE),
    Call("env", "nope", INSTANCE),
    Call("chat", "nope -m Hello", INSTANCE),
    Call("bench", "nope", INSTANCE),
    Call("doctor", needs_right=False),
    Call("token list"),
    Call("token create", "nope", INSTANCE),
    Call("token rotate", "nope", REQUEST),
    Call("token rotate", "--all --yes"),
    Call("token revoke", "nope", REQUEST),
    Call("catalog pin", "--from-cluster nope", MODEL),
)
"""Every command that asks a cluster."""

OF_THE_MACHINE = frozenset({"up", "down", "status"})
"""Commands about the embedded environment, which have errors of their own."""
