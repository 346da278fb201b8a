"""The values of ``charts/private-llm-pm-integration``, as types.

The chart is installed into the provider's workspace of a Platform Mesh, not into a cluster: it offers the
export, says who may bind it, and describes the product for the portal's marketplace.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from privatellm.catalogue import default_directory
from privatellm_local.packaging.chart import Chart
from privatellm_local.packaging.part_values import PublicGlobals
from privatellm_local.packaging.portal_values import CONTENT_PATH, ContentPath, PortalContent
from privatellm_local.packaging.value_types import FilledLine, Group, Host, Line, Member, Name, Url


def default_models() -> tuple[str, ...]:
    """Return the names of the models that come with the operator's chart."""
    return tuple(sorted(path.stem for path in default_directory().glob("*.yaml")))


class Subjects(Group):
    """Users and groups of kcp."""

    users: tuple[FilledLine, ...] = ()
    """Names of users."""

    groups: tuple[FilledLine, ...] = ()
    """Names of groups."""


class Binders(Subjects):
    """Who may bind the export, which is what enables the product in an account."""

    groups: tuple[FilledLine, ...] = ("system:authenticated",)
    """Names of groups. Some Platform Mesh releases bind as `system:anonymous`, a user that you would have
    to name in `users`: then everybody who reaches kcp may bind."""


class ApiExport(Group):
    """The export that customers bind."""

    create: bool = True
    """Create it. The sync agent fills it in: its resources, and the claims that syncing needs."""

    name: Name = "llm.privatellms.msp"
    """Its name. The sync agent's `kcp.endpointSlice` is the same."""


class Link(Member):
    """A page."""

    display_name: FilledLine
    """What the link says."""

    url: Annotated[str, Field(pattern=r"^(https?://|mailto:)[^\s]+$")]
    """Where it leads."""


class Contact(Member):
    """Somebody to ask."""

    display_name: FilledLine
    """Name."""

    email: Line = ""
    """Address; empty: none is shown."""

    role: tuple[FilledLine, ...] = ()
    """What they are asked about."""


class Image(Group):
    """A picture."""

    url: Url = ""
    """Where it is."""

    data: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/=:;,._-]*$")] = ""
    """The picture itself: base64, as the portal wants it."""


class Icon(Group):
    """The product's icon; shown when both pictures are given."""

    light: Image = Image()
    """For light backgrounds."""

    dark: Image = Image()
    """For dark backgrounds."""


class Provider(Group):
    """What the marketplace says of the product."""

    display_name: FilledLine = "Private LLM"
    """Name of the product."""

    description: Line = (
        "Order a large language model of your own: an OpenAI-compatible URL, keys that you can rotate and "
        "revoke, and no other tenant on your servers."
    )
    """What it is."""

    tags: tuple[FilledLine, ...] = ("llm", "ai", "openai")
    """Words by which it is found."""

    contacts: tuple[Contact, ...] = ()
    """Whom to ask."""

    documentation: tuple[Link, ...] = ()
    """Documentation."""

    links: tuple[Link, ...] = ()
    """Further pages."""

    preferred_support_channels: tuple[Link, ...] = ()
    """Where help is given first."""

    help_center_data: tuple[Link, ...] = ()
    """Pages of the help center."""

    icon: Icon = Icon()
    """The product's icon."""

    data: Annotated[dict[str, Any], Field(default_factory=dict)]
    """Further data, such as `ord.configUrl`."""

    detail_view_extensions: tuple[Annotated[str, Field(pattern=r"^https?://[^\s]+$")], ...] = ()
    """URLs of pages inside of the product's detail view; portals before August 2026 drop them."""


class Content(PortalContent):
    """What the portal's navigation, lists and forms say, and how the portal gets it."""

    enabled: bool = True
    """Render the ContentConfiguration."""

    name: Name = "llm-ui"
    """Its name."""

    entity: FilledLine = "core_platform-mesh_io_account"
    """Entity of the portal that it extends."""

    delivery: Literal["remote", "inline"] = "remote"
    """`remote`: the portal fetches it from `PUBLIC_HOST`, where the operator's chart serves it with
    `portal.enabled`. `inline`: this chart carries it, and nothing is fetched."""

    path: ContentPath = CONTENT_PATH
    """Path on `PUBLIC_HOST`, for `remote`: `portal.path` of the operator's chart."""

    internal_url: Url = ""
    """URL by which the portal fetches it instead, for `remote`, from inside of its own network."""

    models: tuple[Name, ...] = default_models()
    """Models that the form offers, for `inline`; a served document knows the operator's catalogue."""


class PmIntegrationValues(Group):
    """Every value of the chart."""

    global_: PublicGlobals = Field(default=PublicGlobals(), alias="global")
    """Values that an umbrella chart shares with all its charts."""

    public_host: Host = Field(default="", alias="PUBLIC_HOST")
    """`host` or `host:port` of the edge, as in the operator's chart; empty: `global.publicHost`, else
    `localhost`."""

    public_scheme: Literal["", "http", "https"] = Field(default="", alias="PUBLIC_SCHEME")
    """Scheme of the edge, as in the operator's chart; empty: `global.publicScheme`, else `http` for hosts
    that stay on this machine and `https` for all others."""

    api_export: ApiExport = ApiExport()
    """The export that customers bind."""

    bind: Binders = Binders()
    """Who may bind this export, and no other one."""

    agent: Subjects = Subjects()
    """The sync agent's user in kcp: it gets the rights that the agent needs in this workspace."""

    provider: Provider = Provider()
    """What the marketplace says of the product."""

    content: Content = Content()
    """What the portal's navigation, lists and forms say, and how the portal gets it."""


PM_INTEGRATION = Chart(
    name="private-llm-pm-integration",
    values=PmIntegrationValues,
    source="pm_integration_values.py",
    page="pm-integration-chart-values.md",
    guide="[Offer it in a portal](../how-to/portal.md) says how to install.",
)
