"""How many examples property tests try: few with every change, thousands when somebody asks for them.

``pytest --hypothesis-profile thorough PATH`` asks for them; CONTRIBUTING.md says when. Importing this
module makes the profiles known, which a ``conftest.py`` must do before Hypothesis reads the option.
"""

from hypothesis import HealthCheck, settings

USUAL = "usual"
THOROUGH = "thorough"
THOROUGH_EXAMPLES = 3_000

# A busy machine is no fault of the code: how long an example takes, or its generation, says nothing here.
# Half of the usual number of examples keeps the unit tests within their half minute.
for profile, number in {USUAL: 50, THOROUGH: THOROUGH_EXAMPLES}.items():
    settings.register_profile(
        profile,
        deadline=None,
        max_examples=number,
        suppress_health_check=[HealthCheck.too_slow],
    )


def examples(usual: int) -> int:
    """Return the number of examples for a test whose examples are dear.

    Args:
        usual: How many it tries with every change.
    """
    is_thorough = settings.get_current_profile_name() == THOROUGH
    return THOROUGH_EXAMPLES if is_thorough else usual
