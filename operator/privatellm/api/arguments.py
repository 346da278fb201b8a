"""Which arguments of a model server are the platform's own, in every spelling that llama.cpp takes.

Further arguments come last, and llama.cpp believes the last one. So an argument of a model could move the
server off its address, open it without a key, or serve other weights than those that were checked. What the
platform decides is refused here: once by the API server, with the rule that is made below, and once more by
the operator, for models that were stored before the rule.

What only tunes a server stays free, also where a typed field says the same. The spellings are those of
llama.cpp's ``tools/server/README.md`` at 00dc8057 (November 2026) and older ones that images still know;
llama.cpp takes ``_`` for ``-`` behind a double dash.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

MOST_ARGUMENTS = 64
LONGEST_ARGUMENT = 4096
"""Characters of one word. Both bounds let the API server bound what the rule costs."""

ADDRESS = (
    *("--host", "--port", "--reuse-port", "--path", "--api-prefix"),
    *("--ssl-key-file", "--ssl-cert-file"),
)
"""Where the edge, the probes and the drain find the server."""

KEYS = ("--api-key", "--api-key-file")
"""Who may ask it: the edge alone."""

IDENTITY = ("-a", "--alias")
"""What it calls its model."""

WEIGHTS = (
    *("-m", "--model", "-mu", "--model-url", "-dr", "--docker-repo"),
    *("-hf", "-hfr", "--hf-repo", "-hff", "--hf-file", "-hft", "--hf-token"),
    *("-hfv", "-hfrv", "--hf-repo-v", "-hffv", "--hf-file-v", "-mv", "--model-vocoder"),
    *("-hfd", "-hfrd", "--hf-repo-draft", "--spec-draft-hf"),
    *("-mmu", "--mmproj-url"),
    *("--models-dir", "--models-preset", "--models-max"),
    *("--models-autoload", "--no-models-autoload"),
    *("--embd-gemma-default", "--embd-bge-small-en-default", "--embd-e5-small-en-default"),
    *("--embd-gte-small-default", "--fim-qwen-1.5b-default", "--fim-qwen-3b-default"),
    *("--fim-qwen-7b-default", "--fim-qwen-7b-spec", "--fim-qwen-14b-spec"),
    *("--fim-qwen-30b-default", "--gpt-oss-20b-default", "--gpt-oss-120b-default"),
    *("--vision-gemma-4b-default", "--vision-gemma-12b-default"),
)
"""Which bytes it serves. Those come by the fetcher, which checks where from and what."""

REACH = (
    *("--slots", "--no-slots", "--slot-save-path", "--props", "--metrics", "--media-path"),
    *("--ui", "--no-ui", "--webui", "--no-webui"),
    *("--ui-config", "--webui-config", "--ui-config-file", "--webui-config-file"),
    *("--ui-mcp-proxy", "--no-ui-mcp-proxy", "--webui-mcp-proxy", "--no-webui-mcp-proxy"),
    *("--tools", "--tools-runtime", "-ag", "--agent", "-no-ag", "--no-agent"),
    *("--mcp-servers-config", "--mcp-servers-json", "--rpc"),
)
"""What can be done through it beside asking a model: files, commands, other hosts, other people's slots."""

LOGS = (
    *("-v", "--verbose", "--log-verbose", "-lv", "--verbosity", "--log-verbosity"),
    *("--log-file", "--log-prompts-dir"),
)
"""Where prompts would be written down."""

PLATFORM_ARGUMENTS = (*ADDRESS, *KEYS, *IDENTITY, *WEIGHTS, *REACH, *LOGS)
"""Everything that only the platform sets."""

_REMEDY = "remove it from spec.extraArguments"


def platform_arguments_among(words: Iterable[str]) -> Iterator[str]:
    """Yield the words that set what the platform sets itself, with or without a value behind ``=``."""
    return (word for word in words if _spelling(word) in PLATFORM_ARGUMENTS)


def argument_rule() -> dict[str, Any]:
    """Return the rule on a list of arguments by which the API server refuses the platform's own."""
    spelling = "word.split('=', 2)[0]"
    normal = f"({spelling}.startsWith('--') ? {spelling}.replace('_', '-') : {spelling})"
    taken = f"{normal} in {json.dumps(PLATFORM_ARGUMENTS)}"
    told = f"self.filter(word, {taken})[0].split('=', 2)[0]"
    return {
        "rule": f"!self.exists(word, {taken})",
        "message": f"the platform sets such an argument itself; {_REMEDY}",
        "messageExpression": f"'the platform sets ' + {told} + ' itself; {_REMEDY}'",
    }


def _spelling(word: str) -> str:
    name = word.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else name
