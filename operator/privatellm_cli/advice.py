"""What to do about a condition that does not hold, as commands of ours. Pure.

The condition's own message says what is wrong; this adds the next step at this command line. The reasons
are the operator's, read from the object: a test compares the table with its list, both ways.
"""

from collections.abc import Mapping

MODELS = "Choose one of `privatellm models` and order again: privatellm deploy {name} --model MODEL"
LOGS = "Read what the server said: privatellm logs {name} --previous"
SERVERS = "Look at its servers and their events: privatellm describe {name}"
FETCHER_LOGS = (
    "Read what the fetcher said: privatellm logs {name} --container fetch-model --previous"
)
PLATFORM = "Tell the platform team; `privatellm doctor` lists this instance and what else has to be mended."
PROMISE = (
    "Tell the platform team: the model's sha256 and sizeBytes must be those of the file at its source. For "
    "a model of a hub `privatellm catalog pin --from-cluster MODEL` compares them."
)
WAIT = "Wait: privatellm describe {name} shows how far it is."
NAMESPACE = "Ask the platform team whether this namespace is onboarded and has quota left."
SMALLER = (
    "Choose a smaller model (`privatellm models -o wide`), or ask the platform team for more room."
)

ADVICE: Mapping[str, str] = {
    # The order itself.
    "ClusterRefNotSupported": "Remove spec.clusterRef: kubectl edit llminstance NAME",
    "UnknownModel": MODELS,
    "InvalidModel": MODELS,
    "ModelLeaves": MODELS,
    "ModelNotAllowed": MODELS,
    "TooManyReplicas": "Ask for fewer servers: privatellm scale {name} --replicas N",
    "QuotaExceeded": "Delete one that is not needed: privatellm list, then privatellm delete NAME",
    "ChildConflict": "Delete or rename that object, or order under another name.",
    "PredecessorLeaves": WAIT,
    "NotAccepted": "See the condition Accepted.",
    "WriteRefused": NAMESPACE,
    "Stopped": "Start it: privatellm scale {name} --replicas 1",
    # The weights.
    "Fetching": WAIT,
    "SourceFailing": PLATFORM,
    "FetchPending": WAIT,
    "FetchFailed": FETCHER_LOGS,
    "ChecksumMismatch": PROMISE,
    "SizeMismatch": PROMISE,
    "NotFound": PLATFORM,
    "AccessDenied": PLATFORM,
    "SourceUnreachable": PLATFORM,
    "SourceRefused": PLATFORM,
    "InvalidSource": PLATFORM,
    "InsufficientStorage": SMALLER,
    "StorageFailed": PLATFORM,
    "VolumeNotBound": PLATFORM,
    # The route.
    "TraefikMissing": PLATFORM,
    "MiddlewaresMissing": WAIT,
    # The servers.
    "Rolling": WAIT,
    "Pending": WAIT,
    "Starting": WAIT,
    "ImagePullFailed": PLATFORM,
    "OutOfMemory": PLATFORM,
    "CrashLoop": LOGS,
    "ContainerRefused": PLATFORM,
    "Unschedulable": SMALLER,
    "Evicted": SMALLER,
    "PodsRefused": NAMESPACE,
    "DeadlineExceeded": SERVERS,
    "Terminating": "Wait until it is gone; its servers finish what they have begun.",
}
"""The next step by the condition's reason."""


def next_step(reason: str, name: str) -> str:
    """Return what to do about a reason.

    Args:
        reason: Of the first condition that does not hold.
        name: The instance, as a command takes it.
    """
    return ADVICE.get(reason, PLATFORM).format(name=name)
