"""What the checks judge: frozen values, everything already read; ``None`` is what may not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privatellm.kube import Manifest

Found = tuple[Manifest, ...] | None
"""Objects, or ``None`` when they may not be listed."""


@dataclass(frozen=True, slots=True)
class Right:
    """Something that may be allowed to somebody.

    Attributes:
        verb: Such as ``list``.
        group: API group; empty for the core group.
        resource: Plural name, with its subresource: ``pods/log``.
        namespace: Where; empty for all namespaces or cluster-scoped objects.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""

    @property
    def text(self) -> str:
        """The right in words."""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{'.' + self.group if self.group else ''}{where}"

    def attributes(self) -> Manifest:
        """Return the right as an access review asks for it."""
        resource, _, subresource = self.resource.partition("/")
        wanted = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": self.namespace,
        }
        return {name: value for name, value in wanted.items() if value or name == "group"}


@dataclass(frozen=True, slots=True)
class Installation:
    """The operator's own settings, read from its Deployment.

    Attributes:
        namespace: Where it runs.
        account: Its service account.
        settings: The plain variables of its environment.
    """

    namespace: str
    account: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def username(self) -> str:
        """Who the operator is at the API server."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    @property
    def ingress_class(self) -> str:
        """The class of every Ingress."""
        return self.settings.get("PRIVATE_LLM_INGRESS_CLASS", "traefik")

    @property
    def entry_points(self) -> tuple[str, ...]:
        """Traefik's entry points that serve instances."""
        words = self.settings.get("PRIVATE_LLM_ENTRY_POINTS", "websecure").split(",")
        return tuple(word.strip() for word in words if word.strip())

    @property
    def token_namespace(self) -> str:
        """Where the verifiers are."""
        return self.settings.get("PRIVATE_LLM_TOKEN_NAMESPACE", "private-llm-tokens")

    @property
    def separator(self) -> str:
        """What joins namespace and name in a middleware reference."""
        return self.settings.get("PRIVATE_LLM_MIDDLEWARE_SEPARATOR", "_")

    @property
    def allows_files(self) -> bool:
        """Whether models may come from ``file://``."""
        return self.settings.get("PRIVATE_LLM_ALLOW_FILE_SOURCES", "").lower() in ("1", "true")


@dataclass(frozen=True, slots=True)
class Traefik:
    """One Traefik as far as it can be seen.

    Attributes:
        origin: Where its settings were read.
        version: Such as ``3.7.15``; empty when it cannot be told.
        settings: Static configuration by dotted name in lower case.
    """

    origin: str
    version: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a part answered when it was asked.

    Attributes:
        status: HTTP status; 0 for no answer.
        text: The body, or why there was no answer.
        challenge: The ``WWW-Authenticate`` header.
    """

    status: int
    text: str
    challenge: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was read."""

    server: str
    namespace: str
    version: Mapping[str, Any]
    installation: Installation
    definitions: Found
    ingress_classes: Found
    middlewares: Found
    deployments: Found
    policies: Found
    bindings: Found
    models: Found
    instances: Found
    traefiks: tuple[Traefik, ...]
    authserver: Answer | None
    edge: Answer | None
    edge_url: str
    missing_own: tuple[Right, ...]
    missing_operator: tuple[Right, ...] | None
    missing_tenants: tuple[Right, ...] | None
    """Rights to Secrets that the operator lacks in namespaces with instances."""

    authserver_excess: tuple[Right, ...] | None
    """Rights that the authserver has and must not have."""
