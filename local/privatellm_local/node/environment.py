"""The variables of a container.

Three layers, later ones win: a few harmless variables of this machine, what the node gives, and what
the pod asks for. Variables that choose code to load are never a pod's to set, because the image table
alone decides what runs; the node ignores them in silence, as a hardened image would. Links to other
Services (``enableServiceLinks``) are not provided.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from privatellm_local.node.downward import PodFacts
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.expansion import expand, references
from privatellm_local.node.paths import PathMap
from privatellm_local.node.pod import Container, EnvFromSource, EnvVar, EnvVarSource, KeyRef
from privatellm_local.node.sources import Keyed, Sources

INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""What a pod sees of the agent's own environment."""

_LOADER = re.compile(
    # Loaders, shells and interpreters.
    r"(LD_|DYLD_|GLIBC_|GCONV_|_?PYTHON|COVERAGE_|COV_CORE_|PERL5|BASH_FUNC).*"
    r"|PATH|IFS|LOCPATH|BASH_ENV|SHELLOPTS|BASHOPTS|NODE_OPTIONS|NODE_PATH|RUBYLIB|RUBYOPT"
    r"|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS"
    # Libraries that load others: llama.cpp's back ends, OpenMP, TLS, Kerberos, drivers of graphics cards.
    r"|(GGML_BACKEND|OMP_TOOL|OPENSSL_|KRB5_|VK_|OCL_|CUDA_INJECTION|HSA_TOOLS).*|SASL_PATH"
    # Where such things are looked for by default.
    r"|HOME|XDG_.*"
    # Whose processes these are, and what the node says about itself.
    r"|KUBECONFIG|SSL_CERT_.*|PRIVATE_LLM_VOLUME_MOUNTS|PRIVATE_LLM_HOST_NODE"
)
"""Variables by which a program takes in code or changes its rules, those by which a pod would borrow the
identity of the person whose processes its containers are, and those by which it would lie about its
mounts."""

_NAME = re.compile(r"[^\x00=]+")


@dataclass(slots=True)
class Environment:
    """Variables in the making, and which of them came from a Secret."""

    values: dict[str, str] = field(default_factory=dict)
    secret: set[str] = field(default_factory=set)

    def set(self, name: str, value: str, *, secret: bool = False) -> None:
        """Define a variable unless it is one that a pod may not set.

        Raises:
            ContainerRefusedError: when no process can have such a variable.
        """
        if "\0" in value or not _NAME.fullmatch(name):
            raise ContainerRefusedError(
                f"A variable's name has no '=' and its value no NUL byte; {name!r} does."
            )
        if _LOADER.fullmatch(name):
            return
        self.values[name] = value
        (self.secret.add if secret else self.secret.discard)(name)


def build(
    container: Container,
    facts: PodFacts,
    sources: Sources,
    paths: PathMap,
    given: Mapping[str, str],
) -> Environment:
    """Return the variables that the pod asks for, on top of what it is given.

    Args:
        container: Whose variables.
        facts: The pod's own facts.
        sources: The Secrets and ConfigMaps it refers to.
        paths: The container's mounts; literals are rewritten by them.
        given: What the node provides; ``$(NAME)`` can refer to it.

    Raises:
        ContainerRefusedError: when something the variables need is not there.
    """
    environment = Environment(dict(given))
    for source in container.env_from:
        _add_all(environment, source, sources, paths)
    for variable in container.env:
        _add(environment, variable, _Reader(container, facts, sources, paths))
    return environment


def arguments(container: Container, environment: Environment, paths: PathMap) -> tuple[str, ...]:
    """Return the container's args, rewritten and expanded.

    Raises:
        ContainerRefusedError: when an argument would carry a secret, which everybody on this machine
            could then read from the list of processes.
    """
    exposed = {n for arg in container.args for n in references(arg)} & environment.secret
    if exposed:
        raise ContainerRefusedError(
            f"Secrets may not be put into a command line; an argument refers to {sorted(exposed)}. "
            "Mount the Secret and pass the file's name."
        )
    return tuple(expand(paths.rewrite(arg), environment.values) for arg in container.args)


def _add_all(
    environment: Environment, source: EnvFromSource, sources: Sources, paths: PathMap
) -> None:
    for name, value in _all_keys(source.config_map_ref, sources.config_maps, "ConfigMap"):
        environment.set(source.prefix + name, paths.rewrite(value))
    for name, value in _all_keys(source.secret_ref, sources.secrets, "Secret"):
        environment.set(source.prefix + name, value, secret=True)


def _all_keys(ref: KeyRef | None, objects: Keyed, kind: str) -> Iterator[tuple[str, str]]:
    if ref is None:
        return
    if ref.name not in objects and not ref.optional:
        raise _missing(f"{kind} {ref.name}")
    for key, value in objects.get(ref.name, {}).items():
        yield key, _text(value, f"{kind} {ref.name}, key {key}")


@dataclass(frozen=True, slots=True)
class _Reader:
    container: Container
    facts: PodFacts
    sources: Sources
    paths: PathMap


def _add(environment: Environment, variable: EnvVar, reader: _Reader) -> None:
    source = variable.value_from
    if source is None:
        literal = reader.paths.rewrite(variable.value)
        tainted = bool(references(literal) & environment.secret)
        environment.set(variable.name, expand(literal, environment.values), secret=tainted)
        return
    value = _value_from(source, reader)
    if value is not None:
        environment.set(variable.name, value, secret=source.secret_key_ref is not None)


def _value_from(source: EnvVarSource, reader: _Reader) -> str | None:
    """Return the value, or ``None`` when an optional reference leads nowhere."""
    if source.field_ref:
        return reader.facts.field(source.field_ref)
    if source.resource_field_ref:
        return reader.facts.resource(source.resource_field_ref, reader.container)
    if source.config_map_key_ref:
        value = _one_key(source.config_map_key_ref, reader.sources.config_maps, "ConfigMap")
        return None if value is None else reader.paths.rewrite(value)
    if source.secret_key_ref:
        return _one_key(source.secret_key_ref, reader.sources.secrets, "Secret")
    raise ContainerRefusedError(
        "The host node takes variables from fieldRef, resourceFieldRef, configMapKeyRef and "
        "secretKeyRef; a variable names another source."
    )


def _one_key(ref: KeyRef, objects: Keyed, kind: str) -> str | None:
    what = f"{kind} {ref.name}, key {ref.key}"
    value = objects.get(ref.name, {}).get(ref.key)
    if value is not None:
        return _text(value, what)
    if ref.optional:
        return None
    raise _missing(what)


def _text(value: bytes, what: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ContainerRefusedError(
            f"A variable holds UTF-8 text; {what} holds other bytes. Mount it as a file."
        ) from None


def _missing(what: str) -> ContainerRefusedError:
    return ContainerRefusedError(f"{what} does not exist in the pod's namespace. Create it.")
