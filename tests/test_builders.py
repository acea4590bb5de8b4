"""Public functions below the estimators refuse nonsense in a sentence."""

from functools import partial

import numpy as np
import pytest
from attack.inputs import INTERNAL

from multikernel.diagnostics import rademacher_bound, recovery_coefficient
from multikernel.estimators import (
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    regularization_path,
    stack_grams,
)
from multikernel.gram import (
    DenseStack,
    ScaledStack,
    build_stack,
    tail_sums,
)
from multikernel.inspection import (
    bootstrap,
    group_permutation_importance,
    stability_selection,
)
from multikernel.kernels import (
    LinearKernel,
    ListDictionary,
    kernel_names,
    median_dictionary,
    median_distance,
    per_column,
    spicy_dictionary,
)

X = np.random.default_rng(0).standard_normal((8, 2))
DICTIONARY = ListDictionary([LinearKernel()])
GRAM = DenseStack((X @ X.T)[None])
BOUND = {"squared_norm": 1.0, "largest_diagonal": 1.0, "target_bound": 1.0}
MODELS = [
    kind([LinearKernel()], 0.01).fit(X, y)
    for kind, y in ((SpicyMKLRegressor, X[:, 0]), (SpicyMKLClassifier, X[:, 0] > 0.0))
]
FIT = {"estimator": MODELS[0], "X": X, "y": X[:, 0]}
LABELS = {"estimator": MODELS[1], "X": X, "y": X[:, 0] > 0.0}

CALLS = (
    (build_stack, {"dictionary": DICTIONARY, "X": X}, ("sample_weight", "max_bytes")),
    (build_stack, {"dictionary": DICTIONARY, "X": X}, ("normalize", "storage")),
    (DenseStack, {"array": np.ones((1, 2, 2))}, ()),
    (median_dictionary, {"X": X}, ("multiples", "column_multiples", "max_kernels")),
    (median_distance, {"X": X}, ("sample_weight",)),
    (recovery_coefficient, {"gram": GRAM, "good": [0], "alpha": 1.0}, ()),
    (rademacher_bound, {"n_samples": 9, "n_kernels": 2, **BOUND}, ("delta",)),
    (regularization_path, FIT | {"n_alphas": 2}, ("alpha_min_ratio",)),
    (regularization_path, LABELS | {"n_alphas": 2}, ("callback",)),
    (kernel_names, {"dictionary": DICTIONARY}, ()),
    (ScaledStack, {"stack": GRAM, "scales": np.ones(1)}, ()),
    (tail_sums, {"stack": GRAM, "theta": 2}, ("weights", "tol")),
    (bootstrap, FIT | {"n_resamples": 2}, ("sample_weight", "n_jobs")),
    (bootstrap, LABELS | {"n_resamples": 2}, ()),
    (stability_selection, FIT | {"n_resamples": 2}, ("threshold",)),
    (stability_selection, LABELS | {"n_resamples": 2}, ("sample_weight",)),
    (group_permutation_importance, FIT, ("groups", "sample_weight", "n_repeats")),
    (group_permutation_importance, LABELS, ()),
)
NONSENSE = (
    "text",
    {},
    object(),
    [[1, 2], [3]],
    np.array("a"),
    np.zeros((2, 2), complex),
    np.full((8, 2), "a"),
    [[1.0]] * 7 + [[1.0, 2.0]],
)


@pytest.mark.parametrize(("function", "right", "more"), CALLS)
def test_nonsense_gets_a_sentence(function, right, more):
    function(**right)
    for name in (*right, *more):
        for value in NONSENSE:
            with pytest.raises((ValueError, TypeError)) as raised:
                function(**right | {name: value})
            text = str(raised.value)
            assert len(text.split()) > 3
            assert "\n" not in text
            assert not INTERNAL.search(text), name


@pytest.mark.parametrize("features", [None, 2.5, "age", b"age", {}, [], object()])
def test_columns_are_a_number_or_names(features):
    for build in (spicy_dictionary, partial(per_column, LinearKernel())):
        with pytest.raises(ValueError, match="must be a number of columns, or a seq"):
            build(features)


@pytest.mark.parametrize("indices", [3, "0", [None], [0.0], [1], [[0]], object()])
def test_kernels_are_named_by_their_numbers(indices):
    assert kernel_names(DICTIONARY, iter([0, -1])) == ["linear()"] * 2
    with pytest.raises((TypeError, IndexError), match="integers from -1 to 0, got"):
        kernel_names(DICTIONARY, indices)


@pytest.mark.parametrize("grams", [None, 3, object()])
def test_matrices_are_a_sequence(grams):
    with pytest.raises(ValueError, match="a sequence or mapping of matrices, got"):
        stack_grams(grams)


def test_samples_of_no_weight_count_for_nothing():
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 0.0, 3.0, 1.0])
    kept = weights > 0.0
    assert median_distance(X, weights) == median_distance(X[kept], weights[kept])
