"""Parts of a stack: what a fit on these samples alone would see, without a copy."""

import tracemalloc

import numpy as np
import pytest

from multikernel.exceptions import StackTooLargeError
from multikernel.gram import DenseStack, PartStack, build_part, build_stack
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)
from multikernel.testing import check_gram_stack

DICTIONARY = ListDictionary(
    [GaussianKernel(1.5), LinearKernel(), ColumnKernel(PolynomialKernel(2), 0)]
)
SCALINGS = [None, "trace", "variance", ("variance", "trace")]
SAMPLES = np.array([0, 1, 4, 5, 6, 9, 12])


@pytest.fixture(name="X")
def samples():
    X = np.random.default_rng(2).normal(size=(14, 3)) + 0.5
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("storage", ["dense", "dense32"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "normalize", [*SCALINGS, "center", "cosine", ("center", "cosine")]
)
def test_a_part_is_what_its_samples_alone_give(normalize, weighted, storage, X):
    weights = np.linspace(1.0, 2.0, SAMPLES.size) if weighted else None
    options = {"normalize": normalize, "sample_weight": weights}
    whole = build_stack(DICTIONARY, X, storage=storage).stack
    part = build_part(whole, SAMPLES, **options)
    alone = build_stack(DICTIONARY, X[SAMPLES], storage=storage, **options)
    tol = 1e-9 if storage == "dense" else 1e-4
    expected = alone.stack.columns(np.arange(SAMPLES.size))
    check_gram_stack(part.stack, expected, tol)


def test_what_is_not_in_memory_must_be_computed_anew(X):
    whole = build_stack(DICTIONARY, X, storage="lazy").stack
    assert build_part(whole, SAMPLES, normalize="trace") is None


def test_scaled_parts_take_no_memory_of_their_own():
    whole = DenseStack(np.ones((100, 200, 200)))
    chosen = np.arange(0, 200, 2)

    def use():
        limit = whole.array.nbytes
        built = build_part(whole, chosen, normalize="variance", max_bytes=limit)
        part = built.stack
        part.quadratic_forms(np.ones(100))
        part.take(np.array([0, 7, 3])).matvec(np.ones(100))
        part.combine(np.ones(100))

    use()  # compiled, or loaded
    tracemalloc.start()
    use()
    assert tracemalloc.get_traced_memory()[1] < whole.array.nbytes / 20
    tracemalloc.stop()


@pytest.mark.parametrize("normalize", ["center", "cosine"])
def test_copies_count_towards_the_limit(normalize):
    whole = DenseStack(np.ones((4, 10, 10)))
    chosen, options = np.arange(5), {"normalize": normalize}
    one, limit = 8 * 4 * 25, whole.array.nbytes + 2 * 8 * 4 * 25
    assert build_part(whole, chosen, max_bytes=limit, n_copies=2, **options)
    with pytest.raises(StackTooLargeError, match=r"800 bytes per .*: 3\..*fewer jobs"):
        build_part(whole, chosen, max_bytes=limit, n_copies=3, **options)
    with pytest.raises(StackTooLargeError, match=r": 1\. Copies and the whole stack"):
        build_part(whole, chosen, max_bytes=whole.array.nbytes + one - 1, **options)


def test_samples_must_ascend():
    whole = DenseStack(np.ones((1, 3, 3)))
    for wrong, found in ([1, 0], "1 before 0"), ([0, 2, 2], "2 before 2"):
        with pytest.raises(ValueError, match=f"must ascend.*got {found}"):
            PartStack(whole, np.array(wrong))


def test_parts_of_parts_are_views():
    array = np.random.default_rng(0).normal(size=(6, 9, 9))
    array = array @ array.transpose(0, 2, 1)
    part = PartStack(DenseStack(array), np.array([0, 2, 3, 7, 8]))
    inner = part.take(np.array([5, 1, 4])).restrict(np.arange(3))
    assert isinstance(inner, PartStack)
    assert inner.parent.array is array
    check_gram_stack(inner, array[[5, 1, 4]][:, [0, 2, 3]][:, :, [0, 2, 3]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scaled_parts_are_views(dtype):
    array = np.random.default_rng(0).normal(size=(3, 9, 9))
    array = (array @ array.transpose(0, 2, 1)).astype(dtype)
    whole, rows = DenseStack(array), np.array([0, 2, 3, 7])
    part = build_part(whole, rows).stack
    assert isinstance(part, PartStack)
    assert part.parent is whole
    some = array[:, rows][:, :, rows].astype(np.float64)
    check_gram_stack(part, some)
    vectors = np.random.default_rng(1).normal(size=(4, 6))
    np.testing.assert_allclose(part.matvec(vectors), some @ vectors)
    scaled = build_part(whole, rows, normalize="trace").stack
    np.testing.assert_allclose(scaled.traces(), 4.0)
