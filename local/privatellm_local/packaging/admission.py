"""The admission policies as text that Helm completes.

The builders of :mod:`privatellm.admission` are given marks instead of an installation's values, and each
mark becomes a template action. Marks stand for lists of names, which the action writes as JSON (CEL and
YAML read it alike), or for one name of a safe alphabet. Two releases of one cluster have policies of their
own, so names end in the release's namespace.
"""

from typing import Any

import yaml

from privatellm.admission import AdmissionFacts, admission_policies
from privatellm.admission.facts import SYSTEM_CONTROLLERS

Manifest = dict[str, Any]

_OPERATORS = "xOPERATORSx"
_BREAK_GLASS = "xBREAKGLASSx"
_SYSTEM = "xSYSTEMx"
_PLATFORM = "xPLATFORMx"
_TOKENS = "xTOKENSx"
_CLASS = "xCLASSx"
_LABELS = "xLABELSx"
_SUFFIX = ".xNAMESPACEx"

_ACTIONS = {
    f'"{_OPERATORS}"': '{{ include "private-llm.admission.operators" . }}',
    f'"{_BREAK_GLASS}"': '{{ include "private-llm.admission.breakGlass" . }}',
    _PLATFORM: '{{ include "private-llm.admission.platformNamespaces" . }}',
    _TOKENS: '{{ include "private-llm.tokenNamespace" . }}',
    _CLASS: '{{ include "private-llm.ingressClass" . }}',
    _LABELS: '{{ include "private-llm.labels" . | fromYaml | toJson }}',
    "xNAMESPACEx": "{{ .Release.Namespace }}",
}
"""What each mark becomes; marks of lists go with their quotes."""

_FACTS = AdmissionFacts(
    operator_usernames=(_OPERATORS,),
    system_namespace=_SYSTEM,
    token_namespace=_TOKENS,
    ingress_class=_CLASS,
    controller_usernames=SYSTEM_CONTROLLERS,
    break_glass_groups=(_BREAK_GLASS,),
)


def policies_template() -> str:
    """Return the policies and bindings as a template, documents separated by lines.

    Raises:
        ValueError: when a builder writes something that Helm would take for an action of its own, or
            uses a value where the template cannot put it.
    """
    manifests = [_marked(manifest) for manifest in admission_policies(_FACTS)]
    text = "---\n".join(
        yaml.dump(m, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
        for m in manifests
    )
    if "{{" in text or _SYSTEM in text:
        raise ValueError("The admission policies cannot become a template: see _ACTIONS.")
    for mark, action in _ACTIONS.items():
        text = text.replace(mark, action)
    if any(mark.strip('"') in text for mark in _ACTIONS):
        raise ValueError("A mark of the admission policies was not replaced: see _ACTIONS.")
    return text


def _marked(manifest: Manifest) -> Manifest:
    spec = _with_lists(manifest["spec"])
    if "policyName" in spec:
        spec["policyName"] += _SUFFIX
    metadata = {"name": manifest["metadata"]["name"] + _SUFFIX, "labels": _LABELS}
    return {**manifest, "metadata": metadata, "spec": spec}


def _with_lists(value: Any) -> Any:
    """Replace the list of platform namespaces, whose length is not known, by its mark."""
    if value == [_SYSTEM]:
        return _PLATFORM
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_lists(item) for item in value]
    return value


class _Dumper(yaml.SafeDumper):
    """Writes expressions as blocks, in which quotes stand for themselves."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if '"' in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
