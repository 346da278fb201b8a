"""The audit behind every fault: is the world as the orders say, and does nobody hold what is nobody's?

Pure: it looks at a snapshot that somebody gathered (:mod:`chaos_gather`) and returns what is wrong with it.
It derives what must be there from the orders alone, with the product's own builders for the children, and
never asks what the operator believes. Each check is a function of its own; a test plants each trouble.
"""

from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property

from privatellm import labels
from privatellm.api.api_token_request import APITokenRequest, TokenPhase
from privatellm.api.llm_instance import InstancePhase, LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.backend_keys import PlatformKey
from privatellm.durations import parse_duration
from privatellm.errors import MalformedTokenError, MalformedVerifierError
from privatellm.kube import Manifest, kinds
from privatellm.names import endpoint_of, slug_of, token_secret_name
from privatellm.tokens import Token
from privatellm.verifiers import Digest, Verifier
from privatellm_operator.reconcile.matching import matches
from privatellm_operator.render.children import build_all
from privatellm_operator.render.instance import InstanceFacts
from privatellm_operator.render.middlewares import build_all as build_middlewares
from privatellm_operator.settings import Settings


class Trouble(StrEnum):
    """What an audit can find."""

    ORDER_LOST = "an order is gone"
    ORDER_STUCK = "an object is being deleted and does not go"
    CHILD_MISSING = "a child is missing"
    CHILD_DIFFERS = "a child is not as rendered"
    CHILD_ORPHANED = "a child has no owner"
    INSTANCE_UNTRUE = "an instance's status is not true"
    REQUEST_UNTRUE = "a request's status is not true"
    SECRET_WRONG = "a customer's Secret is missing or holds no key that works"
    VERIFIER_ORPHANED = "a verifier has no request"
    VERIFIER_COUNT = "a request has not the number of verifiers that it should have"
    LIVE_REFUSED = "a live key is refused"
    DEAD_ALLOWED = "a dead key is let in"
    PROCESS_ORPHANED = "a process has no pod"
    POD_IDLE = "a pod that says it runs has no process"
    POD_ORPHANED = "a pod has no owner"
    DIRECTORY_ORPHANED = "a directory on the node has no pod"
    MIDDLEWARE_MISSING = "a middleware is missing"
    MIDDLEWARE_DIFFERS = "a middleware is not as rendered"
    MIDDLEWARE_ORPHANED = "a middleware is nobody's"


@dataclass(frozen=True, slots=True)
class Finding:
    """One trouble.

    Attributes:
        trouble: Of which kind.
        subject: With what.
        detail: What was seen instead.
    """

    trouble: StrEnum
    subject: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the edge said of one key.

    Attributes:
        key: Name of the key.
        should_open: Whether it must be let in.
        opened: Whether it was.
        by: Who was asked.
        said: The answer, for people.
    """

    key: str
    should_open: bool
    opened: bool
    by: str
    said: str = ""


@dataclass(frozen=True)
class Snapshot:
    """Everything that an audit judges, as it was at one moment.

    Attributes:
        now: That moment.
        settings: What the operator was told.
        platform_key: What backend keys derive from.
        acknowledged: Orders that the API server has taken and nobody has taken back: kind and ``ns/name``.
        instances: Every LLMInstance.
        requests: Every APITokenRequest.
        models: Every LLMModel.
        children: Everything that the operator manages in customers' namespaces.
        middlewares: Every one that the operator manages, in its own namespace.
        verifiers: Every Secret of the token namespace.
        secrets: Every Secret, customers' among them.
        owners: UIDs of everything that may own a pod.
        pods: Every pod.
        pods_with_processes: UIDs of the pods that processes of this machine were started for.
        pod_directories: UIDs of the pods that have a directory on the node.
        answers: What the edge said of every key that is known.
    """

    now: datetime
    settings: Settings
    platform_key: PlatformKey
    acknowledged: frozenset[tuple[str, str]] = frozenset()
    instances: tuple[Manifest, ...] = ()
    requests: tuple[Manifest, ...] = ()
    models: tuple[Manifest, ...] = ()
    children: tuple[Manifest, ...] = ()
    middlewares: tuple[Manifest, ...] = ()
    verifiers: tuple[Manifest, ...] = field(default=(), repr=False)
    secrets: tuple[Manifest, ...] = field(default=(), repr=False)
    owners: frozenset[str] = frozenset()
    pods: tuple[Manifest, ...] = ()
    pods_with_processes: frozenset[str] = frozenset()
    pod_directories: frozenset[str] = frozenset()
    answers: tuple[Answer, ...] = ()

    @cached_property
    def keys(self) -> Mapping[str, tuple[Verifier, ...]]:
        """Every verifier that can be read, by the UID of its request."""
        found: dict[str, tuple[Verifier, ...]] = {}
        for secret in self.verifiers:
            try:
                verifier = Verifier.from_secret(secret)
            except MalformedVerifierError:
                continue
            uid = verifier.request_uid
            found[uid] = (*found.get(uid, ()), verifier)
        return found

    @cached_property
    def models_by_name(self) -> Mapping[str, LLMModel]:
        """Every model by its name."""
        return {model["metadata"]["name"]: LLMModel.parse(model) for model in self.models}


def audit(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Return everything that is wrong; nothing for a world in which all is well."""
    return tuple(finding for check in CHECKS for finding in check(snapshot))


def name_of(manifest: Manifest) -> str:
    """Return how people name an object."""
    metadata = manifest["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def lost_orders(snapshot: Snapshot) -> Iterator[Finding]:
    """What the API server has acknowledged is there."""
    there = {("LLMInstance", name_of(each)) for each in snapshot.instances}
    there |= {("APITokenRequest", name_of(each)) for each in snapshot.requests}
    for kind, name in sorted(snapshot.acknowledged - there):
        yield Finding(Trouble.ORDER_LOST, f"{kind} {name}")


def stuck(snapshot: Snapshot) -> Iterator[Finding]:
    """Whoever wanted something deleted sees it go."""
    for each in (*snapshot.instances, *snapshot.requests, *snapshot.children, *snapshot.pods):
        if since := each["metadata"].get("deletionTimestamp"):
            yield Finding(Trouble.ORDER_STUCK, f"{each.get('kind')} {name_of(each)}", since)


def children_as_rendered(snapshot: Snapshot) -> Iterator[Finding]:
    """Every child is there and as its order says, and none is there for nobody."""
    live = {(each["kind"], name_of(each)): each for each in snapshot.children}
    for manifest in snapshot.instances:
        for wanted in _children(snapshot, LLMInstance.parse(manifest)):
            subject = f"{wanted['kind']} {name_of(wanted)}"
            found = live.get((wanted["kind"], name_of(wanted)))
            if found is None:
                yield Finding(Trouble.CHILD_MISSING, subject)
            elif not matches(found, wanted):
                yield Finding(Trouble.CHILD_DIFFERS, subject)


def orphaned_children(snapshot: Snapshot) -> Iterator[Finding]:
    """Whatever an order owned went with it."""
    parents = {each["metadata"]["uid"] for each in (*snapshot.instances, *snapshot.requests)}
    for each in snapshot.children:
        owners = each["metadata"].get("ownerReferences") or ()
        if not any(owner["uid"] in parents for owner in owners):
            yield Finding(Trouble.CHILD_ORPHANED, f"{each['kind']} {name_of(each)}")


def instances_are_true(snapshot: Snapshot) -> Iterator[Finding]:
    """An instance says what its Deployment says, of the generation that there is."""
    deployments = {
        name_of(each): each.get("status") or {}
        for each in snapshot.children
        if each["kind"] == kinds.DEPLOYMENT.name
    }
    public = snapshot.settings.public
    for manifest in snapshot.instances:
        instance = LLMInstance.parse(manifest)
        metadata, status = instance.metadata, instance.status
        slug, wanted = slug_of(metadata.uid), instance.spec.replicas
        deployment = deployments.get(f"{metadata.namespace}/{metadata.name}-llama", {})
        truth = {
            "phase": InstancePhase.READY if wanted else InstancePhase.STOPPED,
            "slug": slug,
            "endpoint": endpoint_of(public.scheme, public.host, slug),
            "ready_replicas": wanted,
            "observed_generation": metadata.generation,
        }
        wrong = [f"{k}={getattr(status, k)}" for k, v in truth.items() if getattr(status, k) != v]
        if deployment.get("readyReplicas", 0) != wanted:
            wrong.append(f"deployment: {deployment.get('readyReplicas', 0)} ready")
        if wrong:
            yield Finding(Trouble.INSTANCE_UNTRUE, name_of(manifest), ", ".join(wrong))


def requests_are_true(snapshot: Snapshot) -> Iterator[Finding]:
    """A request has one key that works, in its Secret and in its status; or none, and says why."""
    secrets = {name_of(each): each for each in snapshot.secrets}
    instances = {name_of(each): each["metadata"]["uid"] for each in snapshot.instances}
    for manifest in snapshot.requests:
        request = APITokenRequest.parse(manifest)
        namespace, name = request.metadata.namespace, request.metadata.name
        verifiers = snapshot.keys.get(request.metadata.uid, ())
        phase = _phase_of(request, snapshot.now)
        wanted = int(phase is TokenPhase.READY)
        if request.status.phase is not phase:
            detail = f"{request.status.phase} instead of {phase}"
            yield Finding(Trouble.REQUEST_UNTRUE, name_of(manifest), detail)
        if len(verifiers) != wanted:
            detail = f"{len(verifiers)} instead of {wanted}"
            yield Finding(Trouble.VERIFIER_COUNT, name_of(manifest), detail)
        elif wanted:
            uid = instances.get(f"{namespace}/{request.spec.instance_name}")
            secret = secrets.get(f"{namespace}/{token_secret_name(name)}")
            if detail := _fault_of_key(request, verifiers[0], secret, uid):
                yield Finding(Trouble.SECRET_WRONG, name_of(manifest), detail)


def orphaned_verifiers(snapshot: Snapshot) -> Iterator[Finding]:
    """Nothing opens a door for a request that nobody has made, or that the edge cannot read."""
    requests = {each["metadata"]["uid"] for each in snapshot.requests}
    for secret in snapshot.verifiers:
        uid = (secret["metadata"].get("labels") or {}).get(labels.REQUEST_UID)
        try:
            known = Verifier.from_secret(secret).request_uid == uid and uid in requests
        except MalformedVerifierError:
            known = False
        if not known:
            yield Finding(Trouble.VERIFIER_ORPHANED, name_of(secret))


def keys_open_what_they_should(snapshot: Snapshot) -> Iterator[Finding]:
    """Every live key is accepted, every dead one refused, by everybody who decides."""
    for answer in snapshot.answers:
        if answer.should_open is not answer.opened:
            trouble = Trouble.LIVE_REFUSED if answer.should_open else Trouble.DEAD_ALLOWED
            yield Finding(trouble, answer.key, f"{answer.by} said {answer.said}")


def processes_have_pods(snapshot: Snapshot) -> Iterator[Finding]:
    """What runs on the node is a pod's, what says that it runs does, and pods are somebody's."""
    pods = {each["metadata"]["uid"]: each for each in snapshot.pods}
    for uid in sorted(snapshot.pods_with_processes - pods.keys()):
        yield Finding(Trouble.PROCESS_ORPHANED, uid)
    for uid, pod in pods.items():
        is_running = pod.get("status", {}).get("phase") == "Running"
        if is_running and uid not in snapshot.pods_with_processes:
            yield Finding(Trouble.POD_IDLE, name_of(pod))
        owners = pod["metadata"].get("ownerReferences") or ()
        if not any(owner["uid"] in snapshot.owners for owner in owners):
            yield Finding(Trouble.POD_ORPHANED, name_of(pod))


def directories_have_pods(snapshot: Snapshot) -> Iterator[Finding]:
    """What a pod had on the node went with it: keys that were mounted, weights that were half fetched."""
    pods = {each["metadata"]["uid"] for each in snapshot.pods}
    for uid in sorted(snapshot.pod_directories - pods):
        yield Finding(Trouble.DIRECTORY_ORPHANED, uid)


def middlewares_as_rendered(snapshot: Snapshot) -> Iterator[Finding]:
    """What stands before every model is there and as the settings say, and nothing else is."""
    live = {name_of(each): each for each in snapshot.middlewares}
    models = snapshot.models_by_name.values()
    wanted = {name_of(each): each for each in build_middlewares(snapshot.settings, models)}
    for name, manifest in wanted.items():
        if name not in live:
            yield Finding(Trouble.MIDDLEWARE_MISSING, name)
        elif not matches(live[name], manifest):
            yield Finding(Trouble.MIDDLEWARE_DIFFERS, name)
    for name in sorted(live.keys() - wanted):
        yield Finding(Trouble.MIDDLEWARE_ORPHANED, name)


CHECKS = (
    lost_orders,
    stuck,
    children_as_rendered,
    orphaned_children,
    instances_are_true,
    requests_are_true,
    orphaned_verifiers,
    keys_open_what_they_should,
    processes_have_pods,
    directories_have_pods,
    middlewares_as_rendered,
)


def summary(findings: tuple[Finding, ...]) -> dict[str, int]:
    """Return how often each trouble was found."""
    return dict(Counter(finding.trouble.value for finding in findings))


def _children(snapshot: Snapshot, instance: LLMInstance) -> tuple[Manifest, ...]:
    model = snapshot.models_by_name[instance.spec.model]
    backend_key = snapshot.platform_key.backend_key(instance.metadata.uid)
    return build_all(InstanceFacts(instance, model, snapshot.settings, backend_key))


def _phase_of(request: APITokenRequest, now: datetime) -> TokenPhase:
    """Return what a request must have come to, by its spec alone; its instance is there in this suite."""
    if request.spec.revoked:
        return TokenPhase.REVOKED
    created, life = request.metadata.creation_timestamp, request.spec.expires_after
    if created and life and now >= created + parse_duration(life) + timedelta(seconds=1):
        return TokenPhase.EXPIRED
    return TokenPhase.READY


def _fault_of_key(
    request: APITokenRequest, verifier: Verifier, secret: Manifest | None, instance: str | None
) -> str:
    """Return why a customer could not work with the key of a request; empty when they can."""
    if secret is None:
        return "there is no Secret"
    if request.metadata.uid not in {
        o["uid"] for o in secret["metadata"].get("ownerReferences", ())
    }:
        return "the Secret is somebody else's"
    if verifier.instance_uid != instance:
        return "the verifier opens another instance"
    try:
        token = Token.parse(_plain(secret, "OPENAI_API_KEY"))
    except MalformedTokenError as error:
        return str(error)
    if not token.key_id == verifier.key_id == request.status.key_id:
        return f"Secret {token.key_id}, verifier {verifier.key_id}, status {request.status.key_id}"
    fits = Digest.decode(verifier.hash).matches(token.secret.encode())
    return "" if fits else "the verifier verifies another secret"


def _plain(secret: Manifest, key: str) -> str:
    return b64decode((secret.get("data") or {}).get(key, "")).decode()


def utc_now() -> datetime:
    """Return the moment of a snapshot."""
    return datetime.now(UTC)
