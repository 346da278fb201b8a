"""The Secret with the backend key: what the model server asks of the edge, never of a customer."""

import base64

from privatellm.kube import Manifest, kinds
from privatellm.names import backend_key_name
from privatellm_operator.render.instance import InstanceFacts, child

FILE = "api-key"
"""The data key, and so the name of the file in the pod."""


def build(facts: InstanceFacts) -> Manifest:
    """Return the Secret."""
    key = base64.b64encode(facts.backend_key.encode()).decode()
    name = backend_key_name(facts.instance.metadata.name)
    return child(kinds.SECRET, facts, {"type": "Opaque", "data": {FILE: key}}, name=name)
