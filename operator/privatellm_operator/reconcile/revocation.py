"""The one thing the instance's pass asks of the tokens' side."""

from typing import Protocol


class InstanceRevoker(Protocol):
    """Ends every key that opens an instance."""

    async def revoke_instance(self, instance_uid: str) -> None:
        """Delete the verifiers of the instance with this UID, and return when they are gone.

        Raises:
            KubernetesError: when one could not be deleted; the caller comes back.
        """
