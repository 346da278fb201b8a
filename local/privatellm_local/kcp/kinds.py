"""The kinds a workspace serves by itself."""

from privatellm.kube.kinds import CONFIG_MAP, EVENT, LEASE, NAMESPACE, SECRET, SERVICE_ACCOUNT, Kind

WORKSPACE = Kind("tenancy.kcp.io", "v1alpha1", "Workspace", "workspaces", namespaced=False)
LOGICAL_CLUSTER = Kind(
    "core.kcp.io", "v1alpha1", "LogicalCluster", "logicalclusters", namespaced=False
)
API_EXPORT = Kind("apis.kcp.io", "v1alpha2", "APIExport", "apiexports", namespaced=False)
API_BINDING = Kind("apis.kcp.io", "v1alpha2", "APIBinding", "apibindings", namespaced=False)
API_RESOURCE_SCHEMA = Kind(
    "apis.kcp.io", "v1alpha1", "APIResourceSchema", "apiresourceschemas", namespaced=False
)
ENDPOINT_SLICE = Kind(
    "apis.kcp.io", "v1alpha1", "APIExportEndpointSlice", "apiexportendpointslices", namespaced=False
)
CORE_EVENT = Kind("", "v1", "Event", "events")

CONTROL_KINDS: tuple[Kind, ...] = (
    WORKSPACE,
    LOGICAL_CLUSTER,
    API_EXPORT,
    API_BINDING,
    API_RESOURCE_SCHEMA,
    ENDPOINT_SLICE,
)
"""kcp's own objects, which the double's controllers act upon."""

FOLLOWED: tuple[Kind, ...] = (*CONTROL_KINDS, NAMESPACE)
"""What the double's registry follows."""

BUILT_IN: tuple[Kind, ...] = (
    *CONTROL_KINDS,
    NAMESPACE,
    SECRET,
    CONFIG_MAP,
    SERVICE_ACCOUNT,
    CORE_EVENT,
    EVENT,
    LEASE,
)
"""Everything a workspace serves without any binding."""
