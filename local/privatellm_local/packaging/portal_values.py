"""Values of what the portal shows, which two charts share: one serves it, one may carry it inline."""

from typing import Annotated

from pydantic import Field

from privatellm_local.packaging.placement import Placement, Resources
from privatellm_local.packaging.value_types import FilledLine, Group, Line, Texts, Url

ContentPath = Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._~-]+)+$")]
CONTENT_PATH = "/pm-content.json"


class PortalSecrets(Group):
    """How the portal's GraphQL gateway calls Secrets, which differs between its versions."""

    group: FilledLine = "v1"
    """Group."""

    version: Line = ""
    """Version; empty: the gateway has none for them."""

    plural: FilledLine = "Secrets"
    """Name of a list of them."""

    kind: FilledLine = "Secret"
    """Name of one of them."""


class PortalContent(Group):
    """What the portal's navigation, lists and forms say."""

    title: FilledLine = "Private LLM"
    """Title in the portal's navigation."""

    logo_url: Url = ""
    """Logo in the head of each list; empty: none."""

    order: Annotated[int, Field(ge=0)] = 800
    """Place in the navigation; smaller is higher."""

    entity_type: FilledLine = "main.core_platform-mesh_io_account.namespace"
    """Where in the portal's navigation the lists hang: below a namespace of an account. Newer portals call
    it `main.core_platform-mesh_io_account.core_namespace`."""

    replica_choices: tuple[Annotated[int, Field(ge=0)], ...] = (1, 2, 3)
    """Replicas that the form offers; empty: the form does not ask, and an instance gets one."""

    key_lifetimes: tuple[Annotated[str, Field(pattern=r"^([0-9]+(h|m|s))+$")], ...] = ()
    """Lifetimes that the form of an API key offers, such as `720h`; one must be chosen. Empty: the form
    does not ask, and keys live for as long as the platform lets them."""

    secrets: PortalSecrets = PortalSecrets()
    """How the portal's GraphQL gateway calls Secrets."""


class Portal(Placement):
    """A server of the portal's content, on the edge's host. It has no rights in the cluster."""

    enabled: bool = False
    """Run it."""

    path: ContentPath = CONTENT_PATH
    """Path on `PUBLIC_HOST`. The chart private-llm-pm-integration names the same URL."""

    content: PortalContent = PortalContent()
    """What the portal's navigation, lists and forms say. The form offers the catalogue's models."""

    replicas: Annotated[int, Field(ge=0)] | None = None
    """Pods; rendered only when set."""

    ingress_annotations: Texts
    """Further annotations of its Ingress; those that make the route cannot be overridden."""

    resources: Resources = Resources.of(cpu="10m", memory="64Mi", memory_limit="128Mi")
    """Requests and limits."""
