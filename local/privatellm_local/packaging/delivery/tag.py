"""May this tag be released? The last question before anything is pushed."""

from pathlib import Path

from privatellm_local.packaging.delivery.changelog import notes_of
from privatellm_local.packaging.delivery.errors import DeliveryError
from privatellm_local.packaging.delivery.versions import disagreements, version_of

CHANGELOG = "CHANGELOG.md"


def released_version(root: Path, tag: str) -> str:
    """Return the version that a tag releases.

    Args:
        root: The repository.
        tag: Such as ``v1.2.3``.

    Raises:
        DeliveryError: when the tag is not the repository's version, not everything states that version, or
            the changelog does not tell of it.
    """
    version = version_of(root)
    if tag != f"v{version}":
        raise DeliveryError(
            f"A release of {version} is tagged v{version}; got {tag!r}. Tag it so, or write the version "
            "with: python -m privatellm_local.packaging.delivery version VERSION"
        )
    if others := disagreements(root):
        told = ", ".join(f"{each.path.relative_to(root)} says {each.version}" for each in others)
        raise DeliveryError(f"Everything states the version {version}, but {told}.")
    notes_of((root / CHANGELOG).read_text(), version)
    return version
