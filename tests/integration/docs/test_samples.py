"""The sample manifests are what a real API server takes, and what the operator fulfils."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from customer import read_credentials, until_phase
from docs_pages import EXAMPLES
from embedded import Environment, kubectl
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

KUBECTL = Path(sys.executable).with_name("kubectl")
CUSTOMER = "acme"


async def rendered(environment: Environment, folder: Path) -> list[dict[str, Any]]:
    """Return the objects of a folder as kustomize makes them."""
    return list(yaml.safe_load_all(await kubectl(environment, "kustomize", str(folder))))


async def test_samples_of_both_kinds_are_applied_and_fulfilled(
    environment: Environment, client: KubeClient, namespace: str
) -> None:
    """By the command of the page, in a namespace that was onboarded."""
    applied = await kubectl(
        environment, "apply", "-k", str(EXAMPLES / "kustomize"), "-n", namespace
    )
    assert applied.count("created") == 2

    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    ready = await until_phase(client, kinds.API_TOKEN_REQUEST, namespace, "my-key", "Ready")
    credentials = await read_credentials(client, namespace, "my-key-token")

    assert ready["status"]["expiresAt"]
    assert credentials.base_url == f"{credentials.url}/v1"
    again = await kubectl(environment, "apply", "-k", str(EXAMPLES / "kustomize"), "-n", namespace)
    assert again.count("unchanged") == 2


async def test_a_customers_folder_is_what_an_api_server_takes(
    environment: Environment, namespace: str
) -> None:
    """All of it but the namespace itself, in a dry run that admission and schemas see."""
    objects = await rendered(environment, EXAMPLES / "gitops" / "customers")
    inside = [o for o in objects if o["kind"] != "Namespace"]
    assert {o["metadata"]["namespace"] for o in inside} == {CUSTOMER}
    for manifest in inside:
        manifest["metadata"]["namespace"] = namespace

    taken = await kubectl(
        environment,
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        stdin=yaml.safe_dump_all(inside),
    )

    assert taken.count("(server dry run)") == len(inside) == 4
