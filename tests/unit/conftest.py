"""What holds for every unit test."""

import gc


def pytest_collection_finish() -> None:
    """Take the thousands of collected tests out of every later garbage collection: a fifth of the time."""
    gc.collect()
    gc.freeze()
