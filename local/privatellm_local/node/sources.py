"""What a pod reads from other objects: gathered first, so that everything after it is pure.

An absent object is absent from the mappings; whether that is an error is for the reader to say,
because references can be optional.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import (
    CONFIG_MAP,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    Kind,
)
from privatellm_local.node.pod import Container, Pod, Projection, TokenSource, Volume
from privatellm_local.node.tokens import TokenStore

Keyed: TypeAlias = Mapping[str, Mapping[str, bytes]]
"""Object name to key to value."""


@dataclass(frozen=True, slots=True)
class References:
    """The names that a pod refers to."""

    secrets: frozenset[str]
    config_maps: frozenset[str]
    claims: frozenset[str]
    tokens: frozenset[TokenSource]


@dataclass(frozen=True, slots=True)
class Sources:
    """What stands behind the names."""

    secrets: Keyed = field(default_factory=dict)
    config_maps: Keyed = field(default_factory=dict)
    claims: Mapping[str, Path] = field(default_factory=dict)
    """Claim name to the directory of its bound volume."""
    tokens: Mapping[TokenSource, str] = field(default_factory=dict)


def references(pod: Pod) -> References:
    """Return everything that the pod's volumes and variables name."""
    projections = [part for volume in pod.spec.volumes for part in _projections(volume)]
    secrets, config_maps = set[str](), set[str]()
    for part in projections:
        secrets |= {part.secret.object_name} if part.secret else set()
        config_maps |= {part.config_map.object_name} if part.config_map else set()
    for container in pod.all_containers:
        secrets |= set(_secrets_of(container))
        config_maps |= set(_config_maps_of(container))
    claims = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return References(
        secrets=frozenset(secrets),
        config_maps=frozenset(config_maps),
        claims=frozenset(claim.claim_name for claim in claims if claim),
        tokens=frozenset(p.service_account_token for p in projections if p.service_account_token),
    )


async def gather(client: KubeClient, tokens: TokenStore, pod: Pod) -> Sources:
    """Read everything that the pod refers to.

    Raises:
        KubernetesError: when the API server cannot be asked.
    """
    wanted, namespace = references(pod), pod.metadata.namespace
    return Sources(
        secrets=await _keyed(client, SECRET, namespace, wanted.secrets),
        config_maps=await _keyed(client, CONFIG_MAP, namespace, wanted.config_maps),
        claims=await _claims(client, namespace, wanted.claims),
        tokens={source: await tokens.get(pod, source) for source in wanted.tokens},
    )


def _projections(volume: Volume) -> tuple[Projection, ...]:
    """Treat a plain Secret or ConfigMap volume as a projected volume with one source."""
    if volume.projected:
        return volume.projected.sources
    return (
        Projection(
            secret=volume.secret, config_map=volume.config_map, downward_api=volume.downward_api
        ),
    )


def _secrets_of(container: Container) -> Iterator[str]:
    yield from (source.secret_ref.name for source in container.env_from if source.secret_ref)
    for variable in container.env:
        if variable.value_from and variable.value_from.secret_key_ref:
            yield variable.value_from.secret_key_ref.name


def _config_maps_of(container: Container) -> Iterator[str]:
    yield from (s.config_map_ref.name for s in container.env_from if s.config_map_ref)
    for variable in container.env:
        if variable.value_from and variable.value_from.config_map_key_ref:
            yield variable.value_from.config_map_key_ref.name


async def _keyed(
    client: KubeClient, kind: Kind, namespace: str, names: frozenset[str]
) -> dict[str, Mapping[str, bytes]]:
    found = {name: await client.get(kind, name, namespace) for name in sorted(names)}
    return {name: _data(manifest) for name, manifest in found.items() if manifest is not None}


def _data(manifest: Manifest) -> Mapping[str, bytes]:
    """Return the bytes of a Secret or ConfigMap; a ConfigMap's ``data`` is text."""
    encoded = manifest["kind"] == "Secret"
    data = manifest.get("data") or {}
    texts = {} if encoded else {key: value.encode() for key, value in data.items()}
    binaries = data if encoded else manifest.get("binaryData") or {}
    return texts | {key: base64.b64decode(value) for key, value in binaries.items()}


async def _claims(client: KubeClient, namespace: str, names: frozenset[str]) -> dict[str, Path]:
    found = {name: await _directory(client, namespace, name) for name in sorted(names)}
    return {name: path for name, path in found.items() if path is not None}


async def _directory(client: KubeClient, namespace: str, claim_name: str) -> Path | None:
    claim = await client.get(PERSISTENT_VOLUME_CLAIM, claim_name, namespace)
    if claim is None or claim.get("status", {}).get("phase") != "Bound":
        return None
    volume = await client.get(PERSISTENT_VOLUME, claim["spec"]["volumeName"])
    path = ((volume or {}).get("spec", {}).get("hostPath") or {}).get("path")
    return Path(path) if path else None
