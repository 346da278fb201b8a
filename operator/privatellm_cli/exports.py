"""Shell exports that make kubectl and the OpenAI SDKs talk to an environment."""

from privatellm.kube import KubeClient
from privatellm_cli import credentials
from privatellm_local import completion
from privatellm_local.demo import names
from privatellm_local.environment import Running
from privatellm_local.pki import inventory


async def lines(running: Running, instance: str | None = None) -> tuple[str, ...]:
    """Return one ``export`` line a variable, quoted for a shell.

    Args:
        running: The environment.
        instance: ``NAME`` or ``NAMESPACE/NAME``; ``None`` means the demo's, when it was ordered.

    Raises:
        NotFoundError: when there is no key for the instance.
        KubernetesError: when the cluster does not answer.
    """
    kubeconfig = running.paths.kubeconfig(inventory.ADMIN.name)
    variables = {"KUBECONFIG": str(kubeconfig), "PRIVATE_LLM_URL": running.plan.edge_url}
    wanted = instance or _demo(running)
    if wanted is not None:
        async with await KubeClient.connect(kubeconfig) as client:
            variables |= await credentials.read(client, credentials.InstanceName.parse(wanted))
    return credentials.export_lines(variables)


def _demo(running: Running) -> str | None:
    done = completion.read(running.paths)
    return f"{names.NAMESPACE}/{names.INSTANCE}" if done and done.demo else None
