"""One benchmark from its first connection to its last figure."""

import httpx

from privatellm_cli import endpoint
from privatellm_cli.access import Access
from privatellm_cli.bench.measuring import Bench, Load
from privatellm_cli.bench.statistics import Run
from privatellm_cli.display import progress_for
from privatellm_cli.endpoint import Endpoint


async def measure(found: Access, load: Load, levels: tuple[int, ...]) -> tuple[Run, ...]:
    """Return one run a concurrency.

    Args:
        found: The way into the instance.
        load: What is asked.
        levels: Requests at the same time, one run each.

    Raises:
        EndpointError: when the instance does not answer at all.
    """
    progress = progress_for()
    limits = httpx.Limits(max_connections=None)
    runs: list[Run] = []
    try:
        async with httpx.AsyncClient(
            timeout=endpoint.TIMEOUT,
            limits=limits,
            trust_env=endpoint.trusts_environment(found.base_url),
        ) as client:
            bench = Bench(client, Endpoint(found.base_url, found.key), load)
            progress.begin("warming up")
            await bench.warm_up()
            for level in levels:
                progress.begin(f"{level} at once")
                runs.append(
                    await bench.run(level, lambda n: progress.update(f"{n} of {load.requests}"))
                )
    finally:
        progress.close()
    return tuple(runs)
