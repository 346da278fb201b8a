"""The Secret with the backend key: what the model server asks of the edge, never of a customer.

It also carries the digest that the platform recorded when a model without a declared one was first used.
The next fetch of the same source is held to it, without a change of the pods' template. And it carries the
certificates that the fetcher trusts beside its image's.
"""

import base64

from privatellm.kube import Manifest, kinds
from privatellm.names import backend_key_name
from privatellm_operator.render import extra_ca
from privatellm_operator.render.fetcher import expected_key
from privatellm_operator.render.instance import InstanceFacts, child
from privatellm_operator.render.source import recorded_digest

FILE = "api-key"
"""The data key, and so the name of the file in the pod."""


def build(facts: InstanceFacts) -> Manifest:
    """Return the Secret."""
    recorded = recorded_digest(facts.model)
    data = {FILE: _encoded(facts.backend_key)}
    data |= {expected_key(facts.model): _encoded(recorded)} if recorded else {}
    data |= {key: _encoded(text) for key, text in extra_ca.copy_of(facts.settings).items()}
    name = backend_key_name(facts.instance.metadata.name)
    return child(kinds.SECRET, facts, {"type": "Opaque", "data": data}, name=name)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
