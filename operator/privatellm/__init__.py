"""The kernel of Private LLM: what every deployable shares and nothing that only one of them needs.

API types, names, tokens, verifiers, conditions, errors, Kubernetes access and telemetry live here.
The kernel imports no framework (no kopf, no FastAPI) and none of our other packages, so that the
operator, the ForwardAuth service, the sync agent and the command line can each ship alone.
"""
