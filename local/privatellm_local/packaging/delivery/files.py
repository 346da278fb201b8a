"""Generated files of the delivery, by their path in the repository."""

import json
from pathlib import Path, PurePosixPath

import yaml

from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import Release, constructor
from privatellm_local.packaging.delivery.versions import version_of
from privatellm_local.packaging.ocm_values import OCM
from privatellm_local.packaging.reference import reference_page
from privatellm_local.packaging.schema import values_schema
from privatellm_local.packaging.values_file import values_file

FOLDER = PurePosixPath("ocm")
CONSTRUCTOR = FOLDER / "component-constructor.yaml"

_HEADER = """\
# The OCM component with everything that runs. Generated from the charts by `make crds`
# (python -m privatellm_local.packaging.delivery). Do not edit. A release writes its own, with digests:
# docs/how-to/release.md.
"""


def chart_files() -> dict[PurePosixPath, str]:
    """Return what is generated from the type of the delivery's own chart."""
    return {
        OCM.directory / "values.yaml": values_file(OCM),
        OCM.directory / "values.schema.json": json.dumps(values_schema(OCM), indent=2) + "\n",
        PurePosixPath("docs/reference") / OCM.page: reference_page(OCM),
    }


def constructor_file(root: Path, *, commit: str = "", digests: dict[str, str] | None = None) -> str:
    """Return the text of the component's constructor.

    Args:
        root: The repository.
        commit: The source's commit, at a release.
        digests: ``sha256:…`` of images and charts by their names in the component, at a release.

    Raises:
        DeliveryError: when charts and component do not fit together.
    """
    release = Release(version_of(root), commit, digests or {})
    content = constructor(packaged_charts(root), release)
    return _HEADER + yaml.safe_dump(content, sort_keys=False, width=120)


def generated_files(root: Path) -> dict[PurePosixPath, str]:
    """Return the text of each generated file."""
    return {**chart_files(), CONSTRUCTOR: constructor_file(root)}
