"""Estimators on matrices in files give what they give on matrices in memory."""

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
    map_grams,
    stack_grams,
)
from multikernel.gram import DenseStack, MemoryMapped
from multikernel.kernels import GaussianKernel, ParameterGrid
from multikernel.solvers import SpicyMKL

KERNELS = ParameterGrid([GaussianKernel(0.5), GaussianKernel(2.0)], range(3))


def problem(n=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.sign(X[:, 0] ** 2 - 1.0 + X[:, 1] + 0.3 * rng.standard_normal(n))
    return X, y, rng.standard_normal((20, 3))


def matrices(X, Y=None):
    return [KERNELS[m](X, X if Y is None else Y) for m in range(len(KERNELS))]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        SpicyMKLClassifier(KERNELS, alpha=0.01, tol=1e-10),
        SpicyMKLClassifier(KERNELS, alpha=0.01, tol=1e-10, loss="hinge"),
        SpicyMKLClassifier(
            KERNELS, alpha=0.01, tol=1e-10, normalize=("cosine", "center")
        ),
        LpMKLClassifier(KERNELS, p=1.5, tol=1e-10),
        GroupOMPClassifier(KERNELS, max_kernels=3),
        FixedWeightsMKLClassifier(KERNELS, tol=1e-10),
        SpicyMKLClassifierCV(KERNELS, tol=1e-10, n_alphas=3, cv=3),
        SpicyMKLClassifierCV(KERNELS, tol=1e-10, n_alphas=2, cv=2, normalize="center"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_results_equal_those_in_memory(estimator, tmp_path):
    X, y, new = problem()
    expected = estimator.set_params(storage="dense").fit(X, y).decision_function(new)
    # Gaps of 1e-10 leave models apart by a share of up to its root, 1e-5.
    close = 1e-7 * np.abs(expected).max()
    for storage in ("memmap", MemoryMapped(tmp_path), MemoryMapped(tmp_path)):
        found = estimator.set_params(storage=storage).fit(X, y).decision_function(new)
        np.testing.assert_allclose(found, expected, rtol=0, atol=close)
        assert estimator.storage_ == "memmap"


@pytest.mark.parametrize("normalize", ["trace", "center"])
@pytest.mark.parametrize("form", ["folder", "file", "files", "maps", "list of maps"])
def test_precomputed_kernels_in_files(form, normalize, tmp_path):
    X, y, new = problem()
    K, K_new = matrices(X), matrices(new, X)
    model = SpicyMKLClassifier(
        "precomputed", alpha=0.01, tol=1e-10, normalize=normalize
    )
    whole = model.fit(stack_grams(K), y).decision_function(stack_grams(K_new))
    given = []
    for number, arrays in enumerate((K, K_new)):
        folder = tmp_path / str(number)
        map_grams(arrays, folder, name="all")
        names = [folder / f"{m}.npy" for m in range(len(arrays))]
        for name, array in zip(names, arrays, strict=True):
            np.save(name, array)
        given.append(
            {
                "folder": folder,
                "file": str(folder / "stack.npy"),
                "files": names,
                "maps": stack_grams(np.load(folder / "stack.npy", mmap_mode="r")),
                "list of maps": stack_grams([np.load(n, mmap_mode="r") for n in names]),
            }[form]
        )
    found = model.fit(given[0], y).decision_function(given[1])
    np.testing.assert_allclose(found, whole, rtol=0, atol=1e-8)


def test_matrices_in_files_stay_there(tmp_path, monkeypatch):
    X, y, _ = problem()
    path = map_grams(matrices(X), tmp_path).base
    seen = []
    original = SpicyMKL.solve

    def spy(self, problem, *args, **kwargs):
        seen.append(problem.gram)
        return original(self, problem, *args, **kwargs)

    monkeypatch.setattr("multikernel.solvers.SpicyMKL.solve", spy)
    weights = np.ones(60)
    for sample_weight in (None, weights, np.where(np.arange(60) < 3, 0.0, 1.0)):
        for normalize in ("trace", "center"):
            model = SpicyMKLClassifier("precomputed", alpha=0.01, normalize=normalize)
            model.fit(tmp_path, y, sample_weight)
            held = getattr(seen[-1], "stack", seen[-1])
            assert isinstance(held, DenseStack)
            assert held.in_file
    assert path is not None


def test_values_that_are_not_finite_are_found_in_files(tmp_path):
    X, y, _ = problem()
    K = matrices(X)
    K[2][3, 5] = np.nan
    map_grams(K, tmp_path)
    with pytest.raises(ValueError, match=r"NaN at \[3, 5\] of Gram matrix 2"):
        SpicyMKLClassifier("precomputed").fit(tmp_path, y)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


MEASURED = """
import sys, tracemalloc
import numpy as np
from multikernel.estimators import {name}, map_grams
rng = np.random.default_rng(0)
small = rng.normal(size=(6, 30, 5))
small = (small @ small.transpose(0, 2, 1)).astype("{dtype}")
y = np.sign(rng.normal(size={n}))
model = {name}("precomputed", {options}, normalize="trace")
model.fit(map_grams(small, sys.argv[1] + "/small"), y[:30])
tracemalloc.start()
model.fit(sys.argv[1], y)
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
    map_grams((Z @ Z.transpose(0, 2, 1)).astype(dtype), tmp_path)
    size = (tmp_path / "stack.npy").stat().st_size
    script = MEASURED.format(name=name, options=options, n=n, dtype=dtype)
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) <= size / 4
