"""What the API server refuses of a catalogue's entry, before the operator sees it."""

import pytest

from operator_passes import catalogue_entry
from privatellm.api.arguments import PLATFORM_ARGUMENTS
from privatellm.catalogue import default_directory, load_catalogue
from privatellm.errors import RejectedError
from privatellm.kube import KubeClient, kinds

pytestmark = pytest.mark.integration


async def test_every_argument_that_the_platform_sets_is_refused_by_its_name(
    client: KubeClient, tenant: str
) -> None:
    """In each spelling, with its value in the next word or behind ``=``, with dashes or underscores."""
    for spelling in PLATFORM_ARGUMENTS:
        underscored = spelling[:2] + spelling[2:].replace("-", "_")
        written = underscored if spelling.startswith("--") else spelling
        for word in dict.fromkeys((spelling, f"{spelling}=x", written)):
            entry = catalogue_entry(f"m-{tenant}", extraArguments=["--top-k", "40", word, "x"])
            with pytest.raises(RejectedError) as refused:
                await client.create(kinds.LLM_MODEL, entry, dry_run=True)
            name = word.partition("=")[0]
            assert f"the platform sets {name} itself; remove it" in str(refused.value)


async def test_arguments_that_tune_a_server_are_taken(client: KubeClient, tenant: str) -> None:
    """Those of our own catalogue among them."""
    shipped = [m["spec"].get("extraArguments", []) for m in load_catalogue(default_directory())]
    for words in (*shipped, ["--parallel", "2", "-c", "512", "--no-context-shift"], [""]):
        entry = catalogue_entry(f"m-{tenant}", extraArguments=words)
        await client.create(kinds.LLM_MODEL, entry, dry_run=True)
