"""The part of ``CHANGELOG.md`` that tells of one version; towncrier writes it, a release shows it."""

import re

from privatellm_local.packaging.delivery.errors import DeliveryError


def notes_of(changelog: str, version: str) -> str:
    """Return what the changelog says of a version, without its title.

    Raises:
        DeliveryError: when it says nothing.
    """
    title = rf"(?m)^## {re.escape(version)} \(.*\)$"
    parts = re.split(title, changelog, maxsplit=1)
    notes = re.split(r"(?m)^## ", parts[1], maxsplit=1)[0].strip() if len(parts) > 1 else ""
    if not notes:
        raise DeliveryError(
            f"Every release is told of in CHANGELOG.md; {version} is not. "
            f"Run: towncrier build --version {version}"
        )
    return notes + "\n"
