"""Traefik's static configuration as one flat table, wherever it was written. Pure.

Traefik reads options from a file, from flags and from its environment, and takes their names in any case.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from privatellm.kube import Manifest
from privatellm_cli.doctor.facts import Traefik

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+)")
_PREFIX = "traefik_"


def of_file(content: Any) -> dict[str, str]:
    """Return the options of a configuration file."""
    return dict(_flat("", content))


def of_flags(arguments: Iterable[str]) -> dict[str, str]:
    """Return the options of ``--name=value`` flags; a flag without a value is true."""
    flags = (word.lstrip("-").partition("=") for word in arguments if word.startswith("-"))
    return {name.lower(): value if equals else "true" for name, equals, value in flags}


def of_environment(variables: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the options of a container's environment."""
    return {
        name[len(_PREFIX) :].replace("_", "."): str(variable.get("value", ""))
        for variable in variables
        if (name := str(variable["name"]).lower()).startswith(_PREFIX)
    }


def of_workload(workload: Manifest) -> Traefik | None:
    """Return the Traefik that a Deployment or DaemonSet runs, if it runs one."""
    for container in workload["spec"]["template"]["spec"]["containers"]:
        arguments = (*(container.get("command") or ()), *(container.get("args") or ()))
        settings = of_environment(container.get("env") or ()) | of_flags(arguments)
        if any(name.startswith("providers.kubernetes") for name in settings):
            metadata = workload["metadata"]
            origin = f"{workload['kind']} {metadata['namespace']}/{metadata['name']}"
            return Traefik(origin, version_of(str(container.get("image", ""))), settings)
    return None


def version_of(text: str) -> str:
    """Return the version in an image's tag; empty when there is none."""
    tag = text.rpartition("/")[2].partition("@")[0].partition(":")[2] or text
    found = _VERSION.fullmatch(tag)
    return found[1] if found else ""


def _flat(prefix: str, content: Any) -> Iterator[tuple[str, str]]:
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield from _flat(f"{prefix}.{name}".lstrip(".").lower(), value)
    elif isinstance(content, bool):
        yield prefix, str(content).lower()
    elif isinstance(content, list):
        yield prefix, ",".join(map(str, content))
    else:
        yield prefix, str(content)
