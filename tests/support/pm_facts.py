"""Facts about a Platform Mesh's portal, as types: what its content may say, and its two kinds.

Field names and types are those of the portal's own schema (any other field is refused) and of its
generic list and detail views. The definitions of the two kinds are made from the same types, so that an API
server can hold our charts to them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from privatellm.api.schemas import structural_schema
from privatellm.kube.kinds import Kind

Free = dict[str, Any]


class Fact(BaseModel):
    """A value of the portal: its fields, and no others."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True
    )


class PropertyField(Fact):
    """One key of a value that is an object."""

    key: str
    transform: list[Literal["uppercase", "lowercase", "capitalize", "decode", "encode"]] = []


class UiSettings(Fact):
    """How a value is shown."""

    label_display: bool = False
    display_as: Literal["secret", "boolIcon", "link", "tooltip", "img", "button"] | None = None
    with_copy_button: bool = False


class DynamicValues(Fact):
    """A list that is asked for."""

    operation: str
    gql_query: str
    gql_query_variables: dict[str, str] = {}
    value: str
    key: str


class FieldDefinition(Fact):
    """A column, a detail, or a field of a form."""

    label: str
    property: str | list[str]
    property_field: PropertyField | None = None
    json_path_expression: str = ""
    required: bool = False
    values: Annotated[list[str], Field(min_length=1)] | None = None
    ui_settings: UiSettings = UiSettings()
    dynamic_values_definition: DynamicValues | None = None


class View(Fact):
    """A list, a page, or a form."""

    fields: Annotated[list[FieldDefinition], Field(min_length=1)]


class Ui(Fact):
    """The views of a kind."""

    logo_url: str = ""
    list_view: View
    detail_view: View
    create_view: View | None = None


class ReadyCondition(Fact):
    """When an object counts as ready."""

    json_path_expression: str
    property: list[str]


class ResourceDefinition(Fact):
    """A kind, as the portal's GraphQL gateway calls it."""

    api_group: str
    version: str
    entity_collection: str
    entity: str
    scope: Literal["Cluster", "Namespaced"]
    namespace: None
    ready_condition: ReadyCondition | None = None
    available_when_not_ready: bool = False
    ui: Ui


class Category(Fact):
    """A group of the navigation."""

    label: str = ""
    icon: str = ""
    collapsible: bool = False
    id: str = ""
    is_group: bool = False
    order: int = 0


class GraphqlEntity(Fact):
    """How one object is asked for."""

    group: str
    kind: str
    query: str
    version: str = ""


class DefineEntity(Fact):
    """What a node stands for."""

    id: str
    context_key: str = ""
    label: str = ""
    plural_label: str = ""
    dynamic_fetch_id: str = ""
    graphql_entity: GraphqlEntity | None = None


class Webcomponent(Fact):
    """A view that the portal brings."""

    self_registered: bool
    tag_name: str = ""
    type: str = ""


class Node(Fact):
    """A node of the navigation. These are the fields that we could use of those that the schema has."""

    entity_type: str = ""
    path_segment: str
    label: str = ""
    icon: str = ""
    category: Category | str = ""
    url: str = ""
    hide_from_nav: bool = False
    navigation_context: str = ""
    order: int | float = 0
    loading_indicator: Free | None = None
    keep_selected_for_children: bool = False
    webcomponent: Webcomponent | bool = False
    define_entity: DefineEntity | None = None
    compound: Free | None = None
    context: Free | None = None
    children: list["Node"] = []

    @property
    def resource(self) -> ResourceDefinition | None:
        """The kind that the node lists, if it lists one."""
        found = (self.context or {}).get("resourceDefinition")
        return ResourceDefinition.model_validate(found) if found else None


class Data(Fact):
    """What the navigation gets."""

    nodes: list[Node]


class Fragment(Fact):
    """A part of the portal's configuration."""

    data: Data


class Content(Fact):
    """The whole document."""

    name: str
    creation_timestamp: str = ""
    luigi_config_fragment: Fragment
    url: str = ""

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the navigation."""
        return self.luigi_config_fragment.data.nodes

    @property
    def resources(self) -> list[ResourceDefinition]:
        """The kinds that are listed, in their order."""
        return [node.resource for node in self.nodes if node.resource]


class Link(Fact):
    """A page."""

    display_name: str = ""
    url: str = ""


class Contact(Fact):
    """Somebody to ask."""

    display_name: str
    email: str = ""
    role: list[str] = []


class Image(Fact):
    """A picture."""

    url: str = ""
    data: str = ""


class Icon(Fact):
    """Two pictures."""

    light: Image
    dark: Image


class Extension(Fact):
    """A page inside of the product's detail view."""

    url: str


class ProviderMetadataSpec(Fact):
    """What the marketplace says of a product."""

    tags: list[str] = []
    display_name: str
    description: str = ""
    contacts: list[Contact] = []
    documentation: list[Link] = []
    icon: Icon | None = None
    links: list[Link] = []
    preferred_support_channels: list[Link] = []
    help_center_data: list[Link] = []
    detail_view_extensions: list[Extension] = []


class Inline(Fact):
    """Content that the object carries."""

    content_type: Literal["yaml", "json"]
    content: str


class SecretReference(Fact):
    """A Secret."""

    name: str = ""


class Authentication(Fact):
    """How remote content is asked for."""

    type: str = ""
    secret_ref: SecretReference | None = None


class Remote(Fact):
    """Content that is fetched."""

    content_type: Literal["yaml", "json"]
    url: str
    internal_url: str = ""
    authentication: Authentication | None = None


class ContentConfigurationSpec(Fact):
    """Where content is."""

    inline_configuration: Inline | None = None
    remote_configuration: Remote | None = None


GROUP = "ui.platform-mesh.io"
PROVIDER_METADATA = Kind(
    GROUP, "v1alpha1", "ProviderMetadata", "providermetadatas", namespaced=False
)
CONTENT_CONFIGURATION = Kind(
    GROUP, "v1alpha1", "ContentConfiguration", "contentconfigurations", namespaced=False
)


def definitions() -> tuple[dict[str, Any], ...]:
    """Return the definitions of the two kinds."""
    provider = structural_schema(ProviderMetadataSpec)
    # Free data of the provider; a type cannot say that.
    provider["properties"]["data"] = {"x-kubernetes-preserve-unknown-fields": True}
    content = structural_schema(ContentConfigurationSpec)
    return _definition(PROVIDER_METADATA, provider), _definition(CONTENT_CONFIGURATION, content)


def _definition(kind: Kind, spec: dict[str, Any]) -> dict[str, Any]:
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {"group": kind.group, "scope": "Cluster", "names": names, "versions": [version]},
    }
