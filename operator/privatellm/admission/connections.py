"""Nobody reaches into a model server past the edge.

``exec`` reads prompts and keys from a running server; ``port-forward`` and ``proxy`` reach it without the
edge's check. Such a request carries options instead of an object, so there are no labels to look at. The
pods and Services of the request's namespace that carry our label are therefore the policy's parameters, and
the requested name is compared with theirs: exactly the labelled ones, whatever they are called.

The API server answers the parameters from a cache that trails its store by milliseconds, less than a
container needs to start. A proxy request names its target ``[scheme:]name[:port]``.
"""

from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import (
    EVERY_CHILD,
    Manifest,
    Refusal,
    binding,
    policy,
    rule,
)
from privatellm.kube import kinds
from privatellm.kube.kinds import Kind

TO_PODS = "pod-connections"
TO_SERVICES = "service-connections"

_CONNECT = ("CONNECT",)
_ANOTHER_ONE = "!request.name.split(':').exists(part, part == params.metadata.name)"


def to_pods(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on exec, attach, port-forward and proxy to pods, and its binding."""
    subresources = ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy"]
    return _build(facts, TO_PODS, kinds.POD, subresources)


def to_services(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on proxy to Services and its binding."""
    return _build(facts, TO_SERVICES, kinds.SERVICE, ["services/proxy"])


def _build(
    facts: AdmissionFacts, name: str, target: Kind, subresources: list[str]
) -> tuple[Manifest, ...]:
    refusal = Refusal(
        unless=_ANOTHER_ONE,
        rule="Model servers of Private LLM are reached through the edge alone.",
        remedy="Send requests to the endpoint in the LLMInstance's status; logs are open to you.",
    )
    return (
        policy(
            name,
            rules=[rule("", subresources, _CONNECT)],
            let_through=facts.rescuers,
            refusals=[refusal],
            parameter=target,
        ),
        binding(name, parameters=EVERY_CHILD),
    )
