"""The operator's metrics.

Those of objects come from the leader alone, read off its picture of the cluster when they are asked for;
so a series ends with its object and cannot be forgotten. Their labels are not called ``namespace`` and
``instance``, because Prometheus gives those names to what it scrapes.
"""

from typing import Final

from privatellm.telemetry.families.family import Label, counter, gauge, histogram
from privatellm.telemetry.families.spans import spans_family

KIND: Final = Label("kind", "The kinds that have passes, by name.")
RESULT: Final = Label(
    "result", "`success`, `conflict`, `retry` (refused or no answer) or `error` (a defect)."
)
PHASE: Final = Label("phase", "The phases of the kind; all are there, with 0 as well.")
NAMESPACE: Final = Label("llm_namespace", "Namespace of the LLMInstance; series vanish with it.")
INSTANCE: Final = Label("llm_instance", "Name of the LLMInstance; series vanish with it.")
REQUEST: Final = Label("llm_token_request", "Name of the APITokenRequest; series vanish with it.")
REQUEST_NAMESPACE: Final = Label(
    "llm_namespace", "Namespace of the APITokenRequest; series vanish with that request."
)
REQUEST_INSTANCE: Final = Label(
    "llm_instance",
    "Name of the LLMInstance that an APITokenRequest is for; series vanish with that request.",
)
SLUG: Final = Label("slug", "Slug of the LLMInstance, as in its endpoint; series vanish with it.")
MODEL: Final = Label("model", "The model of the instance; series vanish with it.")
OWN_PHASE: Final = Label("phase", "The phase of the instance; series vanish with it.")
OCCASION: Final = Label("occasion", "`created` or `changed`.")
FETCH_RESULT: Final = Label(
    "result", "`fetched`, `present` (a cache hit) or `failed` (one attempt of a pod)."
)
SCRAPE_RESULT: Final = Label("result", "`success` or `failure`.")

PASSES: Final = counter("private_llm_reconcile_total", "Passes by kind and result.", KIND, RESULT)
PASS_SECONDS: Final = histogram(
    "private_llm_reconcile_seconds",
    "Duration of passes.",
    KIND,
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
QUEUE_DEPTH: Final = gauge("private_llm_queue_depth", "Objects that wait for a pass.")
QUEUE_OLDEST: Final = gauge(
    "private_llm_queue_oldest_seconds", "How long the longest waiting object has waited."
)
LEADING: Final = gauge("private_llm_leading", "1 while this process holds the Lease.")
CLOCK_SKEW: Final = gauge(
    "private_llm_clock_skew_seconds",
    "How far our clock is ahead of the API server's; NaN before its first answer.",
)
INSTANCES: Final = gauge("private_llm_instances", "LLMInstances by phase.", PHASE)
TOKEN_REQUESTS: Final = gauge("private_llm_token_requests", "APITokenRequests by phase.", PHASE)
INSTANCE_INFO: Final = gauge(
    "private_llm_instance_info",
    "Always 1: which path, model and phase an instance has, for joins with the edge's metrics.",
    NAMESPACE,
    INSTANCE,
    SLUG,
    MODEL,
    OWN_PHASE,
)
WANTED_REPLICAS: Final = gauge(
    "private_llm_instance_wanted_replicas", "Model servers that were ordered.", NAMESPACE, INSTANCE
)
READY_REPLICAS: Final = gauge(
    "private_llm_instance_ready_replicas", "Model servers that answer.", NAMESPACE, INSTANCE
)
TIME_TO_READY: Final = histogram(
    "private_llm_time_to_ready_seconds",
    "Time from an instance's creation, or from the sight of a changed order, until it is Ready.",
    OCCASION,
    buckets=(1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600),
)
FETCHES: Final = counter(
    "private_llm_fetches_total", "Fetches of weights that ended in an instance's pod.", FETCH_RESULT
)
FETCH_BYTES: Final = counter(
    "private_llm_fetch_bytes_total",
    "Size of the weights that were fetched; cache hits add nothing.",
)
FETCH_SECONDS: Final = histogram(
    "private_llm_fetch_seconds",
    "Duration of the fetches that were no cache hits.",
    buckets=(1, 5, 15, 30, 60, 120, 300, 600, 1200, 3600),
)
REVOCATION_LAG: Final = histogram(
    "private_llm_revocation_lag_seconds",
    "Time from the operator's request to remove a verifier until every worker of one pod of the "
    "ForwardAuth service refused the key; right to the difference of the two pods' clocks. Measured while "
    "last uses are asked for (`tokens.lastUseSeconds`).",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
MODEL_PROMPT_TOKENS: Final = counter(
    "private_llm_model_prompt_tokens_total", "Prompt tokens that were read.", NAMESPACE, INSTANCE
)
MODEL_GENERATED_TOKENS: Final = counter(
    "private_llm_model_generated_tokens_total", "Tokens that were generated.", NAMESPACE, INSTANCE
)
MODEL_PROMPT_SECONDS: Final = counter(
    "private_llm_model_prompt_seconds_total", "Time spent on prompts.", NAMESPACE, INSTANCE
)
MODEL_GENERATION_SECONDS: Final = counter(
    "private_llm_model_generation_seconds_total", "Time spent on generation.", NAMESPACE, INSTANCE
)
MODEL_PROCESSING: Final = gauge(
    "private_llm_model_requests_processing", "Requests that are worked on.", NAMESPACE, INSTANCE
)
MODEL_DEFERRED: Final = gauge(
    "private_llm_model_requests_deferred", "Requests that wait for a slot.", NAMESPACE, INSTANCE
)
MODEL_SCRAPED: Final = gauge(
    "private_llm_model_servers_scraped",
    "Model servers that answered the last time they were asked for their figures.",
    NAMESPACE,
    INSTANCE,
)
MODEL_SCRAPES: Final = counter(
    "private_llm_model_scrapes_total",
    "Questions to model servers for their figures.",
    SCRAPE_RESULT,
)
KEY_REQUESTS: Final = counter(
    "private_llm_key_requests_total",
    "Requests that the edge let in with the keys of an APITokenRequest, replaced ones included; the series "
    "stays when the LLMInstance goes, until the APITokenRequest does.",
    REQUEST_NAMESPACE,
    REQUEST_INSTANCE,
    REQUEST,
)
INSTANCE_REQUESTS: Final = counter(
    "private_llm_instance_requests_total",
    "Requests that the edge let in to an instance, with whichever key.",
    NAMESPACE,
    INSTANCE,
)
SPANS: Final = spans_family("private_llm_spans_total")
