"""A chart that was pushed can be installed from the registry, by its version and by its digest."""

import pytest

from chart_helm import REPOSITORY, Helm, objects_in
from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import CHART_REGISTRY
from release_registry import Registry

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

NAMES = tuple(chart.name for chart in packaged_charts(REPOSITORY))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_pulled_by_digest_is_the_chart(
    helm: Helm, outside: Registry, pushed_charts: dict[str, str], name: str
) -> None:
    """As Flux pulls it."""
    path = CHART_REGISTRY.partition("/")[2]
    place = f"oci://{outside.host}/{path}/{name}@{pushed_charts[name]}"

    pulled = helm.run("template", "x", place, "--plain-http", "--namespace", "a")

    local = helm.run("template", "x", str(REPOSITORY / "charts" / name), "--namespace", "a")
    assert [(o["kind"], o["metadata"]["name"]) for o in objects_in(pulled)] == [
        (o["kind"], o["metadata"]["name"]) for o in objects_in(local)
    ]
