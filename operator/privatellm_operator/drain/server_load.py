"""Asking the model server beside us what it has in hand."""

import http.client
import socket
from http import HTTPStatus

from privatellm.draining import Load, parse_load
from privatellm_operator.drain.arguments import DrainSettings

NOTHING = Load(processing=0, deferred=0)
BUSY = Load(processing=1, deferred=0)

ANSWER_SECONDS = 5.0
"""A server that works on a long prompt answers late."""


def read_load(settings: DrainSettings) -> Load:
    """Return what the server has in hand.

    One that is gone or still loads has nothing; one that does not answer in time is busy.

    Raises:
        InvalidInputError: when its metrics lack what draining needs.
    """
    connection = http.client.HTTPConnection(
        settings.host, settings.server_port, timeout=ANSWER_SECONDS
    )
    key = settings.api_key_file.read_text(encoding="utf-8").strip()
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        text = answer.read().decode()
    except TimeoutError:
        return BUSY
    except (OSError, http.client.HTTPException):
        return NOTHING
    finally:
        connection.close()
    return NOTHING if answer.status == HTTPStatus.SERVICE_UNAVAILABLE else parse_load(text)


def is_listening(settings: DrainSettings) -> bool:
    """Say whether the server's port is open."""
    try:
        socket.create_connection((settings.host, settings.server_port), ANSWER_SECONDS).close()
    except OSError:
        return False
    return True
