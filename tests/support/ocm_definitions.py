"""The kinds of others that a delivery meets: Flux's two and the OCM controllers' four.

Neither project's definitions are ours to copy, and their modules are not always to be had, so these are
written from the field lists of Flux 2.9 (source-controller 1.10, helm-controller 1.7) and of the OCM
controllers of August 2026, as ``privatellm_local.edge.definitions`` is for Traefik. Unknown fields are
errors under strict validation, so a manifest that passes here uses fields that exist. Two shapes matter to
kro's type checker and are exactly upstream's: ``HelmRelease.spec.values`` has no type at all, and
``Resource.status.additional`` is an open object.
"""

from typing import Any

from privatellm.kube.kinds import Kind

Schema = dict[str, Any]
Fields = dict[str, Any]

FLUX_SOURCE = "source.toolkit.fluxcd.io"
FLUX_HELM = "helm.toolkit.fluxcd.io"
OCM = "delivery.ocm.software"

OCI_REPOSITORY = Kind(FLUX_SOURCE, "v1", "OCIRepository", "ocirepositories")
HELM_RELEASE = Kind(FLUX_HELM, "v2", "HelmRelease", "helmreleases")
OCM_REPOSITORY = Kind(OCM, "v1alpha1", "Repository", "repositories")
OCM_COMPONENT = Kind(OCM, "v1alpha1", "Component", "components")
OCM_RESOURCE = Kind(OCM, "v1alpha1", "Resource", "resources")
OCM_DEPLOYER = Kind(OCM, "v1alpha1", "Deployer", "deployers", namespaced=False)

_OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_DURATION: Schema = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"}
_NAME = {"name!": "string"}


def _choice(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


_CONDITIONS = [
    {
        "type!": "string",
        "status!": _choice("True", "False", "Unknown"),
        "reason!": "string",
        "message!": "string",
        "lastTransitionTime!": {"type": "string", "format": "date-time"},
        "observedGeneration": "integer",
    }
]

_OCI_REPOSITORY_SPEC: Fields = {
    "url!": {"type": "string", "pattern": "^oci://.*$"},
    "interval!": _DURATION,
    "timeout": _DURATION,
    "ref": {"digest": "string", "semver": "string", "semverFilter": "string", "tag": "string"},
    "layerSelector": {"mediaType": "string", "operation": _choice("extract", "copy")},
    "insecure": "boolean",
    "ignore": "string",
    "provider": _choice("generic", "aws", "azure", "gcp"),
    "serviceAccountName": "string",
    "secretRef": _NAME,
    "certSecretRef": _NAME,
    "proxySecretRef": _NAME,
    "suspend": "boolean",
    "verify": {"provider!": _choice("cosign", "notation"), "secretRef": _NAME},
}
_OCI_REPOSITORY_STATUS: Fields = {
    "conditions": _CONDITIONS,
    "observedGeneration": "integer",
    "url": "string",
    "artifact": {
        "digest!": "string",
        "lastUpdateTime!": "string",
        "metadata": _TEXTS,
        "path!": "string",
        "revision!": "string",
        "size": "integer",
        "url!": "string",
    },
}
_REMEDIATION: Fields = {
    "retries": "integer",
    "ignoreTestFailures": "boolean",
    "remediateLastFailure": "boolean",
}
_HELM_RELEASE_SPEC: Fields = {
    "interval!": _DURATION,
    "timeout": _DURATION,
    "chartRef": {
        "apiVersion": "string",
        "kind!": _choice("OCIRepository", "HelmChart", "ExternalArtifact"),
        "name!": "string",
        "namespace": "string",
    },
    "releaseName": "string",
    "targetNamespace": "string",
    "storageNamespace": "string",
    "serviceAccountName": "string",
    "suspend": "boolean",
    "maxHistory": "integer",
    "install": {
        "createNamespace": "boolean",
        "crds": _choice("Skip", "Create", "CreateReplace"),
        "disableWait": "boolean",
        "remediation": _REMEDIATION,
    },
    "upgrade": {
        "cleanupOnFail": "boolean",
        "crds": _choice("Skip", "Create", "CreateReplace"),
        "disableWait": "boolean",
        "force": "boolean",
        "remediation": {**_REMEDIATION, "strategy": _choice("rollback", "uninstall")},
    },
    "driftDetection": {"mode": _choice("enabled", "warn", "disabled")},
    "values": _ANYTHING,
    "valuesFrom": [{"kind!": _choice("Secret", "ConfigMap"), "name!": "string"}],
}
_HELM_RELEASE_STATUS: Fields = {
    "conditions": _CONDITIONS,
    "observedGeneration": "integer",
    "failures": "integer",
    "lastAttemptedRevision": "string",
    "history": [
        {
            "name!": "string",
            "namespace!": "string",
            "version!": "integer",
            "status!": "string",
            "chartName!": "string",
            "chartVersion!": "string",
            "appVersion": "string",
            "configDigest!": "string",
            "digest!": "string",
            "firstDeployed!": "string",
            "lastDeployed!": "string",
        }
    ],
}

_OCM_CONFIG = [
    {
        "apiVersion": "string",
        "kind!": "string",
        "name!": "string",
        "namespace": "string",
        "policy!": {**_choice("Propagate", "DoNotPropagate"), "default": "Propagate"},
    }
]
_LOCAL_REFERENCE: Fields = {"name": "string"}
_REPOSITORY_SPEC: Fields = {
    "repositorySpec!": _ANYTHING,
    "interval!": "string",
    "ocmConfig": _OCM_CONFIG,
    "suspend": "boolean",
}
_COMPONENT_SPEC: Fields = {
    "component!": "string",
    "semver!": "string",
    "semverFilter": "string",
    "downgradePolicy": _choice("Allow", "Deny"),
    "interval!": "string",
    "repositoryRef!": _LOCAL_REFERENCE,
    "ocmConfig": _OCM_CONFIG,
    "suspend": "boolean",
    "verify": [{"signature!": "string", "value": "string", "secretRef": _LOCAL_REFERENCE}],
}
_RESOURCE_SPEC: Fields = {
    "componentRef!": _LOCAL_REFERENCE,
    "resource!": {"byReference!": {"resource!": _TEXTS, "referencePath": [_TEXTS]}},
    "additionalStatusFields": _OPEN,
    "ocmConfig": _OCM_CONFIG,
    "suspend": "boolean",
    "verificationPolicy": _choice("Always", "Never"),
}
_DEPLOYER_SPEC: Fields = {
    "resourceRef!": {"name!": "string", "namespace": "string"},
    "ocmConfig": _OCM_CONFIG,
    "suspend": "boolean",
}
_OCM_STATUS: Fields = {"conditions": _CONDITIONS, "observedGeneration": "integer"}

_FIELDS: tuple[tuple[Kind, Fields, Fields], ...] = (
    (OCI_REPOSITORY, _OCI_REPOSITORY_SPEC, _OCI_REPOSITORY_STATUS),
    (HELM_RELEASE, _HELM_RELEASE_SPEC, _HELM_RELEASE_STATUS),
    (OCM_REPOSITORY, _REPOSITORY_SPEC, _OCM_STATUS),
    (OCM_COMPONENT, _COMPONENT_SPEC, _OCM_STATUS),
    (OCM_RESOURCE, _RESOURCE_SPEC, {**_OCM_STATUS, "additional": _OPEN}),
    (OCM_DEPLOYER, _DEPLOYER_SPEC, _OCM_STATUS),
)


def definitions() -> tuple[dict[str, Any], ...]:
    """Return the six definitions."""
    return tuple(_definition(kind, spec, status) for kind, spec, status in _FIELDS)


def _definition(kind: Kind, spec: Fields, status: Fields) -> dict[str, Any]:
    schema = _schema({"spec!": spec, "status": status})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {"kind": kind.name, "plural": kind.plural, "singular": kind.name.lower()},
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _schema(fields: Fields) -> Schema:
    """Return the schema of an object; a name that ends in ``!`` is required."""
    required = [name[:-1] for name in fields if name.endswith("!")]
    properties = {name.removesuffix("!"): _property(field) for name, field in fields.items()}
    return {"type": "object", "properties": properties} | (
        {"required": required} if required else {}
    )


def _property(field: Any) -> Schema:
    if isinstance(field, str):
        return {"type": field}
    if isinstance(field, list):
        return {"type": "array", "items": _property(field[0])}
    is_schema = "type" in field or "x-kubernetes-preserve-unknown-fields" in field
    return dict(field) if is_schema else _schema(field)
