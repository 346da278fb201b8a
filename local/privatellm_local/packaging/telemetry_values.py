"""Values of what operators of the platform see: metrics, alerts, dashboards, traces, logs."""

from typing import Annotated, Literal

from pydantic import Field

from privatellm_local.packaging.value_types import (
    Duration,
    FilledLine,
    Group,
    HeaderName,
    Namespace,
    OptionalName,
    Texts,
    Url,
)


class ServiceMonitor(Group):
    """Scraping by the Prometheus operator."""

    enabled: bool = False
    """Render ServiceMonitors, and a PodMonitor for a bundled edge; the cluster must have these kinds."""

    interval: Duration = "30s"
    """How often metrics are read."""

    labels: Texts
    """Labels by which your Prometheus selects them."""


class Alerts(Group):
    """Alerts for the Prometheus operator."""

    enabled: bool = False
    """Render a PrometheusRule; the cluster must have the kind."""

    labels: Texts
    """Labels by which your Prometheus selects it."""

    runbooks: Url = ""
    """Where the pages of `docs/how-to/runbooks` are published, such as
    `https://docs.example.com/runbooks/{alert}.html`, with `{alert}` for the alert's name; empty: alerts
    carry no `runbook_url`."""


class Dashboards(Group):
    """Dashboards for Grafana."""

    enabled: bool = False
    """Render a ConfigMap for each dashboard, which Grafana's sidecar finds by a label.

    Of several releases that one Grafana sees, one is enough: people choose the release in the dashboard.
    """

    labels: Annotated[dict[str, str], Field(default_factory=lambda: {"grafana_dashboard": "1"})]
    """Labels by which the sidecar selects them."""

    folder: FilledLine = "Private LLM"
    """Folder in Grafana, as the annotation `grafana_folder`."""


class Metrics(Group):
    """What is measured, and who may read it."""

    scraper_namespaces: tuple[Namespace, ...] = ("monitoring",)
    """Namespaces whose pods may read metrics."""

    model_seconds: Annotated[int, Field(ge=0)] = 30
    """Seconds between two questions of the operator to each model server for its figures; `0`: never."""

    service_monitor: ServiceMonitor = ServiceMonitor()
    """Scraping by the Prometheus operator."""

    alerts: Alerts = Alerts()
    """Alerts for the Prometheus operator."""

    dashboards: Dashboards = Dashboards()
    """Dashboards for Grafana."""


class OtelHeaders(Group):
    """Headers for the collector, such as a credential."""

    name: OptionalName = ""
    """Secret with them, in the release's namespace; empty: none."""

    key: FilledLine = "headers"
    """Key in it, with a text such as `authorization=Bearer …`."""


class OtelExport(Group):
    """Traces, sent by OTLP.

    Further variables of the OpenTelemetry specification go into the `extraEnv` of a part.
    """

    endpoint: Url = ""
    """URL of a collector, such as `http://otel-collector.monitoring:4317`; empty: no traces."""

    protocol: Literal["grpc", "http/protobuf"] = "grpc"
    """How the collector is spoken to."""

    sampling_percent: Annotated[int, Field(ge=0, le=100)] = 100
    """Percentage of the orders that are traced."""

    headers_secret: OtelHeaders = OtelHeaders()
    """Headers for the collector."""


class Otel(OtelExport):
    """Traces of orders and of decisions, sent by OTLP.

    Further variables of the OpenTelemetry specification go into `extraEnv` and `authserver.extraEnv`.
    """

    edge_sampling_percent: Annotated[int, Field(ge=0, le=100)] = 0
    """Percentage of the requests that the bundled edge traces, and the ForwardAuth service with it; `0`:
    none. Traefik's spans carry the request's path, which is a key's place where a client is set up wrongly:
    who sees traces must be allowed to see that. An edge of your own has its own settings."""

    edge_headers: Annotated[
        dict[HeaderName, FilledLine],
        Field(default_factory=dict, json_schema_extra={"additionalProperties": False}),
    ]
    """Headers that the bundled edge sends to the collector, each with the key of its text in the Secret
    `headersSecret.name`, such as `{authorization: edge-authorization}`. Traefik reads no list of headers:
    that key holds `Bearer …` alone, as it is sent and with no end of line. Needed where
    `headersSecret.name` is set and the edge traces."""


class Logs(Group):
    """How our processes speak."""

    format: Literal["json", "console"] = "json"
    """JSON lines or columns."""

    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    """Lowest level that is written."""
