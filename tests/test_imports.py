"""Importing the library stays cheap: heavy libraries are loaded where they are used."""

import json
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

PROCESS = """
import json, sys, multikernel
said = {"numpy": "numpy" in sys.modules}
import sklearn, sklearn.base, sklearn.utils.validation
before = set(sys.modules)
multikernel.SpicyMKLClassifier
said["loaded"] = list(set(sys.modules) - before)
import multikernel.display, multikernel.persistence
from multikernel import *
said["known"] = "SpicyMKLClassifier" in dir(multikernel)
names = multikernel.__all__
said["missing"] = [name for name in names if not hasattr(multikernel, name)]
said["loaded by all"] = list(sys.modules)
said["kinds"] = [callable(multikernel.report), multikernel.gram.__name__]
said["unknown"] = [hasattr(multikernel, name) for name in ("nonsense", "_nonsense")]
print(json.dumps(said))
"""
"""What is loaded at first, by an estimator (what scikit-learn loads by itself does not
count) and by all names, in one process, as each start takes a second."""


@pytest.fixture(scope="module")
def said():
    line = [sys.executable, "-c", PROCESS]
    run = subprocess.run(line, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize("library", LAZY)
def test_importing_multikernel_does_not_load(said, library):
    assert "multikernel.estimators" in said["loaded"]
    assert library not in said["loaded"]


def test_no_name_loads_an_optional_library(said):
    # scikit-learn itself imports pandas and rich where it finds them.
    optional = {"typer", "matplotlib", "skops", "polars"}
    assert "multikernel.persistence" in said["loaded by all"]
    assert not optional & set(said["loaded by all"])


def test_names_of_the_package_are_loaded_when_asked_for(said):
    assert not said["numpy"]
    assert said["known"]
    assert said["missing"] == []
    assert said["kinds"] == [True, "multikernel.gram"]
    assert said["unknown"] == [False, False]
