"""The kinds we read or write, and how each one's URL is built.

A :class:`Kind` is data: adding one here is all that is needed to use it through the client. There is
no discovery, so a missing CRD shows up as :class:`~privatellm.errors.NotFoundError` on first use.
"""

from dataclasses import dataclass
from urllib.parse import quote

GROUP = "llm.privatellms.msp"
VERSION = "v1alpha1"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object at one API version."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` that objects of this kind carry."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, of one object, or of its subresource.

        Args:
            namespace: Namespace of the object; ``None`` means all namespaces, or a cluster-scoped kind.
            name: Name of the object; empty for the collection.
            subresource: Such as ``status`` or ``token``; empty for the object itself.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{quote(namespace, safe='')}" if namespace and self.namespaced else ""
        tail = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"


LLM_INSTANCE = Kind(GROUP, VERSION, "LLMInstance", "llminstances")
API_TOKEN_REQUEST = Kind(GROUP, VERSION, "APITokenRequest", "apitokenrequests")
LLM_MODEL = Kind(GROUP, VERSION, "LLMModel", "llmmodels", namespaced=False)

NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
POD = Kind("", "v1", "Pod", "pods")
SERVICE = Kind("", "v1", "Service", "services")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")
SECRET = Kind("", "v1", "Secret", "secrets")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
PERSISTENT_VOLUME = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PERSISTENT_VOLUME_CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
EVENT = Kind("events.k8s.io", "v1", "Event", "events")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets")
JOB = Kind("batch", "v1", "Job", "jobs")
INGRESS = Kind("networking.k8s.io", "v1", "Ingress", "ingresses")
INGRESS_CLASS = Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False)
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
ROLE = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
CLUSTER_ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY_BINDING = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
MIDDLEWARE = Kind("traefik.io", "v1alpha1", "Middleware", "middlewares")

ALL_KINDS: tuple[Kind, ...] = (
    LLM_INSTANCE,
    API_TOKEN_REQUEST,
    LLM_MODEL,
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    SERVICE_ACCOUNT,
    SECRET,
    CONFIG_MAP,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    EVENT,
    DEPLOYMENT,
    REPLICA_SET,
    JOB,
    INGRESS,
    INGRESS_CLASS,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    LEASE,
    STORAGE_CLASS,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    MIDDLEWARE,
)
"""Every kind above, for code that starts from a manifest."""


def kind_of(manifest: dict[str, object]) -> Kind:
    """Return the kind of a manifest.

    Raises:
        KeyError: when the manifest's ``apiVersion`` and ``kind`` are not among :data:`ALL_KINDS`.
    """
    key = (manifest["apiVersion"], manifest["kind"])
    return {(kind.api_version, kind.name): kind for kind in ALL_KINDS}[key]  # type: ignore[index]
