"""The operator: from LLMInstance, LLMModel and APITokenRequest to the objects that serve them.

Events from kopf only put keys into a queue; passes over a key gather, decide and apply; builders render
manifests. Only :mod:`privatellm_operator.handlers` and :mod:`privatellm_operator.main` know kopf.
"""
