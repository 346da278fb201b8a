"""``python -m privatellm_local.packaging.delivery.sbom IMAGE``: what is installed here, as CycloneDX 1.6.

It runs inside an image's environment and reads what pip left there, so it lists what is installed and not
what was asked for. Only the standard library is used, because an image has nothing but its own extra. The
operating system below is not in it: BuildKit's own scan lists that.
"""

import json
import sys
from collections.abc import Iterable
from importlib import metadata
from typing import Any

from privatellm_local.packaging.delivery.normalising import normalised

PROJECT = "private-llm"


def sbom(image: str, distributions: Iterable[metadata.Distribution]) -> dict[str, Any]:
    """Return the list of what an image's environment holds.

    Args:
        image: Name of the image.
        distributions: What is installed.
    """
    components = sorted((_component(each) for each in distributions), key=lambda c: c["bom-ref"])
    ours = next((c for c in components if c["name"] == PROJECT), None)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "container",
                "bom-ref": f"{PROJECT}/{image}",
                "name": f"{PROJECT}/{image}",
                "version": ours["version"] if ours else "",
            }
        },
        "components": components,
    }


def _component(distribution: metadata.Distribution) -> dict[str, Any]:
    name = normalised(distribution.metadata["Name"])
    address = f"pkg:pypi/{name}@{distribution.version}"
    (licence, *_) = distribution.metadata.get_all("License-Expression") or [""]
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": distribution.version,
        "purl": address,
        **({"licenses": [{"expression": licence}]} if licence else {}),
    }


if __name__ == "__main__":
    json.dump(sbom(sys.argv[1], metadata.distributions()), sys.stdout, indent=2)
    sys.stdout.write("\n")
