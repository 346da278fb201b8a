"""Values of what the platform offers: model servers, the edge's rules, keys, caches, caps, rights."""

from typing import Annotated, Any, Literal

from pydantic import Field

from privatellm_local.packaging.part_values import ImageReference
from privatellm_local.packaging.value_types import (
    Count,
    Duration,
    FilledLine,
    Group,
    Member,
    Name,
    Namespace,
    OptionalName,
    OptionalNamespace,
    Reference,
    Texts,
    Url,
)


class NodeClass(Member):
    """Where the servers of some models run; the fields are those of a pod's spec."""

    node_selector: Texts
    """Labels that a node must have."""

    tolerations: tuple[dict[str, str | int], ...] = ()
    """Taints of nodes that do not keep the servers away."""

    priority_class_name: OptionalName = ""
    """Priority of the pods."""

    runtime_class_name: OptionalName = ""
    """Runtime of the containers, such as one for GPUs."""


class Server(Group):
    """What runs in the pods of an instance, in the customers' namespaces."""

    image: ImageReference = ImageReference(repository="ghcr.io/ggml-org/llama.cpp", tag="server")
    """Image of the llama.cpp server."""

    image_pull_secrets: tuple[Reference, ...] = ()
    """Pull secrets that exist in every customer's namespace, for the images of server and operator (the
    fetcher's); and in the release's namespace, where the platform's own Jobs fetch."""

    mirror: Url = ""
    """Base URL that replaces the model hub's; empty: the hub itself."""

    node_classes: Annotated[dict[Name, NodeClass], Field(default_factory=dict)]
    """Where servers run, by the `nodeClass` of their models."""

    allow_file_sources: bool = False
    """Let models come from `file://` URLs; for development machines."""

    allow_private_sources: bool = False
    """Let models come from hosts with private or link-local addresses."""

    grace_period_seconds: Annotated[int, Field(ge=5)] = 300
    """Seconds a terminating server has to finish its streams."""

    cold_load_seconds: Annotated[int, Field(ge=60)] = 1800
    """Seconds a server may need to load its model before it counts as dead."""


class Ingress(Group):
    """The route of an instance."""

    class_name: OptionalName = ""
    """Class of every Ingress; empty: `traefik.ingressClass.name`. It must not be the cluster's default."""

    extra_annotations: Texts
    """Further annotations of every Ingress; those that make the route cannot be overridden."""


class Edge(Group):
    """How Traefik is asked to route."""

    namespaces: tuple[Namespace, ...] = ("traefik",)
    """Namespaces that Traefik runs in: their pods reach model servers and the ForwardAuth service. The
    release's namespace is one more when `traefik.enabled` is true."""

    entry_points: tuple[Name, ...] = ()
    """Traefik's entry points; empty: `websecure` for https and `web` for http."""

    middleware_separator: Literal["_", "-"] = "_"
    """`_` where Traefik runs with `providers.kubernetesCRD.safeNaming`, which it should; `-` without."""

    cors_origins: tuple[Annotated[str, Field(pattern=r"^https?://[^\s,/]+$")], ...] = ()
    """Origins whose pages may call the API from a browser."""

    requests_per_minute: Count = 600
    """Requests a minute and key, unless the model says otherwise; a second's share may come at once."""

    concurrent_requests: Count = 64
    """Requests at the same time and key, unless the model says otherwise."""

    address_requests_per_second: Annotated[int, Field(ge=0)] = 500
    """Requests a second and client address before keys are looked at; 0: no limit, for edges that see one
    address only."""

    trusted_proxies: Annotated[int, Field(ge=0)] = 0
    """Proxies in front of the edge that add to `X-Forwarded-For`; 0: the client is who connects."""


class Tokens(Group):
    """Keys and where the edge finds what it needs to check them."""

    namespace: OptionalNamespace = ""
    """Namespace of the verifiers; empty: the release's namespace without `-system`, and `-tokens`, such as
    `private-llm-tokens`. Two releases need two."""

    create_namespace: bool = True
    """Create it. It stays when the release is uninstalled."""

    longest_life: Duration = ""
    """Longest life of a key, such as `2160h`; empty: keys may live for ever."""

    last_use_seconds: Annotated[int, Field(ge=0)] = 300
    """Seconds between two looks at when keys were last used; 0: never look."""


class PlatformKey(Group):
    """The secret that the backend keys of all instances derive from."""

    existing_secret: OptionalName = ""
    """Secret with 32 or more characters under the key `platform-key`; empty: made at the first install and
    kept. Needed where manifests are rendered without a cluster (`helm template`, Argo CD)."""


class ModelCache(Group):
    """Where fetched weights are kept."""

    mode: Literal["ephemeral", "persistentVolumeClaim", "hostPath"] = "ephemeral"
    """In each pod, on a claim in the customer's namespace, or in a directory of the nodes that the platform
    fills."""

    claim: OptionalName = ""
    """Claim that you make in each customer's namespace and all models share; empty: the operator makes one
    for each model and namespace."""

    storage_class: OptionalName = ""
    """Class of the claims that the operator makes; empty: the cluster's default."""

    access_mode: Literal["ReadWriteOnce", "ReadWriteMany"] = "ReadWriteOnce"
    """How those claims may be mounted."""

    claim_size: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?([KMGTP]i?)?$")] = "20Gi"
    """Size of a claim whose model does not say its size."""

    directory: Annotated[str, Field(pattern=r"^/[^\x00-\x1f\x7f-\x9f]*$")] = (
        "/var/lib/private-llm/models"
    )
    """The nodes' directory of `hostPath`; the user 65532 must be able to write it."""

    hub_token_secret: OptionalName = ""
    """Secret in the release's namespace whose key `token` opens gated models; needs `hostPath`."""


class Limits(Group):
    """Upper bounds on what customers may ask for."""

    max_replicas: Count = 10
    """Largest `spec.replicas` of an instance."""

    max_instances: Count | None = None
    """Instances in one namespace; unset: any number."""

    max_token_requests: Count | None = None
    """Token requests in one namespace; unset: any number."""


class Watch(Group):
    """What the operator serves."""

    namespaces: tuple[Namespace, ...] = ()
    """Customers' namespaces; empty: all. When set, the operator has rights in these alone (orders excepted,
    so that namespaces can end), and customers may order in those that are in `onboardedNamespaces`."""

    workers: Count = 20
    """Passes at the same time."""

    relist_seconds: Count = 600
    """Seconds between two full lists that correct what a broken watch missed."""

    sweep_seconds: Count = 60
    """Seconds between two looks at the catalogue's files and at orphaned keys."""


class Rbac(Group):
    """Rights beyond those that the operator always has."""

    secrets_in_all_namespaces: bool = False
    """Let the operator handle Secrets in all namespaces that it serves instead of in `onboardedNamespaces`.
    Without `watch.namespaces` every Secret of the cluster is then one compromised operator away."""

    aggregate_roles: bool = True
    """Let namespace admins, editors and viewers use LLMInstances and APITokenRequests."""


class Catalogue(Group):
    """The models that customers can choose; the operator applies them."""

    enabled: bool = True
    """Give the operator a catalogue. One release a cluster owns the models."""

    defaults: bool = True
    """Offer the models that come with the chart."""

    models: Annotated[dict[Name, dict[str, Any]], Field(default_factory=dict)]
    """Further models: the `spec` of an LLMModel by its name."""


class AdmissionPolicies(Group):
    """ValidatingAdmissionPolicies that keep namespace admins from other people's prompts."""

    enabled: bool = True
    """Render them. Without them a customer who may create Ingresses can read other customers' prompts."""

    break_glass_groups: Annotated[tuple[FilledLine, ...], Field(min_length=1)] = ("system:masters",)
    """Groups that may do what the operator may, and open shells in model pods. The default's members could
    remove the policies anyway."""

    further_operators: tuple[FilledLine, ...] = ()
    """User names of other releases' operators, such as
    `system:serviceaccount:other-system:private-llm-operator`."""

    further_platform_namespaces: tuple[Namespace, ...] = ()
    """Namespaces beside the release's and the edge's that are not customers'."""
