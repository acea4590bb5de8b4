"""Settings shared by all tests."""

import gc
from functools import wraps
from importlib.util import find_spec
from io import BytesIO

import numpy as np
import pytest
from hypothesis import settings
from thinning import mark_combinations

from multikernel.datasets import available

# The first example may compile; time says nothing about correctness.
settings.register_profile("multikernel", deadline=None, max_examples=25)
settings.load_profile("multikernel")

STATES = {}
"""State of each module's random generator before its first test."""

# Thousands of tests stay once they are collected, and a seventh of the time in which
# they are went into looking for garbage among them. Collection stays enabled, as Dask
# remembers when it is imported whether it is.
THRESHOLDS = gc.get_threshold()
gc.set_threshold(0)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_combinations(items)


def generators(item):
    """Return the random generators of a test's module."""
    values = vars(item.module).values() if hasattr(item, "module") else ()
    return [value for value in values if isinstance(value, np.random.Generator)]


def pytest_collection_finish(session):
    for item in session.items:
        for generator in generators(item):
            STATES.setdefault(generator, generator.bit_generator.state)
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def pytest_runtest_setup(item):
    """Skip a test without its data sets; tests draw the same numbers in any order."""
    for generator in generators(item):
        generator.bit_generator.state = STATES[generator]
    names = {name for mark in item.iter_markers("data") for name in mark.args}
    if missing := sorted(names.difference(available() if names else ())):
        pytest.skip(f"set MULTIKERNEL_DATA to a folder with {', '.join(missing)}")


@pytest.fixture(scope="session", autouse=True)
def quick_reports():
    """Reports draw their pictures, but leave them blank unless a test uses `rendered`.

    Rendering of text takes nine tenths of the time of a report.
    """
    with pytest.MonkeyPatch.context() as patch:
        if find_spec("matplotlib"):
            from matplotlib.figure import Figure

            patch.setattr(Figure, "savefig", _blank(Figure.savefig))
        yield


@pytest.fixture
def rendered(monkeypatch):
    """Render the pictures of reports in this test."""
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", Figure.savefig.__wrapped__)


def _blank(save):
    """Return a `savefig` that writes nothing for reports, which crop their pictures."""

    @wraps(save)
    def saved(figure, file, **settings):
        if not (isinstance(file, BytesIO) and settings.get("bbox_inches") == "tight"):
            save(figure, file, **settings)

    return saved
