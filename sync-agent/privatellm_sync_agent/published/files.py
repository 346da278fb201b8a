"""Read PublishedResources from a directory, such as the one that a chart's ConfigMap is mounted at.

A broken file is left out and named, and the others go on: one mistake must not stop what works. A manifest
may say what is published and how; a status or an owner in a file would be a mistake.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from privatellm.errors import InvalidObjectError
from privatellm.kube import Manifest
from privatellm_sync_agent.published import spec as specs
from privatellm_sync_agent.published.deletion import waits_for_others
from privatellm_sync_agent.published.model import SpecModel
from privatellm_sync_agent.published.onboarding import grants_of
from privatellm_sync_agent.related.guards import guards_of


@dataclass(frozen=True, slots=True)
class Found:
    """What a directory holds.

    Attributes:
        manifests: The manifests that can be applied, by their names.
        faults: One sentence for each file that cannot.
    """

    manifests: dict[str, Manifest]
    faults: frozenset[str]


def read_directory(directory: Path) -> Found:
    """Return the PublishedResources of every ``*.yaml`` file of a directory.

    Args:
        directory: The directory; files whose name begins with a dot are not ours.
    """
    manifests: dict[str, Manifest] = {}
    faults: set[str] = set()
    for path in sorted(directory.glob("[!.]*.yaml")):
        try:
            manifest = _read(path)
            name = manifest["metadata"]["name"]
            if name in manifests:
                raise _fault(path, f"repeats {name}, and a name stands for one object")
            manifests[name] = manifest
        except InvalidObjectError as error:
            faults.add(str(error))
    return Found(manifests, frozenset(faults))


class _Metadata(SpecModel):
    """The metadata that a file may give."""

    name: str = Field(min_length=1)
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class _File(SpecModel):
    """The form of a file."""

    api_version: Literal["syncagent.kcp.io/v1alpha1"]
    kind: Literal["PublishedResource"]
    metadata: _Metadata
    spec: dict[str, Any]


def _read(path: Path) -> Manifest:
    try:
        manifest: Manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
        _File.model_validate(manifest)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _fault(path, f"cannot be read: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        raise _fault(path, f"is no PublishedResource: {faults}") from error
    specs.parse(manifest)
    guards_of(manifest)
    grants_of(manifest)
    waits_for_others(manifest)
    return manifest


def _fault(path: Path, what: str) -> InvalidObjectError:
    return InvalidObjectError(f"The file {path} {what}. It is skipped; correct it.")
