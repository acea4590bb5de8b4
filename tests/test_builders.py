"""Public functions below the estimators refuse nonsense in a sentence."""

from functools import partial

import numpy as np
import pytest
from attack.inputs import INTERNAL

from multikernel.diagnostics import rademacher_bound, recovery_coefficient
from multikernel.estimators import regularization_path, stack_grams
from multikernel.gram import DenseStack, build_low_rank, build_stack
from multikernel.kernels import (
    LinearKernel,
    ListDictionary,
    median_dictionary,
    median_distance,
    per_column,
    spicy_dictionary,
)

X = np.random.default_rng(0).standard_normal((8, 2))
DICTIONARY = ListDictionary([LinearKernel()])
GRAM = DenseStack((X @ X.T)[None])
BOUND = {"squared_norm": 1.0, "largest_diagonal": 1.0, "target_bound": 1.0}

CALLS = (
    (build_stack, {"dictionary": DICTIONARY, "X": X}, ("sample_weight", "max_bytes")),
    (build_stack, {"dictionary": DICTIONARY, "X": X}, ("normalize", "storage")),
    (build_low_rank, {"dictionary": DICTIONARY, "X": X}, ("options", "sample_weight")),
    (DenseStack, {"array": np.ones((1, 2, 2))}, ()),
    (median_dictionary, {"X": X}, ("multiples", "column_multiples", "max_kernels")),
    (median_distance, {"X": X}, ("sample_weight",)),
    (recovery_coefficient, {"gram": GRAM, "good": [0], "alpha": 1.0}, ()),
    (rademacher_bound, {"n_samples": 9, "n_kernels": 2, **BOUND}, ("delta",)),
    (regularization_path, {"estimator": LinearKernel(), "X": X, "y": X[:, 0]}, ()),
)
NONSENSE = (
    "text",
    {},
    object(),
    [[1, 2], [3]],
    np.array("a"),
    np.zeros((2, 2), complex),
)


@pytest.mark.parametrize(("function", "right", "more"), CALLS)
def test_nonsense_gets_a_sentence(function, right, more):
    if function is not regularization_path:
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


@pytest.mark.parametrize("grams", [None, 3, object()])
def test_matrices_are_a_sequence(grams):
    with pytest.raises(ValueError, match="a sequence of matrices and paths, got"):
        stack_grams(grams)


def test_samples_of_no_weight_count_for_nothing():
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 0.0, 3.0, 1.0])
    kept = weights > 0.0
    assert median_distance(X, weights) == median_distance(X[kept], weights[kept])
