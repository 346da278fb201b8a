"""The catalogue as a ConfigMap, which the operator applies.

A chart cannot install a CRD and an object of it in one release, so the models travel as files and the
operator turns them into LLMModels. The embedded environment does the same as a chart would.
"""

from typing import Any

import yaml

from privatellm_local.platform.facts import CATALOGUE, SYSTEM_NAMESPACE, PlatformFacts


def catalogue(facts: PlatformFacts) -> dict[str, Any]:
    """Return the ConfigMap with one YAML file a model."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CATALOGUE, "namespace": SYSTEM_NAMESPACE},
        "data": {
            f"{model['metadata']['name']}.yaml": yaml.safe_dump(model, sort_keys=False)
            for model in facts.models
        },
    }
