"""Traefik's static configuration.

Sources: Traefik's own documentation and security decisions; the traps are described in the project's
documentation of the edge. There is no dashboard, no API, no telemetry and no TLS: everything stays on
loopback. Production installs set the same options by the chart's values.
"""

from typing import Any

import yaml

from privatellm_local.addresses import LOOPBACK, AddressPlan

INGRESS_CLASS = "traefik"
ENTRY_POINT = "web"
INTERNAL_ENTRY_POINT = "internal"

LONGEST_REQUEST = "3600s"
"""Traefik's 60 s would cut every answer that takes longer: the limit covers the whole exchange."""

LARGEST_HEADERS = 65536
"""Bytes of a request's headers; each of them is sent to the check as well. Traefik's default is 1 MiB."""

ENCODED_CHARACTERS = (
    "allowEncodedSlash",
    "allowEncodedBackSlash",
    "allowEncodedNullCharacter",
    "allowEncodedSemicolon",
    "allowEncodedPercent",
    "allowEncodedQuestionMark",
    "allowEncodedHash",
)
"""Reserved characters in encoded form; Traefik lets them through unless told otherwise."""


UNLOGGED = ("ClientUsername", "RequestPath", "RequestLine")
"""Fields of the access log that are left out."""


def render(plan: AddressPlan) -> str:
    """Return the configuration file."""
    content: dict[str, Any] = {
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
        "log": {"level": "INFO", "format": "json"},
        "accessLog": _access_log(),
        "entryPoints": {
            ENTRY_POINT: _public_entry_point(plan),
            INTERNAL_ENTRY_POINT: {"address": f"{LOOPBACK}:{plan.edge_internal}"},
        },
        "ping": {"entryPoint": INTERNAL_ENTRY_POINT},
        "metrics": {"prometheus": {"entryPoint": INTERNAL_ENTRY_POINT, "addRoutersLabels": False}},
        "providers": _providers(),
        "serversTransport": _servers_transport(),
    }
    return yaml.safe_dump(content, sort_keys=False)


def _access_log() -> dict[str, Any]:
    # Nothing that a client may put a key into is logged: no header, no query, and no path, because a
    # client that is set up wrongly sends its key there. Router and service name the instance.
    return {
        "format": "json",
        "fields": {
            "headers": {"defaultMode": "drop"},
            "queryParameters": {"defaultMode": "drop"},
            "names": dict.fromkeys(UNLOGGED, "drop"),
        },
    }


def _public_entry_point(plan: AddressPlan) -> dict[str, Any]:
    return {
        "address": f"{LOOPBACK}:{plan.edge}",
        "asDefault": True,
        # Nobody stands in front of this edge, so no forwarded header is believed.
        "forwardedHeaders": {"insecure": False, "trustedIPs": []},
        "http": {
            # `X_Auth_User` must not pass for `X-Auth-User` behind us (CVE-2026-39858).
            "aliasHeadersStrategy": "delete",
            "encodedCharacters": dict.fromkeys(ENCODED_CHARACTERS, False),
            "sanitizePath": True,
            "maxHeaderBytes": LARGEST_HEADERS,
        },
        "transport": {
            "respondingTimeouts": {
                "readTimeout": LONGEST_REQUEST,
                "writeTimeout": "0s",
                "idleTimeout": "180s",
            },
            "lifeCycle": {"graceTimeOut": "5s"},
        },
    }


def _providers() -> dict[str, Any]:
    common = {
        "ingressClass": INGRESS_CLASS,
        # Without it the path of an instance with no ready server answers 404 without a check.
        "allowEmptyServices": True,
        "allowExternalNameServices": False,
        # Dials cluster IPs: EndpointSlices cannot hold loopback addresses.
        "nativeLBByDefault": True,
    }
    return {
        # Routes of a new instance appear at once instead of after two seconds.
        "providersThrottleDuration": "500ms",
        # `/llm/abc` must not match `/llm/abcdef`.
        "kubernetesIngress": {**common, "strictPrefixMatching": True},
        "kubernetesCRD": {
            **common,
            "allowCrossNamespace": False,
            # Joins namespace and name unambiguously: nobody can shadow another one's middleware.
            "safeNaming": True,
        },
    }


def _servers_transport() -> dict[str, Any]:
    return {
        # A kept connection to a cluster IP stays pinned to a pod that a rollout has replaced, and llama.cpp
        # closes its own behind every stream without a word: the next request would be lost on it.
        "maxIdleConnsPerHost": -1,
        # A completion that is not streamed sends its headers when it is finished.
        "forwardingTimeouts": {"dialTimeout": "5s", "responseHeaderTimeout": "0s"},
    }
