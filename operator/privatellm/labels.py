"""Labels, annotations and finalizers that we write, each with the reader it is for."""

from privatellm.kube.kinds import GROUP

NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
PART_OF = "app.kubernetes.io/part-of"
MANAGED_BY = "app.kubernetes.io/managed-by"

PART_OF_US = "private-llm"
MANAGED_BY_OPERATOR = "private-llm-operator"
MODEL_SERVER = "llama-cpp-server"
"""Value of the name label on an instance's children and pods."""

MODEL_FETCHER = "model-fetcher"
"""Value of the name label on the platform's own fetch Jobs and their pods."""

MODEL_CACHE = "model-cache"
"""Value of the name label on claims that keep weights."""

LLM_INSTANCE = f"{GROUP}/instance"
"""Name of the LLMInstance a child or a token Secret belongs to, shortened to a label value."""

LLM_MODEL = f"{GROUP}/model"
"""Name of the LLMModel whose weights a claim or a fetch Job holds, shortened to a label value."""

WEIGHTS = f"{GROUP}/weights"
"""On pods that share a claim, and on fetch Jobs: what the weights are called."""

NODE = f"{GROUP}/node"
"""Annotation on fetch Jobs: the node whose cache is filled; absent when the bytes are only looked at."""

API_TOKEN_REQUEST = f"{GROUP}/apitokenrequest"
"""Name of the APITokenRequest a token Secret belongs to."""

REQUEST_UID = f"{GROUP}/request-uid"
"""On verifiers: the UID of the APITokenRequest, by which the operator finds them."""

INSTANCE_UID = f"{GROUP}/instance-uid"
"""On verifiers and on an instance's children: the UID of the LLMInstance."""

CHAT_UI_COMPATIBILITY = "apeirora.eu/llm-api-compatibility"
"""The chat UI lists Secrets that carry this label with the value ``openai``."""

DESCRIPTION = f"{GROUP}/description"
"""Annotation on token Secrets: what the customer wrote the key is for."""

INSTANCE_FINALIZER = f"{GROUP}/llminstance-finalizer"
REQUEST_FINALIZER = f"{GROUP}/apitokenrequest-finalizer"
MODEL_FINALIZER = f"{GROUP}/llmmodel-finalizer"

FIELD_MANAGER = "private-llm-operator"
"""The field manager of every server-side apply of the operator."""

RESERVED_PREFIXES = ("traefik.", "kubernetes.io/ingress.class")
"""Keys a tenant must not smuggle onto our children: they would change the route."""
