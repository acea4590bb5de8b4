"""The helpers that place and cut labels."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import LinearConstraint, minimize

from multikernel._install import install_line
from multikernel.display import KernelWeightsDisplay
from multikernel.display._style import paper_name, separated, shorten

positions = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@given(positions, st.floats(0.001, 0.3))
def test_spread_separates_and_stays_inside(wanted, separation):
    moved = separated(wanted, separation)
    step = min(separation, 1.0 / max(len(wanted) - 1, 1))
    assert moved.min() >= 0.0
    assert moved.max() <= 1.0 + 1e-12
    assert (np.diff(np.sort(moved)) >= step - 1e-12).all()
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(moved[order]) > 0).all()


def test_spread_is_the_nearest_arrangement():
    wanted = np.array([0.5, 0.52, 0.9, 0.51, 0.1])
    order = np.argsort(wanted)
    differences = np.diff(np.eye(5)[order], axis=0)
    truth = minimize(
        lambda x: ((x - wanted) ** 2).sum(),
        np.linspace(0.1, 0.9, 5),
        constraints=LinearConstraint(differences, 0.08, np.inf),
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(separated(wanted, 0.08), truth.x, atol=1e-6)


def test_spread_leaves_free_labels_alone():
    np.testing.assert_allclose(separated([0.9, 0.1, 0.5], 0.1), [0.9, 0.1, 0.5])


@pytest.mark.parametrize("length", [5, 6, 20])
def test_shorten_keeps_both_ends(length):
    text = "gaussian(sigma=2)[worst radius]"
    short = shorten(text, length)
    assert len(short) == length
    head, tail = short.split("…")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert shorten(short, length) == short


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape(install_line("plot"))):
        KernelWeightsDisplay([1.0], ["a"]).plot()


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("gaussian(sigma=0.044)[s5]", "s5, width 0.044"),
        ("gaussian(sigma=2)", "Gaussian, width 2"),
        ("gaussian(sigma=2)[clinic: age, dose] #2", "clinic: age, dose, width 2 #2"),
        ("linear()[a[0]]", "a[0], linear"),
        ("category()[site]", "site, category"),
        ("polynomial(degree=2, coef0=1)[x]", "x, polynomial, degree 2, coef0 1"),
        ("nystroem(gaussian(sigma=2), 300)", "nystroem(gaussian(sigma=2), 300)"),
        ("gram 3", "gram 3"),
        ("age × dose", "age × dose"),
        ("linear()[a] × gaussian(sigma=2)[b]", "a, linear × b, width 2"),
        ("similarity(genes)", "similarity(genes)"),
        ("RBF(length_scale=1) + x", "RBF(length_scale=1) + x"),
    ],
)
def test_names_are_printed_as_papers_do(name, printed):
    assert paper_name(name) == printed
