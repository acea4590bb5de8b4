"""Importing the library stays cheap: heavy libraries are loaded where they are used."""

import subprocess
import sys

import pytest

LAZY = [
    "dask",
    "distributed",
    "numba",
    "matplotlib",
    "pandas",
    "polars",
    "skops",
    "typer",
    "cvxpy",
]


@pytest.fixture(scope="module")
def loaded():
    # What scikit-learn loads by itself does not count.
    script = (
        "import sys, sklearn, sklearn.base, sklearn.utils.validation\n"
        "before = set(sys.modules)\n"
        "import multikernel\n"
        "multikernel.SpicyMKLClassifier\n"
        "print(*(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("library", LAZY)
def test_importing_multikernel_does_not_load(loaded, library):
    assert "multikernel.estimators" in loaded
    assert library not in loaded
