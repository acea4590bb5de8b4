"""Precomputed kernels in a file of the user's: read there, and never copied."""

import subprocess
import sys

import numpy as np
import pytest

from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    GroupOMPClassifier,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    stack_grams,
)
from multikernel.kernels import GaussianKernel, ParameterGrid
from multikernel.solvers import SpicyMKL

KERNELS = ParameterGrid([GaussianKernel(0.5), GaussianKernel(2.0)], range(3))


def problem(n=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.sign(X[:, 0] ** 2 - 1.0 + X[:, 1] + 0.3 * rng.standard_normal(n))
    return X, y, rng.standard_normal((20, 3))


def matrices(X, Y=None):
    return np.stack([KERNELS[m](X, X if Y is None else Y) for m in range(len(KERNELS))])


def mapped(path, array):
    np.save(path, array)
    return stack_grams(np.load(path, mmap_mode="r"))


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        SpicyMKLClassifier("precomputed", alpha=0.01, tol=1e-10),
        SpicyMKLClassifier("precomputed", alpha=0.01, tol=1e-10, loss="hinge"),
        SpicyMKLClassifier("precomputed", alpha=0.01, tol=1e-10, normalize="center"),
        LpMKLClassifier("precomputed", p=1.5, tol=1e-10),
        GroupOMPClassifier("precomputed", max_kernels=3),
        FixedWeightsMKLClassifier("precomputed", tol=1e-10),
        SpicyMKLClassifierCV("precomputed", tol=1e-10, n_alphas=3, cv=3),
        SpicyMKLClassifierCV(
            "precomputed", tol=1e-10, n_alphas=2, cv=2, normalize="center"
        ),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_results_equal_those_in_memory(estimator, tmp_path):
    X, y, new = problem()
    K, K_new = matrices(X), matrices(new, X)
    expected = estimator.fit(stack_grams(K), y).decision_function(stack_grams(K_new))
    estimator.fit(mapped(tmp_path / "train.npy", K), y)
    found = estimator.decision_function(mapped(tmp_path / "new.npy", K_new))
    # Gaps of 1e-10 leave models apart by a share of up to its root, 1e-5.
    close = 1e-7 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=close)


def test_matrices_in_files_stay_there(tmp_path, monkeypatch):
    X, y, _ = problem()
    file = mapped(tmp_path / "train.npy", matrices(X))
    seen = []
    original = SpicyMKL.solve

    def spy(self, problem, *args, **kwargs):
        seen.append(problem.gram)
        return original(self, problem, *args, **kwargs)

    monkeypatch.setattr("multikernel.solvers.SpicyMKL.solve", spy)
    for normalize in (None, "trace", "variance"):
        SpicyMKLClassifier("precomputed", alpha=0.01, normalize=normalize).fit(file, y)
        held = getattr(seen[-1], "stack", seen[-1])
        assert np.shares_memory(held.array, file)


def test_values_that_are_not_finite_are_found_in_files(tmp_path):
    X, y, _ = problem()
    K = matrices(X)
    K[2][3, 5] = np.nan
    with pytest.raises(ValueError, match=r"NaN at \[3, 5\] of Gram matrix 2"):
        SpicyMKLClassifier("precomputed").fit(mapped(tmp_path / "train.npy", K), y)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


MEASURED = """
import sys, tracemalloc
import numpy as np
from multikernel.estimators import {name}, stack_grams
rng = np.random.default_rng(0)
small = rng.normal(size=(6, 30, 5))
small = (small @ small.transpose(0, 2, 1)).astype("{dtype}")
y = np.sign(rng.normal(size={n}))
model = {name}("precomputed", {options}, normalize="trace")
np.save(sys.argv[1] + ".small.npy", small)
model.fit(stack_grams(np.load(sys.argv[1] + ".small.npy", mmap_mode="r")), y[:30])
tracemalloc.start()
model.fit(stack_grams(np.load(sys.argv[1], mmap_mode="r")), y)
peak = tracemalloc.get_traced_memory()[1]
assert (model.kernel_weights_ > 0).any()
print(peak)
"""


@pytest.mark.parametrize(
    ("name", "options", "dtype"),
    [
        ("SpicyMKLClassifier", "alpha=0.05", "float64"),
        slow("SpicyMKLClassifier", "alpha=0.05", "float32"),
        slow("SpicyMKLClassifier", "alpha=0.05, loss='hinge'", "float32"),
        slow("LpMKLClassifier", "p=2", "float64"),
        slow("LpMKLClassifier", "p=2", "float32"),
    ],
)
def test_what_is_allocated_is_at_most_a_quarter_of_the_file(
    tmp_path, name, options, dtype
):
    n, n_kernels = 300, 128
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n_kernels, n, 5))
    path = tmp_path / "stack.npy"
    np.save(path, (Z @ Z.transpose(0, 2, 1)).astype(dtype))
    script = MEASURED.format(name=name, options=options, n=n, dtype=dtype)
    result = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) <= path.stat().st_size / 4
