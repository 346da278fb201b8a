"""The columns in which our kinds are listed; what ``kubectl get`` shows comes first and looks the same."""

from privatellm import conditions
from privatellm.api.llm_instance import InstanceCondition, LLMInstance
from privatellm.api.llm_model import LLMModelSpec
from privatellm.errors import InvalidObjectError
from privatellm.kube import Manifest
from privatellm_cli.output import Column, age, field, size

NAMESPACE = Column("NAMESPACE", field("metadata.namespace"))
_NAME = Column("NAME", field("metadata.name"))
_AGE = Column("AGE", age)


def instances(*, with_namespace: bool) -> tuple[Column, ...]:
    """Return the columns of LLMInstances."""
    return (
        *((NAMESPACE,) if with_namespace else ()),
        _NAME,
        Column("MODEL", field("spec.model")),
        Column("PHASE", field("status.phase")),
        Column("READY", field("status.ready")),
        Column("ENDPOINT", field("status.endpoint")),
        _AGE,
        Column("REASON", reason, wide=True),
    )


def requests(*, with_namespace: bool) -> tuple[Column, ...]:
    """Return the columns of APITokenRequests; no part of a key but its public id is among them."""
    return (
        *((NAMESPACE,) if with_namespace else ()),
        _NAME,
        Column("INSTANCE", field("spec.instanceName")),
        Column("KEY ID", field("status.keyID")),
        Column("PHASE", field("status.phase")),
        Column("EXPIRES", lambda item: field("status.expiresAt")(item) or "never"),
        Column("LAST USED", lambda item: field("status.lastUsedAt")(item) or "never"),
        _AGE,
        Column("SECRET", field("status.secretName"), wide=True),
        Column("DESCRIPTION", field("spec.description"), wide=True),
    )


def models() -> tuple[Column, ...]:
    """Return the columns of LLMModels."""
    return (
        _NAME,
        Column("DISPLAY NAME", field("spec.displayName")),
        Column("SIZE", _model_size),
        Column("QUANTIZATION", field("spec.quantization")),
        Column("CONTEXT", field("spec.contextSize")),
        Column("LICENSE", field("spec.license")),
        Column("FOR", _audience),
        Column("MEMORY", field("spec.resources.requests.memory"), wide=True),
        Column("PINNED", _pinned, wide=True),
        Column("SOURCE", source, wide=True),
    )


def why_not_ready(instance: LLMInstance) -> conditions.Condition | None:
    """Return the first condition that does not hold, in the order in which things happen."""
    known = (conditions.find(instance.status.conditions, kind) for kind in InstanceCondition)
    return next((c for c in known if c is not None and not c.is_true), None)


def reason(item: Manifest) -> str:
    """Return the reason of the first condition that does not hold, or why the object cannot be read."""
    try:
        condition = why_not_ready(LLMInstance.parse(item))
    except InvalidObjectError as error:
        return str(error)
    return condition.reason if condition else ""


def source(model: Manifest) -> str:
    """Return where a model's weights come from, in one line."""
    try:
        origin = LLMModelSpec.model_validate(model["spec"]).source
    except ValueError:
        return ""
    if hub := origin.hugging_face:
        return f"hf://{hub.repo}/{hub.file}@{hub.revision}"
    if bucket := origin.s3:
        return f"{bucket.endpoint}/{bucket.bucket}/{bucket.key}"
    return f"pvc://{origin.pvc.claim_name}/{origin.pvc.path}" if origin.pvc else origin.url or ""


def _model_size(item: Manifest) -> str:
    stated = item["spec"].get("sizeBytes")
    return size(stated) if stated else ""


def _audience(item: Manifest) -> str:
    return ",".join(item["spec"].get("allowedNamespaces") or ()) or "all"


def _pinned(item: Manifest) -> str:
    if item["spec"].get("sha256"):
        return "by checksum"
    return "on first use" if field("status.sha256")(item) else "no"
