"""What holds for every unit test."""

from hypothesis import settings

# A busy machine is no fault of the code: how long one example takes says nothing here.
settings.register_profile("unit", deadline=None)
settings.load_profile("unit")
