"""The demo: one private LLM with a real model, ordered like any customer would and asked one question.

Everything goes through the product's front door: an ``LLMInstance`` and an ``APITokenRequest`` in the
namespace ``demo``, the Secret that the operator fills, and the edge. The model is Gemma 3 270M from a
Python package, so nothing is downloaded but from a package index; Gemma's terms of use apply to it.

What it deliberately does not do: it never talks to the model server directly, it makes no objects that
a customer would not make, and it repairs nothing; what is wrong is said in the words of the objects'
conditions. It does not bring back what its user has ended either.

Modules: ``model`` (the file and its catalogue entry), ``order`` (apply and wait), ``verdict`` (pure: what
an object's state means for the order), ``question`` (ask, and the line for a person to paste).
"""

from privatellm_local.demo.errors import DemoError
from privatellm_local.demo.model import ModelFile, model_manifest, prepare_model
from privatellm_local.demo.order import DemoCredentials, Ended, order_demo
from privatellm_local.demo.question import ask, curl_line

__all__ = [
    "DemoCredentials",
    "DemoError",
    "Ended",
    "ModelFile",
    "ask",
    "curl_line",
    "model_manifest",
    "order_demo",
    "prepare_model",
]
