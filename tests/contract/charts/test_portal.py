"""What the portal shows: one document, from two charts, that the portal's own schema takes."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chart_helm
from chart_helm import REPOSITORY, Helm, HelmError, Manifest
from chart_values import CHARACTERS
from pm_facts import Content, ContentConfigurationSpec, ProviderMetadataSpec, UiSettings
from privatellm.api import crds
from privatellm.catalogue import default_directory
from privatellm_local.packaging.chart import OPERATOR
from privatellm_local.packaging.pm_integration_values import PM_INTEGRATION
from privatellm_local.packaging.sync_agent_values import SYNC_AGENT
from privatellm_local.platform.images import PORTAL_COMMAND
from privatellm_operator.portal.arguments import parse
from privatellm_operator.settings import PublicSettings

CHART = REPOSITORY / PM_INTEGRATION.directory
PORTAL = "private-llm-portal"
EXPORT = "llm.privatellms.msp"
DEFAULT_MODELS = sorted(path.stem for path in default_directory().glob("*.yaml"))

LINES = st.text(
    st.one_of(st.sampled_from("\"'\\{}<>&:#|🦙\u2028%$`-"), CHARACTERS), min_size=1, max_size=12
)
"""One line of hostile text: quotes, braces, markup, separators and 4-byte characters."""

URLS = LINES.map(
    lambda text: "https://a/" + "".join(c for c in text if not c.isspace() and c != ",")
)


def served(helm: Helm, values: dict[str, Any] | None = None) -> Content:
    """Return the document that the operator's chart serves."""
    objects = helm.template(_enabled(values or {}))
    return Content.model_validate_json(
        chart_helm.one(objects, "ConfigMap", PORTAL)["data"]["content.json"]
    )


def _enabled(values: dict[str, Any]) -> dict[str, Any]:
    return values | {"portal": values.get("portal", {}) | {"enabled": True}}


def integration(helm: Helm, values: dict[str, Any] | None = None) -> tuple[Manifest, ...]:
    """Return the objects of the integration chart."""
    return helm.template(values, chart=CHART)


def configuration(objects: tuple[Manifest, ...]) -> ContentConfigurationSpec:
    """Return where the portal gets its content."""
    return ContentConfigurationSpec.model_validate(
        chart_helm.one(objects, "ContentConfiguration", "llm-ui")["spec"]
    )


def inline(helm: Helm, content: dict[str, Any] | None = None) -> Content:
    """Return the document that the integration chart carries."""
    objects = integration(helm, {"content": {**(content or {}), "delivery": "inline"}})
    found = configuration(objects).inline_configuration
    assert found is not None
    return Content.model_validate_json(found.content)


def provider(objects: tuple[Manifest, ...], name: str = EXPORT) -> ProviderMetadataSpec:
    """Return what the marketplace gets."""
    spec = dict(chart_helm.one(objects, "ProviderMetadata", name)["spec"])
    spec.pop("data", None)
    return ProviderMetadataSpec.model_validate(spec)


def test_both_charts_build_the_document_by_the_same_file() -> None:
    """Charts share no files, so the copies are compared."""
    operator = REPOSITORY / OPERATOR.directory / "templates/portal/_content.tpl"

    assert operator.read_text() == (CHART / "templates/_content.tpl").read_text()


def test_both_charts_show_the_same(helm: Helm) -> None:
    """With their defaults, for the catalogue that comes with the operator."""
    assert inline(helm) == served(helm)


def test_every_kind_of_a_customer_is_listed_with_its_columns(helm: Helm) -> None:
    """As `kubectl get` lists them, with the reason of what is not ready."""
    listed = {found.entity: found for found in served(helm).resources}

    assert list(listed) == ["LLMInstance", "APITokenRequest", "Secret"]
    for model in crds.OBJECT_TYPES[:2]:
        fields = listed[model.KIND.name].ui.list_view.fields
        shown = {field.property for field in fields if isinstance(field.property, str)}
        assert {column["jsonPath"].removeprefix(".") for column in model.COLUMNS} <= shown
        assert [field.label for field in fields if field.json_path_expression] == ["Reason"]
        assert "Phase" in {field.label for field in fields}


def test_every_path_that_is_shown_exists_in_its_kind(helm: Helm) -> None:
    """A renamed field would leave an empty column."""
    schemas = {model.KIND.name: crds.crd_of(model) for model in crds.OBJECT_TYPES}
    for found in served(helm).resources:
        if found.entity == "Secret":
            continue
        (version,) = schemas[found.entity]["spec"]["versions"]
        views = [found.ui.list_view, found.ui.detail_view, found.ui.create_view]
        paths = {
            path
            for view in views
            if view
            for field in view.fields
            for path in ([field.property] if isinstance(field.property, str) else field.property)
        }
        for path in paths:
            if not path.startswith("metadata."):
                assert _has(version["schema"]["openAPIV3Schema"], path.split(".")), path


def _has(schema: dict[str, Any], path: list[str]) -> bool:
    for name in path:
        part = schema.get("items", schema)
        if name not in part["properties"]:
            return False
        schema = part["properties"][name]
    return True


def test_keys_are_masked_and_can_be_copied(helm: Helm) -> None:
    """Whoever looks over a shoulder sees dots."""
    secrets = served(helm).resources[2]
    for view in (secrets.ui.list_view, secrets.ui.detail_view):
        (key,) = [
            field
            for field in view.fields
            if field.property_field and field.property_field.key == "OPENAI_API_KEY"
        ]
        assert key.ui_settings == UiSettings(display_as="secret", with_copy_button=True)
    assert secrets.ui.create_view is None


def test_the_endpoint_can_be_copied(helm: Helm) -> None:
    """Customers paste it into their programs."""
    instances = served(helm).resources[0]
    (endpoint,) = [f for f in instances.ui.list_view.fields if f.property == "status.endpoint"]

    assert endpoint.ui_settings.with_copy_button


def test_what_is_not_ready_can_be_looked_at(helm: Helm) -> None:
    """Its page says why."""
    for found in served(helm).resources[:2]:
        assert found.available_when_not_ready
        assert "Message" in {field.label for field in found.ui.detail_view.fields}


def form(content: Content, entity: int) -> dict[str, list[str] | None]:
    """Return the fields of a form with what they offer."""
    view = content.resources[entity].ui.create_view
    assert view is not None
    return {str(field.property): field.values for field in view.fields}


def test_the_form_offers_what_the_platform_offers(helm: Helm) -> None:
    """The catalogue's models, further ones included, and no more replicas than an instance may have."""
    values = {
        "catalogue": {"models": {"mine": {}, "phi-2": {}}},
        "limits": {"maxReplicas": 2},
        "portal": {"content": {"replicaChoices": [0, 1, 2, 5], "keyLifetimes": ["720h"]}},
    }

    found = served(helm, values)

    assert form(found, 0) == {
        "metadata.name": None,
        "spec.model": sorted([*DEFAULT_MODELS, "mine"]),
        "spec.replicas": ["0", "1", "2"],
    }
    assert form(found, 1)["spec.expiresAfter"] == ["720h"]


def test_the_form_asks_for_nothing_that_has_no_list(helm: Helm) -> None:
    """An empty text is no duration, no number and no model; left out, the type's default holds."""
    values = {"catalogue": {"enabled": False}, "portal": {"content": {"replicaChoices": []}}}

    found = served(helm, values)

    assert set(form(found, 0)) == {"metadata.name"}
    assert set(form(found, 1)) == {"metadata.name", "spec.instanceName", "spec.description"}


def test_a_key_is_ordered_for_an_instance_that_exists(helm: Helm) -> None:
    """The form asks for the names in the customer's namespace."""
    view = served(helm).resources[1].ui.create_view
    assert view is not None
    (asked,) = [f.dynamic_values_definition for f in view.fields if f.dynamic_values_definition]

    assert asked.operation == "llm_privatellms_msp.v1alpha1.LLMInstances.items"
    assert asked.gql_query.count("{") == asked.gql_query.count("}")
    assert asked.gql_query_variables == {"namespace": "{context.namespaceId}"}


BRANDING = st.fixed_dictionaries(
    {
        "title": LINES,
        "logoUrl": URLS,
        "entityType": LINES,
        "secrets": st.fixed_dictionaries(
            {"group": LINES, "version": LINES, "plural": LINES, "kind": LINES}
        ),
    }
)


@given(content=BRANDING)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_hostile_branding_stays_text(helm: Helm, content: dict[str, Any]) -> None:
    """Served or inline: every text ends where it was meant to, and nowhere else."""
    for found in (served(helm, {"portal": {"content": content}}), inline(helm, content)):
        lists = [node for node in found.nodes if node.resource]
        assert {str(getattr(node.category, "label", "")) for node in lists} == {content["title"]}
        assert {node.entity_type for node in lists} == {content["entityType"]}
        assert {one.ui.logo_url for one in found.resources} == {content["logoUrl"]}
        secrets = found.resources[2]
        assert [secrets.api_group, secrets.version, secrets.entity_collection, secrets.entity] == [
            content["secrets"][name] for name in ("group", "version", "plural", "kind")
        ]


LINKS = st.lists(st.fixed_dictionaries({"displayName": LINES, "url": URLS}), max_size=2)

PRODUCT = st.fixed_dictionaries(
    {
        "displayName": LINES,
        "description": LINES,
        "tags": st.lists(LINES, min_size=1, max_size=2),
        "contacts": st.lists(
            st.fixed_dictionaries({"displayName": LINES, "email": LINES, "role": st.just(["x"])}),
            max_size=2,
        ),
        "documentation": LINKS,
        "links": LINKS,
        "preferredSupportChannels": LINKS,
        "helpCenterData": LINKS,
        "detailViewExtensions": st.lists(URLS, max_size=2),
        "data": st.dictionaries(st.sampled_from("abc"), LINES, max_size=2),
    }
)


@given(product=PRODUCT)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_hostile_product_stays_text(helm: Helm, product: dict[str, Any]) -> None:
    """In the marketplace, too."""
    objects = integration(helm, {"provider": product})

    found = provider(objects).model_dump(by_alias=True)

    assert [one["url"] for one in found.pop("detailViewExtensions")] == product[
        "detailViewExtensions"
    ]
    for name in PRODUCT_NAMES:
        assert found[name] == product[name], name
    spec = chart_helm.one(objects, "ProviderMetadata", EXPORT)["spec"]
    assert spec.get("data", {}) == product["data"]


PRODUCT_NAMES = (
    "displayName",
    "description",
    "tags",
    "contacts",
    "documentation",
    "links",
    "preferredSupportChannels",
    "helpCenterData",
)


def test_an_icon_is_two_pictures(helm: Helm) -> None:
    """The portal refuses one alone, so Helm does."""
    picture = {"data": "aGVsbG8="}
    both = integration(helm, {"provider": {"icon": {"light": picture, "dark": picture}}})

    icon = provider(both).icon
    assert icon is not None
    assert (icon.light.data, icon.dark.data) == ("aGVsbG8=", "aGVsbG8=")
    assert provider(integration(helm)).icon is None
    with pytest.raises(HelmError, match="one for dark backgrounds"):
        integration(helm, {"provider": {"icon": {"light": picture}}})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"PUBLIC_HOST": "llm.example.com"},
        {"PUBLIC_HOST": "LLM.Example.com:8443", "PUBLIC_SCHEME": "http"},
        {"PUBLIC_HOST": "10.0.0.7"},
        {"PUBLIC_HOST": "[::1]:8080"},
        {"PUBLIC_HOST": "127.0.0.1:8080"},
        {"global": {"publicHost": "llm.example.com", "publicScheme": "http"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/pm-content.json", "/portal/content.json"])
def test_the_portal_is_told_the_url_that_is_served(
    helm: Helm, values: dict[str, Any], path: str
) -> None:
    """Scheme, host and path, by the values that both charts have."""
    objects = helm.template(_enabled(values | {"portal": {"path": path}}))
    remote = configuration(integration(helm, values | {"content": {"path": path}}))

    environment = chart_helm.environment_of(
        chart_helm.one(objects, "Deployment", "private-llm-operator")
    )
    public = PublicSettings(host=environment["PUBLIC_HOST"], scheme=environment["PUBLIC_SCHEME"])
    (rule,) = chart_helm.one(objects, "Ingress", PORTAL)["spec"]["rules"]
    (served_path,) = rule["http"]["paths"]
    assert remote.remote_configuration is not None
    assert remote.remote_configuration.url == f"{public.scheme}://{public.host}{path}"
    assert (served_path["path"], served_path["pathType"]) == (path, "Exact")
    assert rule.get("host") == public.rule_host
    assert _arguments(objects).path == path


def _arguments(objects: tuple[Manifest, ...]) -> Any:
    (container,) = chart_helm.one(objects, "Deployment", PORTAL)["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["command"] == list(PORTAL_COMMAND)
    return parse(container["args"])


def test_the_server_is_asked_on_the_port_that_it_listens_on(helm: Helm) -> None:
    """From the Ingress through the Service to the process."""
    objects = helm.template(_enabled({"bindHost": "::"}))
    (port,) = chart_helm.one(objects, "Service", PORTAL)["spec"]["ports"]
    pod = chart_helm.one(objects, "Deployment", PORTAL)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (path,) = chart_helm.one(objects, "Ingress", PORTAL)["spec"]["rules"][0]["http"]["paths"]

    assert path["backend"]["service"] == {"name": PORTAL, "port": {"name": port["name"]}}
    assert container["ports"] == [{"name": port["targetPort"], "containerPort": port["port"]}]
    read = _arguments(objects)
    assert (read.port, read.host) == (port["port"], "::")


def test_the_server_has_no_rights_and_no_credential(helm: Helm) -> None:
    """It answers the internet without a key."""
    objects = helm.template(_enabled({}))
    pod = chart_helm.one(objects, "Deployment", PORTAL)["spec"]["template"]["spec"]

    assert pod["automountServiceAccountToken"] is False
    assert [next(iter(volume.keys() - {"name"})) for volume in pod["volumes"]] == ["configMap"]
    assert not any(
        subject["name"] == PORTAL for item in objects for subject in item.get("subjects", ())
    )
    policy = chart_helm.one(objects, "NetworkPolicy", PORTAL)["spec"]
    assert policy["egress"] == []


def test_without_the_portal_nothing_of_it_is_rendered(helm: Helm) -> None:
    """It is an option."""
    assert not [item for item in helm.template() if item["metadata"]["name"] == PORTAL]


def test_the_route_cannot_be_changed_by_annotations(helm: Helm) -> None:
    """Ours win; others are added."""
    annotation = "traefik.ingress.kubernetes.io/router.entrypoints"
    values = {"portal": {"ingressAnnotations": {annotation: "other", "note": 'a"b'}}}

    ingress = chart_helm.one(helm.template(_enabled(values)), "Ingress", PORTAL)

    assert ingress["metadata"]["annotations"] == {annotation: "web", "note": 'a"b'}


def test_the_charts_for_kcp_name_the_same_export(helm: Helm) -> None:
    """By default; the agent finds what the integration creates."""
    agent = chart_helm.one(
        helm.template(chart=REPOSITORY / SYNC_AGENT.directory), "Deployment", SYNC_AGENT.name
    )
    (container,) = agent["spec"]["template"]["spec"]["containers"]
    export = chart_helm.one(integration(helm), "APIExport", EXPORT)

    assert f"--apiexportendpointslice-ref={export['metadata']['name']}" in container["args"]
    assert json.dumps(export).count("spec") == 0
