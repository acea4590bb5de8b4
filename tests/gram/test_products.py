"""Free functions on stacks and Gram checks."""

import tracemalloc

import numpy as np
import pytest
from gram.stacks import STACKS

from multikernel.gram import (
    DenseStack,
    ScaledStack,
    build_stack,
    check_gram,
    lazy_stack,
    rounded,
)
from multikernel.kernels import (
    CenteredKernel,
    ColumnKernel,
    GaussianKernel,
    ListDictionary,
    random_subset_gaussians,
)
from multikernel.kernels.interactions import InteractionDictionary


@pytest.fixture(name="array")
def matrices():
    Z = np.random.default_rng(0).normal(size=(5, 8, 3))
    return Z @ Z.transpose(0, 2, 1)


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
def test_traces(make, array):
    found = make(array).traces()
    np.testing.assert_allclose(found, np.einsum("mii->m", array), rtol=1e-5)


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
def test_forms_of_some_kernels(make, array):
    v = np.linspace(-1.0, 2.0, 8)
    chosen = np.array([3, 0])
    forms = make(array).once(chosen).quadratic_forms(v)
    np.testing.assert_allclose(forms, (array @ v @ v)[chosen], rtol=1e-5)


@pytest.mark.parametrize("make", STACKS, ids=lambda make: make.__name__)
def test_some_rows_of_a_combination(make, array):
    weights, rows = np.array([0.0, 2.0, 0.0, 0.5, 1.0]), np.array([7, 0, 3])
    expected = np.tensordot(weights, array, axes=1)[rows]
    found = make(array).combined_rows(weights, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_forms_of_some_gaussians(array):
    dictionary = random_subset_gaussians(50, 4, random_state=0)
    stack = lazy_stack(dictionary, np.random.default_rng(0).normal(size=(8, 4)))
    v, chosen = np.linspace(-1.0, 2.0, 8), np.array([40, 3, 17])
    forms = stack.once(chosen).quadratic_forms(v)
    np.testing.assert_allclose(forms, stack.quadratic_forms(v)[chosen])


def test_traces_of_many_scaled_kernels_need_no_diagonals():
    lazy = lazy_stack(random_subset_gaussians(5000, 3, 0), np.zeros((400, 3)))
    stack = ScaledStack(lazy, np.full(5000, 2.0))
    tracemalloc.start()
    np.testing.assert_array_equal(stack.traces(), 800.0)
    assert tracemalloc.get_traced_memory()[1] < 8 * 400 * 5000 / 4
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), "must be square"),
        (
            np.array([[1.0, np.nan], [0.0, 1.0]]),
            "not finite, the first nan at \\[0, 1\\]",
        ),
        (
            np.array([[1.0, 0.5], [0.4, 1.0]]),
            "at \\[0, 1\\] and \\[1, 0\\] are 0.5 and",
        ),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "smallest eigenvalue is -1"),
    ],
)
def test_check_gram(K, message):
    with pytest.raises(ValueError, match=f"The alignment kernel.*{message}"):
        check_gram(K, "The alignment kernel")


def test_check_gram_passes_rounding(array):
    noise = 1e-12 * np.random.default_rng(0).normal(size=array[0].shape)
    check_gram(array[0] + noise)
    check_gram(np.zeros((3, 3)))


@pytest.mark.parametrize("scales", [[1.0], [1.0, -1.0], [np.nan, 1.0]])
def test_wrong_scales(array, scales):
    with pytest.raises(ValueError, match="scale"):
        ScaledStack(DenseStack(array[:2]), np.array(scales))


def test_rounding_of_a_short_list_reads_only_its_own_main_kernels(monkeypatch):
    X = np.random.default_rng(0).integers(0, 3, (30, 8)).astype(float)
    columns = [X[:, [j]] for j in range(8)]
    kernels = [CenteredKernel(GaussianKernel(1.0), column) for column in columns]
    mains = [ColumnKernel(kernel, (j,)) for j, kernel in enumerate(kernels)]
    terms = np.array([[0, -1], [1, 2]])
    short = InteractionDictionary(ListDictionary(mains), terms)
    read = []
    monkeypatch.setattr(
        rounded, "rounding_ratio", lambda kernel, *_: read.append(kernel) or 1.0
    )
    built = build_stack(short, X, normalize=None)
    rounded.with_rounding_ratios(built.stack, short, X, built.normalization)
    assert read == mains[:3]
