"""What holds for every unit test."""

import gc

from hypothesis import settings

# A busy machine is no fault of the code: how long one example takes says nothing here. Half of the usual
# number of examples keeps the suite within its half minute.
settings.register_profile("unit", deadline=None, max_examples=50)
settings.load_profile("unit")


def pytest_collection_finish() -> None:
    """Take the thousands of collected tests out of every later garbage collection."""
    gc.collect()
    gc.freeze()
