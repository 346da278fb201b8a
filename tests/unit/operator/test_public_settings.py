"""Where customers find the edge, as the operator's environment says it."""

import pytest

from privatellm.errors import InvalidInputError
from privatellm_operator.settings import Settings


@pytest.mark.parametrize("host", ["https://x", "x/y", "x:99999", "x`) || HostRegexp(`.*"])
def test_a_public_host_that_is_none_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """As it does in the ForwardAuth service, so that both go by the same one."""
    monkeypatch.setenv("PUBLIC_HOST", host)

    with pytest.raises(InvalidInputError, match=r"PUBLIC_HOST: .*The public host is a host name"):
        Settings.of_environment()
