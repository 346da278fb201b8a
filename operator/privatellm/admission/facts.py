"""What the policies depend on: who is trusted, and which names this installation uses."""

from dataclasses import dataclass

from privatellm.errors import InvalidInputError

SYSTEM_CONTROLLERS = (
    # A controller manager whose controllers share its identity.
    "system:kube-controller-manager",
    # The usual case: each controller has a service account of its own.
    "system:serviceaccount:kube-system:deployment-controller",
    "system:serviceaccount:kube-system:replicaset-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:storage-version-migrator-controller",
)
"""Controllers that must write our objects: they roll out pods, release owners and re-encrypt.

No other controller is here: one that creates what a tenant asks for (a StatefulSet's pods, an autoscaler's
scale) would lend the tenant its trust.
"""


@dataclass(frozen=True, slots=True)
class Callers:
    """People and programs that a policy lets through."""

    usernames: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdmissionFacts:
    """The values of one installation.

    Attributes:
        operator_usernames: Who the operator is at the API server, such as
            ``system:serviceaccount:private-llm-system:private-llm-operator``; several where several
            releases share a cluster.
        system_namespace: Where the operator and the shared middlewares live.
        token_namespace: Where the verifiers live.
        ingress_class: The class that the edge serves.
        further_platform_namespaces: Namespaces beside the system namespace in which no tenant may write
            and the platform team's own routes are kept, such as the edge's.
        controller_usernames: Kubernetes' own controllers.
        break_glass_groups: Groups that may do everything the operator may and open shells in model
            pods; empty means that nobody may.

    Raises:
        InvalidInputError: when a value is missing without which the operator would be locked out.
    """

    operator_usernames: tuple[str, ...]
    system_namespace: str
    token_namespace: str
    ingress_class: str
    further_platform_namespaces: tuple[str, ...] = ()
    controller_usernames: tuple[str, ...] = SYSTEM_CONTROLLERS
    break_glass_groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse facts that make policies nobody, or everybody, passes."""
        if not self.operator_usernames:
            raise InvalidInputError(
                "The admission policies must name at least one operator; got none. "
                "Give the user name of its service account."
            )
        values = (
            *self.operator_usernames,
            *self.platform_namespaces,
            *self.controller_usernames,
            *self.break_glass_groups,
            self.token_namespace,
            self.ingress_class,
        )
        if not all(values):
            raise InvalidInputError(f"No value of the admission policies may be empty; got {self}.")

    @property
    def platform_namespaces(self) -> tuple[str, ...]:
        """Namespaces that are not tenants'."""
        return (self.system_namespace, *self.further_platform_namespaces)

    @property
    def operators(self) -> Callers:
        """Who may decide about our objects."""
        return Callers(self.operator_usernames, self.break_glass_groups)

    @property
    def writers(self) -> Callers:
        """Who may write them: the deciders and the controllers that carry decisions out."""
        names = (*self.operator_usernames, *self.controller_usernames)
        return Callers(names, self.break_glass_groups)

    @property
    def rescuers(self) -> Callers:
        """Who may reach into a running model server; the operator has no need to."""
        return Callers(groups=self.break_glass_groups)
