"""Certificates that fetchers trust beside their image's, in customers' pods and in the platform's Jobs.

The platform's ConfigMap is not in customers' namespaces. Their pods find a copy in the Secret of the
instance, which is there already; certificates are public, and no further object is made.
"""

from privatellm.kube import Manifest
from privatellm_operator.settings import Settings

VOLUME = "extra-ca"
DIRECTORY = "/extra-ca"
FILE = "ca.crt"
DATA_KEY = "extra-ca.crt"
"""The data key of the copy in an instance's Secret."""


def arguments(settings: Settings) -> list[str]:
    """Return the fetcher's arguments."""
    return ["--ca-file", f"{DIRECTORY}/{FILE}"] if settings.extra_ca.file else []


def mounts(settings: Settings) -> list[Manifest]:
    """Return where the fetcher finds the file."""
    mounted = {"name": VOLUME, "mountPath": DIRECTORY, "readOnly": True}
    return [mounted] if settings.extra_ca.file else []


def copy_of(settings: Settings) -> dict[str, str]:
    """Return what an instance's Secret carries, by its data key."""
    return {DATA_KEY: settings.extra_ca.file} if settings.extra_ca.file else {}


def volumes_of_instance(settings: Settings, secret: str) -> list[Manifest]:
    """Return the volume of an instance's pod.

    Args:
        settings: Whether there is anything to trust.
        secret: Name of the instance's Secret.
    """
    items = [{"key": DATA_KEY, "path": FILE}]
    source = {"secretName": secret, "items": items, "defaultMode": 0o440}
    return [{"name": VOLUME, "secret": source}] if settings.extra_ca.file else []


def volumes_of_job(settings: Settings) -> list[Manifest]:
    """Return the volume of a Job in the operator's namespace."""
    chosen = settings.extra_ca
    items = [{"key": chosen.config_map_key, "path": FILE}]
    source = {"name": chosen.config_map, "items": items}
    return [{"name": VOLUME, "configMap": source}] if chosen.file else []
