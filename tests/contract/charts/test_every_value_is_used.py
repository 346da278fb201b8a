"""No value is there for nothing."""

from typing import Any

import pytest

from chart_helm import Helm, Manifest
from chart_values import context_of, leaves, merged, nested, other_value
from privatellm_local.packaging.listing import Entry

pytestmark = pytest.mark.deep

KEY = ("Secret", "private-llm-platform-key")


def comparable(objects: tuple[Manifest, ...]) -> list[Any]:
    """Leave out the key that each rendering makes anew."""
    return [item for item in objects if (item["kind"], item["metadata"]["name"]) != KEY] + [
        sum(item["kind"] == "Secret" for item in objects)
    ]


@pytest.mark.parametrize("leaf", tuple(leaves()), ids=lambda leaf: ".".join(leaf.path))
def test_a_value_changes_what_is_rendered(helm: Helm, leaf: Entry) -> None:
    """With another value than the default the objects differ."""
    context = context_of(leaf)
    before = merged(nested(leaf.path, leaf.default), context)
    after = merged(before, nested(leaf.path, other_value(leaf)))

    assert comparable(helm.template(before)) != comparable(helm.template(after))
