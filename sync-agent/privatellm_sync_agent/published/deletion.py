"""What a provider and a customer may say about deletion, beyond upstream's fields.

The provider: the annotation ``deletion.syncagent.kcp.io/wait-for-others`` on a PublishedResource is
``"true"`` or ``"false"``. With it the copy lives on as long as somebody else's finalizer protects the
deleted object. Without it the copy goes at once, as with upstream: no revoked order lives on for that.

The customer: upstream's annotation ``syncagent.kcp.io/deletion-propagation-policy`` on an object. With
``foreground`` the object stays until everything that the copy owned is gone. ``orphan`` is not obeyed: what
a provider runs for somebody who gave the order up would go on for nobody.
"""

from privatellm.errors import InvalidObjectError
from privatellm.kube import Manifest

WAIT_FOR_OTHERS = "deletion.syncagent.kcp.io/wait-for-others"
PROPAGATION = "syncagent.kcp.io/deletion-propagation-policy"

_SWITCH = {"true": True, "false": False}


def waits_for_others(published: Manifest) -> bool:
    """Return whether copies outlive the deletion of an object that somebody else's finalizer protects.

    Raises:
        InvalidObjectError: when the annotation cannot be read.
    """
    text = (published["metadata"].get("annotations") or {}).get(WAIT_FOR_OTHERS, "false")
    if text not in _SWITCH:
        raise InvalidObjectError(
            f'The annotation {WAIT_FOR_OTHERS} must be "true" or "false"; got {text!r}.'
        )
    return _SWITCH[text]


def propagation_of(manifest: Manifest) -> str:
    """Return how the copy of a customer's object is deleted, as the API writes it."""
    annotations = manifest["metadata"].get("annotations") or {}
    return "Foreground" if annotations.get(PROPAGATION) == "foreground" else "Background"
