"""How much memory a server may spend on saved prompts.

llama.cpp saves up to 8 GiB of prompts by default and knows nothing of the container's memory limit, so a
small server would be killed by its own cache. What is left of the limit after the weights has to hold the
key-value cache and the compute buffers too, whose sizes are not known here; a quarter of the rest is what
saved prompts may take.
"""

from privatellm.api.llm_model import LLMModel
from privatellm_operator.render.quantities import parse_quantity

LARGEST_PROMPT_CACHE_MEBIBYTES = 8192
"""llama.cpp's own default, which is never exceeded unless a model asks for it."""

_MEBIBYTE = 2**20
_SHARE = 4


def prompt_cache_mebibytes(model: LLMModel) -> int | None:
    """Return what ``--cache-ram`` should be; ``None`` where llama.cpp's default does no harm."""
    server = model.spec.server
    if server.prompt_cache_mebibytes is not None:
        return server.prompt_cache_mebibytes
    # Such servers never see a prompt's beginning twice, and their cache would only grow.
    if server.embeddings or server.reranking:
        return 0
    limit = model.spec.resources.limits.get("memory")
    if limit is None:
        return None
    left = int(parse_quantity(limit)) - (model.spec.size_bytes or 0)
    return max(0, min(left // _SHARE // _MEBIBYTE, LARGEST_PROMPT_CACHE_MEBIBYTES))
