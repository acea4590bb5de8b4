"""Settings shared by all tests."""

import gc

from hypothesis import settings

# The first example may compile; time says nothing about correctness.
settings.register_profile("multikernel", deadline=None, max_examples=25)
settings.load_profile("multikernel")

# Thousands of tests stay once they are collected, and a seventh of the time in which
# they are went into looking for garbage among them.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
