"""An HTTP source that counts who asks it, with the demo's model."""

import asyncio
from collections.abc import AsyncIterator

import pytest

import fetcher_source
from cache_world import demo_weights
from fetcher_source import HttpSource
from privatellm.kube import KubeClient


@pytest.fixture
async def source(client: KubeClient) -> AsyncIterator[HttpSource]:
    """The demo's model behind HTTP; every request is counted."""
    content = await asyncio.to_thread((await demo_weights(client)).read_bytes)
    with fetcher_source.running(HttpSource(content)) as running:
        yield running
