"""The values of ``charts/private-llm-operator-ocm``, as types.

The chart makes the objects by which the OCM controllers fetch the component, check its signature and give
kro the graph. What an installation looks like is no value of this chart: that is the object which people
create afterwards.
"""

from typing import Annotated

from pydantic import Field

from privatellm_local.packaging.chart import Chart
from privatellm_local.packaging.value_types import (
    FilledLine,
    Group,
    Name,
    Namespace,
    OptionalName,
)

FilledDuration = Annotated[str, Field(pattern=r"^([0-9]+(h|m|s))+$")]


class ComponentRepository(Group):
    """The OCI registry that holds the component."""

    base_url: FilledLine = "ghcr.io/private-llm"
    """Host and path of the registry; begin it with `http://` for one without TLS."""

    credentials_secret: OptionalName = ""
    """Secret in the release's namespace with the registry's credentials, of the type
    `kubernetes.io/dockerconfigjson` or with an `.ocmconfig`; empty: the registry is open."""

    interval: FilledDuration = "10m"
    """How often the registry is looked at."""


class Component(Group):
    """Which version of the component is installed."""

    semver: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    """Version or range, such as `>=0.1.0 <0.2.0`; empty: the chart's `appVersion`. With a range new
    versions are installed by themselves."""

    interval: FilledDuration = "10m"
    """How often a newer version within the range is looked for."""


class Verify(Group):
    """The signature that the component must carry."""

    enabled: bool = True
    """Check it. Without, whoever writes to the registry decides what runs in the cluster."""

    signature: Name = "private-llm"
    """Name of the signature."""

    secret_name: Name = "private-llm-signing-key"  # noqa: S105 - a name; the key in it is public
    """Secret in the release's namespace with the public key in PEM form, under the signature's name."""


class OcmController(Group):
    """Rights of the OCM controllers to apply the graph."""

    enabled: bool = True
    """Grant them."""

    service_account: Name = "ocm-k8s-toolkit-controller-manager"
    """Their service account."""

    namespace: Namespace = "ocm-k8s-toolkit-system"
    """Its namespace."""


class KroRights(Group):
    """Rights of kro, which it takes up by itself where it runs with `rbac.mode=aggregation`."""

    enabled: bool = True
    """Grant them."""


class Rights(Group):
    """Rights that the controllers of others need for our objects, and no more."""

    ocm_controller: OcmController = OcmController()
    """Rights of the OCM controllers to apply the graph."""

    kro: KroRights = KroRights()
    """Rights of kro to make what an installation consists of, where it runs with
    `rbac.mode=aggregation`."""


class OcmValues(Group):
    """All values of the chart."""

    repository: ComponentRepository = ComponentRepository()
    """The OCI registry that holds the component."""

    component: Component = Component()
    """Which version of the component is installed."""

    verify: Verify = Verify()
    """The signature that the component must carry."""

    rights: Rights = Rights()
    """Rights that the controllers of others need for our objects, and no more."""


OCM = Chart(
    name="private-llm-operator-ocm",
    values=OcmValues,
    source="ocm_values.py",
    page="ocm-chart-values.md",
    guide="[Install with OCM and kro](../how-to/ocm-install.md) says how to\ninstall and upgrade.",
)
