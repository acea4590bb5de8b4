"""Interactions: which there are, what they are called, and that they are pure."""

import numpy as np
import pytest
from reference.interactions import interactions_of

from multikernel.kernels import (
    CenteredKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    ListDictionary,
    ProductKernel,
    kernel_names,
    per_column,
    resolve_columns,
)
from multikernel.kernels.terms import EveryPair

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))


def made(spec=None, X=X, kernels=None, weights=None, names=None):
    given = per_column(GaussianKernel(1.0), X.shape[1]) if kernels is None else kernels
    return interactions_of(given, X, weights, spec, names)


def pairs_of(dictionary):
    return {tuple(term) for term in dictionary.terms.tolist() if term[1] >= 0}


def test_every_two_columns_have_one():
    dictionary = made()
    assert len(dictionary) == 5 + 10
    assert kernel_names(dictionary, [0, 5, 14]) == [
        "gaussian(sigma=1)[x0]",
        "x0 × x1",
        "x3 × x4",
    ]
    assert dictionary[5].name == "x0 × x1"


def test_kernels_keep_the_names_of_their_dictionary():
    kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in (0, 1)]
    named = ListDictionary(kernels, ["dose", "age"])
    assert kernel_names(made(kernels=named)) == ["dose", "age", "x0 × x1"]


@pytest.mark.parametrize("weighted", [False, True])
def test_an_interaction_has_mean_zero_over_either_part(weighted):
    weights = RNG.random(40) if weighted else None
    kernel = made(weights=weights)[5]
    # Every value of one column with every value of the other.
    grid = np.zeros((1600, 5))
    grid[:, :2] = np.stack(np.meshgrid(X[:, 0], X[:, 1], indexing="ij"), 2).reshape(
        -1, 2
    )
    K = kernel(grid, X[:7]).reshape(40, 40, 7)
    assert np.abs(K).max() > 0.1
    for axis in (0, 1):
        means = np.average(K, axis=axis, weights=weights)
        np.testing.assert_allclose(means, 0.0, atol=1e-13)


def test_a_centered_kernel_is_that_of_the_joint_gram_matrix():
    weights = RNG.random(40)
    kernel = CenteredKernel(LinearKernel()).learnt(X, weights)
    moved = X - np.average(X, axis=0, weights=weights)
    new = RNG.normal(size=(6, 5))
    shifted = new - np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(kernel(X), moved @ moved.T, atol=1e-12)
    np.testing.assert_allclose(kernel(new, X), shifted @ moved.T, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(new), (shifted**2).sum(1), atol=1e-12)


def test_linear_kernels_far_from_zero_keep_their_digits():
    """Seconds since 1970 within an hour, say."""
    kernel = CenteredKernel(LinearKernel())
    far, near = X[:, :1] + 2.0**24, X[:, :1] + 2.0**24 - 2.0**24
    learnt, same = kernel.learnt(far), kernel.learnt(near)
    np.testing.assert_allclose(learnt(far), same(near), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(learnt.diag(far), same.diag(near), atol=1e-7)
    np.testing.assert_allclose(learnt(far[:3], far), same(near[:3], near), atol=1e-7)


def test_constant_columns_and_copies_have_none():
    table = np.column_stack([X[:, :3], np.full(40, 2.0), 5.0 - 3.0 * X[:, 1]])
    assert pairs_of(made(X=table)) == {(0, 1), (0, 2), (1, 2)}


def test_a_column_of_two_values_has_them_once_whatever_its_widths():
    table = np.column_stack([X[:, 0], RNG.integers(0, 2, (40, 2))])
    widths = [GaussianKernel(0.5), GaussianKernel(2.0)]
    kernels = ListDictionary([ColumnKernel(k, c) for c in range(3) for k in widths])
    assert pairs_of(made(X=table, kernels=kernels)) == {
        (0, 2),
        (0, 4),
        (1, 2),
        (1, 4),
        (2, 4),
    }


def test_kernels_on_common_columns_have_none():
    sets = ([0], [0, 1], [2, 3], slice(0, 5), slice(1, 3))
    kernels = ListDictionary([ColumnKernel(GaussianKernel(1.0), s) for s in sets])
    assert pairs_of(made(Interactions(kernels), kernels=kernels)) == {
        (0, 2),
        (0, 4),
        (1, 2),
    }


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (["b", "d", "e"], {(1, 3), (1, 4), (3, 4)}),
        ([[0], ["b", "c"]], None),
        ((["a"], ["b", "c"]), {(0, 1), (0, 2)}),
        ([4, 0], {(0, 4)}),
        ((slice(0, 2), slice(2, 4)), {(0, 2), (0, 3), (1, 2), (1, 3)}),
    ],
)
def test_pairs_are_limited_by_columns(between, expected):
    names = tuple("abcde")
    spec = Interactions(between=between)
    expected = {(0, 1), (0, 2)} if expected is None else expected
    assert pairs_of(made(spec, names=names)) == expected


def test_without_mains_and_without_anything():
    assert len(made(Interactions(mains=False))) == 10
    constant = np.column_stack([X[:, 0], np.ones(40)])
    with pytest.raises(ValueError, match="no two kernels are on different columns"):
        made(Interactions(mains=False), X=constant)
    with pytest.raises(ValueError, match="between must be a sequence"):
        Interactions(between="age")
    with pytest.raises(ValueError, match="requires at least two kernels"):
        ProductKernel([LinearKernel()])


@pytest.mark.parametrize(
    ("kernels", "sentence"),
    [
        ("precomputed", "Gram matrices have no columns"),
        (Interactions(), "kernels must not be another Interactions"),
    ],
)
def test_what_has_no_interactions_is_refused(kernels, sentence):
    with pytest.raises(ValueError, match=sentence):
        Interactions(kernels)


@pytest.mark.parametrize("between", [["age"], [7], [0.5], [[0], [1], [2]], []])
def test_wrong_columns_are_said_to_be_those_of_between(between):
    with pytest.raises(ValueError, match="Interactions, between: "):
        made(Interactions(between=between))


def test_columns_within_centered_kernels_are_those_of_the_data():
    X = np.random.default_rng(0).normal(size=(9, 3))
    inner = CenteredKernel(ColumnKernel(GaussianKernel(1.0), "b"))
    (by_name,) = resolve_columns([inner], 3, ("a", "b", "c"))
    assert by_name.kernel.columns == (1,)
    beyond = CenteredKernel(ColumnKernel(GaussianKernel(1.0), 7))
    for kernel in (beyond, ProductKernel([beyond, GaussianKernel(1.0)])):
        with pytest.raises(ValueError, match="index 7, but the data has 3 columns"):
            resolve_columns([kernel], 3)[0]
    learnt = CenteredKernel(GaussianKernel(1.0)).learnt(X)
    with pytest.raises(
        ValueError, match="samples has 3 columns, but the kernel is used on 2"
    ):
        resolve_columns([learnt], 2)[0]


def test_pairs_that_are_not_held_are_all_pairs():
    alone, members = np.arange(3), np.array([1, 4, 5, 7])
    pairs = [(a, b) for i, a in enumerate(members) for b in members[i + 1 :]]
    expected = np.array([*((m, -1) for m in alone), *pairs])
    terms = EveryPair(alone, members)
    assert len(terms) == len(expected)
    np.testing.assert_array_equal(np.asarray(terms), expected)
    for key in (
        4,
        slice(2, 7),
        np.array([8, 0, 3]),
        (slice(None), 1),
        expected[:, 1] > 4,
    ):
        np.testing.assert_array_equal(terms[key], expected[key])
    assert EveryPair(alone[:0], members)[:2].tolist() == [[1, 4], [1, 5]]
