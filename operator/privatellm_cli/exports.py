"""Shell exports that make kubectl and the OpenAI SDKs talk to an environment."""

from privatellm.errors import NotFoundError
from privatellm_cli import credentials
from privatellm_cli.cluster import Cluster, Target, connected
from privatellm_cli.credentials import Exports
from privatellm_local import completion
from privatellm_local.demo import names
from privatellm_local.environment import Running
from privatellm_local.pki import inventory


async def of_environment(running: Running, instance: str | None = None) -> Exports:
    """Return the exports of an environment and of a private LLM in it.

    Without an instance named the demo's is meant. It is an object like any other and may be gone; the
    cluster's own exports are as good without it.

    Args:
        running: The environment.
        instance: ``NAME`` or ``NAMESPACE/NAME``; ``None`` means the demo's, where there is one.

    Raises:
        NotFoundError: when the instance that is named does not exist, or there is no key for it.
        KubernetesError: when the cluster does not answer.
    """
    kubeconfig = running.paths.kubeconfig(inventory.ADMIN.name)
    variables = {"KUBECONFIG": str(kubeconfig), "PRIVATE_LLM_URL": running.plan.edge_url}
    note = ""
    async with connected(Target(kubeconfig)) as cluster:
        try:
            variables |= await _of_instance(cluster, running, instance)
        except NotFoundError as error:
            if instance is not None:
                raise
            note = (
                f"No OPENAI_* is exported. {error} For those of a private LLM: privatellm env "
                "NAMESPACE/NAME, see privatellm list -A."
            )
    return Exports(variables, note)


async def _of_instance(cluster: Cluster, running: Running, instance: str | None) -> dict[str, str]:
    if instance is None and not _has_demo(running):
        raise NotFoundError("No private LLM is named.")
    wanted = instance or f"{names.NAMESPACE}/{names.INSTANCE}"
    return await credentials.of_instance(cluster, cluster.name(wanted))


def _has_demo(running: Running) -> bool:
    done = completion.read(running.paths)
    return done is not None and done.demo
