"""The memory of a ForwardAuth pod is promised, and measured, for the number of workers that ships."""

from privatellm_authserver.settings import Settings
from privatellm_local.packaging.part_values import Authserver

DEFAULT = Settings.model_fields["workers"].default


def test_the_chart_and_the_program_start_the_same_number_of_workers() -> None:
    """So what is measured of the one holds for the other."""
    assert Authserver().workers == DEFAULT
