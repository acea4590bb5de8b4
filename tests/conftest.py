"""Settings shared by all tests."""

import gc

import pytest
from hypothesis import settings
from thinning import mark_combinations

from multikernel.datasets import available

# The first example may compile; time says nothing about correctness.
settings.register_profile("multikernel", deadline=None, max_examples=25)
settings.load_profile("multikernel")

# Thousands of tests stay once they are collected, and a seventh of the time in which
# they are went into looking for garbage among them.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_combinations(items)


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item):
    """Skip a test whose data sets are not on this machine."""
    names = {name for mark in item.iter_markers("data") for name in mark.args}
    if missing := sorted(names.difference(available() if names else ())):
        pytest.skip(f"set MULTIKERNEL_DATA to a folder with {', '.join(missing)}")
