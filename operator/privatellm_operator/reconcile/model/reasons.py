"""Every reason that a condition of a model can carry, with what it means."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a condition has its status; a failed fetch brings its own reason instead."""

    DECLARED = "Declared"
    """The catalogue declares the digest."""

    RECORDED = "Recorded"
    """The digest was recorded when the platform first fetched the model."""

    NOT_USED = "NotUsed"
    """Nobody has used the model yet, so there is nothing to record."""

    NOT_RECORDABLE = "NotRecordable"
    """The weights lie in tenants' namespaces, where each may hold another file."""

    RECORDING = "Recording"
    """The platform fetches the model to take its digest."""

    CHECKSUM_MISMATCH = "ChecksumMismatch"
    """The source gave other bytes than it did before."""

    FETCHING = "Fetching"
    """The platform fetches the model into a node's cache."""

    SOURCE_FAILING = "SourceFailing"
    """The source fails, and the platform tries again."""

    FETCHED = "Fetched"
    """The weights are in the caches that wait for them."""

    FETCH_FAILED = "FetchFailed"
    """The platform's fetch failed without saying why."""

    IN_USE = "InUse"
    """The model is to be deleted and instances still use it."""
