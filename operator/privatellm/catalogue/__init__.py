"""The models that a new platform offers, as data.

Each file in ``models/`` is an ``LLMModel`` that could be applied as it is. A chart and the embedded
environment carry the files in a ConfigMap, and the operator applies them, because a CRD and an object
of it cannot be installed in one release. A platform team adds, changes or removes files; no code knows
the name of a model.

A digest or size stands in a file only where several independent public sources agree on it. Where
none is given the operator records the digest on first use. Memory requests are the file, the
key-value cache of ``contextSize`` tokens and about half a gibibyte for buffers and saved prompts,
whose default bound in llama.cpp (8 GiB) would exceed every one of these limits.
"""

from privatellm.catalogue.loader import default_directory, load_catalogue, read_model

__all__ = ["default_directory", "load_catalogue", "read_model"]
