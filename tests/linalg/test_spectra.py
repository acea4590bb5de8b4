"""Leading eigenvalues from products alone."""

import numpy as np
import pytest

from multikernel.linalg.spectra import leading_pairs


def gaussian(n, width, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    squares = (X**2).sum(axis=1)
    return np.exp(-(squares[:, None] + squares - 2.0 * X @ X.T) / (2.0 * width**2))


MATRICES = {
    "narrow": gaussian(300, 0.3),
    "middle": gaussian(300, 1.0),
    "wide": gaussian(300, 10.0),
    "copies": np.kron(np.eye(3), gaussian(90, 2.0)),
    "identity": np.eye(100),
    "one rank": np.outer(np.arange(100.0), np.arange(100.0)),
    "small": gaussian(30, 1.0),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("count", [1, 5, 16])
def test_sums_are_those_of_all_eigenvalues(name, count):
    K = MATRICES[name]
    trace = float(np.trace(K))
    pairs = leading_pairs(K.dot, len(K), count, trace)
    exact = np.linalg.eigvalsh(K)[::-1][:count].sum()
    assert -1e-9 * trace <= exact - pairs.values.sum() <= 1e-6 * trace
    # Where the trace is used up, directions that would add nothing are left at zero.
    gram = pairs.vectors.T @ pairs.vectors
    found = gram.diagonal() > 0.5
    assert gram == pytest.approx(np.diag(found.astype(float)), abs=1e-8)
    assert pairs.values[~found].sum() == 0.0


def test_a_second_copy_of_an_eigenvalue_is_found():
    # No Krylov space of one start holds the second.
    values = np.r_[5.0, 5.0, np.linspace(1.0, 0.5, 198)]
    pairs = leading_pairs(lambda v: values * v, 200, 2, float(values.sum()))
    assert pairs.values == pytest.approx([5.0, 5.0], rel=1e-6)


def test_products_are_counted_and_few():
    K, made = MATRICES["middle"], []

    def product(v):
        made.append(v)
        return K @ v

    pairs = leading_pairs(product, 300, 16, 300.0)
    assert pairs.products == len(made) <= 200
