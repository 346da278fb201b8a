import pytest

from privatellm.errors import InvalidInputError
from privatellm_local.node.kubelet_api import LogOptions, subject


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, LogOptions()),
        ({"follow": "true", "tailLines": "10"}, LogOptions(follow=True, tail_lines=10)),
        ({"previous": "true", "limitBytes": "5"}, LogOptions(previous=True, limit_bytes=5)),
        ({"timestamps": "false"}, LogOptions()),
    ],
)
def test_options_are_those_of_a_kubelet(query: dict[str, str], expected: LogOptions) -> None:
    """As ``kubectl logs`` sends them."""
    assert expected == LogOptions.parse(query)


@pytest.mark.parametrize(
    "query",
    [{"timestamps": "true"}, {"sinceSeconds": "5"}, {"tailLines": "-1"}, {"tailLines": "x"}],
)
def test_an_option_that_cannot_be_honoured_is_refused(query: dict[str, str]) -> None:
    """A wrong answer would be worse than none."""
    with pytest.raises(InvalidInputError, match=next(iter(query))):
        LogOptions.parse(query)


def test_a_certificate_stands_for_a_user_and_groups() -> None:
    """By the convention of the API server."""
    certificate = {
        "subject": (
            (("organizationName", "a"),),
            (("organizationName", "b"), ("commonName", "me")),
        )
    }

    assert subject(certificate) == ("me", ("a", "b"))
    assert subject({}) == ("", ())
