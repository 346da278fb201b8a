"""Which cluster a command is about, and the way to its objects.

Found as kubectl finds it: ``--kubeconfig``, ``KUBECONFIG``, ``~/.kube/config``, and inside a pod its own
cluster. Where none of these exists, the embedded environment of this machine is meant. The namespace is
``--namespace``, else the context's, else ``default``. The cluster's objects are the only interface: nothing
here knows how the operator works.
"""

import errno
import os
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from privatellm.errors import (
    AlreadyExistsError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    RejectedError,
    UnauthorizedError,
    UnavailableError,
)
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import GROUP, Kind
from privatellm_cli import invocation
from privatellm_cli.errors import NoClusterError, UsageError
from privatellm_cli.running import run
from privatellm_local.errors import NotRunningError
from privatellm_local.paths import StatePaths, state_paths

T = TypeVar("T")

DEFAULT_NAMESPACE = "default"
FIELD_MANAGER = "privatellm-cli"
"""Under which name the API server records the fields that commands own."""

REQUEST_TIMEOUT_SECONDS = 10.0
"""How long a person is left without a word by a server that does not answer."""

MOST_NAMED = 10
"""Names that an error message offers."""

FAILED = " failed: "
"""What stands between the request and what the API server says about it."""

BY_RBAC = re.compile(r"is forbidden: User .* cannot \w+ resource ")
"""How the API server says that a role is missing, rather than that a quota or a policy refuses."""

FORBIDDEN_REMEDY = (
    ". Ask the platform team for a role, or choose another namespace (-n) or --context; "
    "`privatellm doctor` lists what you may not do."
)

_NO_SUCH_KIND = ("could not find the requested resource", "404 page not found")
"""How the API server says that it does not know a kind, rather than an object."""


@dataclass(frozen=True, slots=True)
class Target:
    """The connection options of a command; ``None`` where kubectl's rules decide."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None

    @property
    def is_explicit(self) -> bool:
        """Whether the command line names a cluster or a namespace."""
        return any((self.kubeconfig, self.context, self.namespace))


@dataclass(frozen=True, slots=True)
class Name:
    """An object of a namespace."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        """The name as it can be given to any command."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connected cluster.

    Attributes:
        client: The way to its API server.
        namespace: Where objects are looked for unless their name says otherwise.
    """

    client: KubeClient
    namespace: str

    def name(self, text: str) -> Name:
        """Read ``NAME`` or ``NAMESPACE/NAME``.

        Raises:
            UsageError: when it is neither.
        """
        namespace, _, name = text.rpartition("/")
        if "/" in namespace or not name:
            raise UsageError(f"An object is named as NAME or NAMESPACE/NAME; got {text!r}.")
        return Name(namespace or self.namespace, name)

    def scope(self, *, everywhere: bool) -> str | None:
        """Return the namespace to list; ``None`` for all of them."""
        return None if everywhere else self.namespace

    def nothing(self, what: str, remedy: str, *, everywhere: bool) -> str:
        """Return what a person is told when a list is empty."""
        where = (
            "in any namespace" if everywhere else f"in the namespace {self.namespace} (-A: in all)"
        )
        return f"There is no {what} {where}. {remedy}"

    async def require(self, kind: Kind, name: Name) -> Manifest:
        """Return an object of a namespace.

        Raises:
            NotFoundError: when there is none, with the names of those there are.
        """
        namespace = name.namespace if kind.namespaced else None
        found = await self.client.get(kind, name.name, namespace)
        if found is not None:
            return found
        where = f" in the namespace {namespace}" if namespace else ""
        elsewhere = await self._elsewhere(kind, name) if namespace else ""
        others = elsewhere or await self._names(kind, namespace)
        raise NotFoundError(f"There is no {kind.name} {name.name}{where}; {others}.")

    async def _elsewhere(self, kind: Kind, name: Name) -> str:
        """Say where else there is an object of this name, which is never taken in its place."""
        try:
            listing = await self.client.list(kind, fields=f"metadata.name={name.name}")
        except ForbiddenError:
            return ""
        places = sorted(item["metadata"]["namespace"] for item in listing.items)
        if not places:
            return ""
        further = " and others" if len(places) > MOST_NAMED else ""
        return (
            f"there is one in {', '.join(places[:MOST_NAMED])}{further}: say {places[0]}/{name.name} "
            "if that is meant"
        )

    async def _names(self, kind: Kind, namespace: str | None) -> str:
        try:
            listing = await self.client.list(kind, namespace)
        except ForbiddenError:
            return "and you may not list those there are"
        names = [item["metadata"]["name"] for item in listing.items]
        further = ["..."] if len(names) > MOST_NAMED else []
        return (
            f"found: {', '.join(names[:MOST_NAMED] + further)}"
            if names
            else "there are none at all" + (" in it" if namespace else "")
        )


def in_cluster(target: Target, work: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    """Connect and do some work.

    Raises:
        NoClusterError: when no kubeconfig can be used.
        NotRunningError: when the cluster is an embedded environment that is stopped.
        KubernetesError: when the cluster refuses or cannot be reached, with what to do.
    """
    return run(_within(target, work))


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Cluster]:
    """Connect to the cluster that the options and the environment name.

    Raises:
        NoClusterError: when no kubeconfig can be used.
        NotRunningError: when the cluster is an embedded environment that is stopped.
        KubernetesError: when the cluster refuses or cannot be reached, with what to do.
    """
    kubeconfig = kubeconfig_for(target)
    try:
        client = await KubeClient.connect(
            kubeconfig, context=target.context, request_timeout_seconds=REQUEST_TIMEOUT_SECONDS
        )
    except InvalidInputError as error:
        raise NoClusterError(str(error)) from error
    async with client:
        with explained(client.server, environment_of(kubeconfig)):
            yield Cluster(client, target.namespace or client.namespace or DEFAULT_NAMESPACE)


def kubeconfig_for(
    target: Target, environment: Mapping[str, str] = os.environ, home: Path | None = None
) -> Path | None:
    """Return the kubeconfig to use; ``None`` leaves it to ``KUBECONFIG`` or to the pod around us.

    Args:
        target: The options of the command.
        environment: The process's environment.
        home: The user's home directory.

    Raises:
        NoClusterError: when a file that is named does not exist, or nothing names a cluster.
    """
    if target.kubeconfig is not None:
        if not target.kubeconfig.is_file():
            raise NoClusterError(f"There is no kubeconfig {target.kubeconfig}: check --kubeconfig.")
        return target.kubeconfig
    if named := [
        Path(word) for word in environment.get("KUBECONFIG", "").split(os.pathsep) if word
    ]:
        if not any(path.is_file() for path in named):
            raise NoClusterError(f"KUBECONFIG names {named[0]}, which does not exist: correct it.")
        return None
    return _without_being_named(environment, home or Path.home())


def _without_being_named(environment: Mapping[str, str], home: Path) -> Path | None:
    usual = home / ".kube" / "config"
    if usual.is_file():
        return usual
    if "KUBERNETES_SERVICE_HOST" in environment:
        return None
    embedded = state_paths(None).kubeconfig("admin")
    if embedded.is_file():
        return embedded
    raise NoClusterError(
        "No cluster is named: set KUBECONFIG, give --kubeconfig, or start one on this machine with "
        "`privatellm up`."
    )


def environment_of(
    kubeconfig: Path | None, environment: Mapping[str, str] = os.environ
) -> StatePaths | None:
    """Return the embedded environment that a kubeconfig is of; ``None`` for any other cluster's.

    Args:
        kubeconfig: The chosen file; ``None`` looks at ``KUBECONFIG``.
        environment: The process's environment.
    """
    chosen = str(kubeconfig) if kubeconfig else environment.get("KUBECONFIG", "")
    if not chosen or os.pathsep in chosen:
        return None
    file = Path(chosen).absolute()
    paths = StatePaths(file.parent.parent)
    return paths if file.parent == paths.kubeconfigs and paths.state_file.is_file() else None


@contextmanager
def explained(server: str, embedded: StatePaths | None = None) -> Iterator[None]:
    """Add to the failures of a cluster what a person at a terminal can do about them.

    Args:
        server: The cluster's base URL.
        embedded: The embedded environment that is the cluster, if one is.
    """
    try:
        yield
    except UnavailableError as error:
        if error.status:
            raise
        raise _unreachable(server, embedded, error) from error
    except UnauthorizedError as error:
        raise UnauthorizedError(
            f"The cluster at {server} knows nobody by the credentials of the kubeconfig: they have "
            "expired, or are another cluster's. Log in again, or choose another --context.",
            status=error.status,
            reason=error.reason,
        ) from error
    except AlreadyExistsError as error:
        told = str(error).partition(FAILED)[2] or str(error)
        raise AlreadyExistsError(
            f"{told}. Choose another name, or delete that one first (a key: `privatellm token list`, then "
            "`kubectl delete apitokenrequest NAME`).",
            status=error.status,
            reason=error.reason,
        ) from error
    except ForbiddenError as error:
        told = str(error).partition(FAILED)[2] or str(error)
        remedy = FORBIDDEN_REMEDY if BY_RBAC.search(told) else ""
        raise ForbiddenError(f"{told}{remedy}", status=error.status, reason=error.reason) from error
    except RejectedError as error:
        # The API server's own sentence says what is wrong with the request; which one it was says nothing.
        told = str(error).partition(FAILED)[2] or str(error)
        raise RejectedError(told, status=error.status, reason=error.reason) from error
    except NotFoundError as error:
        if f"/apis/{GROUP}/" in str(error) and any(text in str(error) for text in _NO_SUCH_KIND):
            raise NotFoundError(
                f"The cluster at {server} does not know Private LLM (API group {GROUP}): is this the "
                "right context? `privatellm doctor` looks what is missing.",
                status=error.status,
                reason=error.reason,
            ) from error
        raise


def _unreachable(
    server: str, embedded: StatePaths | None, error: UnavailableError
) -> UnavailableError | NotRunningError:
    """Return what is said of a cluster that gave no answer."""
    if embedded is None:
        return UnavailableError(
            f"The cluster at {server} cannot be reached: {error} Check the kubeconfig and its context, and "
            "whether the cluster runs.",
            reason=error.reason,
        )
    if _is_refused(error):
        return NotRunningError(
            f"The embedded environment in {embedded.root} does not run (nothing listens at {server}): "
            f"start it with `{invocation.command(embedded, 'up')}`."
        )
    return UnavailableError(
        f"The embedded environment in {embedded.root} does not answer: {error} Look at it: "
        f"`{invocation.command(embedded, 'status')}`.",
        reason=error.reason,
    )


def _is_refused(error: BaseException) -> bool:
    return isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ECONNREFUSED


async def _within(target: Target, work: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    async with connected(target) as cluster:
        return await work(cluster)
