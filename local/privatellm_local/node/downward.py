"""Facts of a pod that it may read: the downward API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from privatellm.errors import InvalidInputError
from privatellm_local.node import quantities
from privatellm_local.node.config import Capacity
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.pod import Container, FieldRef, Pod, ResourceFieldRef

_SUBSCRIPT = re.compile(r"metadata\.(?P<map>labels|annotations)\['(?P<key>.*)'\]")


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod, where it runs, and what it may use there."""

    pod: Pod
    pod_ip: str
    host_ip: str
    capacity: Capacity

    def field(self, ref: FieldRef) -> str:
        """Return a field of the pod.

        Raises:
            ContainerRefusedError: when the downward API knows no such field.
        """
        path = ref.field_path
        if match := _SUBSCRIPT.fullmatch(path):
            return self._map(match["map"]).get(match["key"], "")
        if path in {"metadata.labels", "metadata.annotations"}:
            return _lines(self._map(path.removeprefix("metadata.")))
        try:
            return self._scalars()[path]
        except KeyError:
            raise ContainerRefusedError(
                f"The host node's downward API has the fields {', '.join(sorted(self._scalars()))} "
                f"and labels and annotations; got {path!r}."
            ) from None

    def resource(self, ref: ResourceFieldRef, reader: Container) -> str:
        """Return a request or limit in units of the reference's divisor, rounded up.

        Args:
            ref: Which one, and of which container.
            reader: The container that asks, which is meant when the reference names none.

        Raises:
            ContainerRefusedError: when the reference means nothing.
        """
        name = ref.container_name or reader.name
        owner = next((c for c in self.pod.all_containers if c.name == name), None)
        kind, _, resource = ref.resource.partition(".")
        if owner is None or kind not in {"requests", "limits"}:
            raise ContainerRefusedError(
                "A resource reference names a container of the pod and requests.* or limits.*; "
                f"got {ref.resource!r} of container {name!r}."
            )
        try:
            return quantities.in_units(self._amount(owner, kind, resource), ref.divisor)
        except InvalidInputError as error:
            raise ContainerRefusedError(str(error)) from error

    def _amount(self, owner: Container, kind: str, resource: str) -> str:
        resources = owner.resources
        if kind == "requests":
            return resources.requests.get(resource) or resources.limits.get(resource) or "0"
        # A missing limit means: all that the node has.
        node = self.capacity.model_dump(by_alias=True)
        return resources.limits.get(resource) or str(node.get(resource, "0"))

    def _map(self, name: str) -> Mapping[str, str]:
        metadata = self.pod.metadata
        return metadata.labels if name == "labels" else metadata.annotations

    def _scalars(self) -> Mapping[str, str]:
        metadata, spec = self.pod.metadata, self.pod.spec
        return {
            "metadata.name": metadata.name,
            "metadata.namespace": metadata.namespace,
            "metadata.uid": metadata.uid,
            "spec.nodeName": spec.node_name,
            "spec.serviceAccountName": spec.service_account_name,
            "status.hostIP": self.host_ip,
            "status.hostIPs": self.host_ip,
            "status.podIP": self.pod_ip,
            "status.podIPs": self.pod_ip,
        }


def _lines(values: Mapping[str, str]) -> str:
    quoted = {key: value.replace("\\", "\\\\").replace('"', '\\"') for key, value in values.items()}
    return "\n".join(f'{key}="{quoted[key]}"' for key in sorted(quoted))
