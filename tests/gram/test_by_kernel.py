"""Kernels of high rank whole, and others as factors."""

import numpy as np
import pytest

from multikernel import estimate_cost
from multikernel.estimators import (
    GroupOMPRegressor,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
)
from multikernel.gram import (
    ByKernelStack,
    DenseStack,
    LowRankStack,
    Refinement,
    TailNormalizer,
    build_part,
    build_stack,
)
from multikernel.gram.refine import refined
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
)
from multikernel.persistence import load, save

N = 160


def mixed_dictionary():
    columns = [ColumnKernel(GaussianKernel(1.5), m) for m in range(3)]
    return ListDictionary([columns[0], GaussianKernel(1.2), *columns[1:]])


def problem(seed=0):
    X = np.random.default_rng(seed).normal(size=(N, 6))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.3 * X[:, 3] * X[:, 4] > 1.0


def fitted(estimator, storage, **parameters):
    X, y = problem()
    if estimator is GroupOMPRegressor:
        y = y.astype(float)
    model = estimator(
        kernels=mixed_dictionary(), tol=1e-6, storage=storage, **parameters
    )
    return model.fit(X, y)


def test_kernels_without_a_tail_are_named_by_every_storage():
    X, _ = problem()
    # One column has the rank one; the other kernel has the rank N.
    kernels = [ColumnKernel(LinearKernel(), 0), GaussianKernel(1.2)]
    for storage in ("by_kernel", "dense"):
        built = build_stack(
            ListDictionary(kernels), X, normalize=TailNormalizer(1), storage=storage
        )
        assert isinstance(built.stack, ByKernelStack) == (storage == "by_kernel")
        assert built.normalization.steps[0].short.tolist() == [True, False]


def test_kernels_are_parted_by_rank():
    X, _ = problem()
    built = build_stack(
        mixed_dictionary(), X, normalize="variance", storage="by_kernel"
    )
    np.testing.assert_array_equal(built.stack.is_dense, [False, True, False, False])
    dense = build_stack(mixed_dictionary(), X, normalize="variance", storage="dense")
    v = np.random.default_rng(1).normal(size=N)
    forms, whole = built.stack.quadratic_forms(v), dense.stack.quadratic_forms(v)
    bounds = built.stack.residual_bounds(v)
    assert bounds[1] == 0.0
    assert np.all(forms <= whole * (1.0 + 1e-9))
    assert np.all(forms + bounds >= whole * (1.0 - 1e-9))
    np.testing.assert_allclose(
        built.normalization.steps[0].factors,
        dense.normalization.steps[0].factors,
        rtol=1e-4,
    )
    np.testing.assert_allclose(
        built.stack.full_forms(np.arange(4), v), whole, rtol=1e-4
    )


def test_auto_parts_kernels_where_ranks_differ():
    X = np.random.default_rng(0).normal(size=(4000, 6))

    def chosen(**settings):
        return estimate_cost(SpicyMKLClassifier(mixed_dictionary(), **settings), X)

    choice = chosen()
    assert choice.storage == "by_kernel"
    assert "1 of its kernels have a high rank" in choice.reason
    # A fit takes three matrices beside the kernels.
    assert 3.9 < choice.n_bytes / (8 * 4000**2) < 4.2
    # Centered kernels, and a limit below one matrix, have another storage.
    assert chosen(normalize="center").storage != "by_kernel"
    assert chosen(max_bytes=5 * 10**7).storage != "by_kernel"


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (SpicyMKLClassifier, {"alpha": 0.02}),
        (SpicyMKLClassifier, {"alpha": 0.02, "loss": "hinge"}),
        (LpMKLClassifier, {"p": 1.5}),
        (GroupOMPRegressor, {"max_kernels": 3}),
    ],
)
def test_models_are_those_of_whole_matrices(estimator, parameters):
    X, _ = problem()
    new = np.random.default_rng(5).normal(size=(20, 6))
    models = [fitted(estimator, each, **parameters) for each in ("by_kernel", "dense")]
    assert models[0].fit_info_["storage"] == "by_kernel"
    np.testing.assert_array_equal(models[0].active_kernels_, models[1].active_kernels_)
    predict = "predict" if estimator is GroupOMPRegressor else "decision_function"
    for samples in (X, new):
        values = [getattr(model, predict)(samples) for model in models]
        np.testing.assert_allclose(*values, rtol=1e-2, atol=2e-3)
    if estimator is not GroupOMPRegressor:
        assert models[0].duality_gap_ <= 1e-6


def test_a_machine_keeps_its_support_samples_only(tmp_path):
    model = fitted(SpicyMKLClassifier, "by_kernel", alpha=0.02, loss="hinge")
    grams = model._state.model.grams
    whole = model.active_kernels_.tolist().index(1)
    assert grams.ranks[whole] <= np.count_nonzero(model.dual_coef_) + 1 < N
    X, _ = problem(seed=3)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )


def test_searches_cut_both_parts():
    X, y = problem()
    scores = []
    for storage in ("by_kernel", "dense"):
        search = SpicyMKLClassifierCV(
            kernels=mixed_dictionary(), alphas=[0.1, 0.02], cv=2, storage=storage
        )
        scores.append(search.fit(X, y).cv_results_["mean_test_score"])
    np.testing.assert_allclose(*scores, atol=0.02)


def test_a_part_is_what_is_built_of_its_samples():
    X, _ = problem()
    whole = build_stack(mixed_dictionary(), X, storage="by_kernel").stack
    samples = np.arange(0, N, 2)
    part = build_part(whole, samples, normalize="trace")
    own = build_stack(mixed_dictionary(), X[samples], normalize="trace")
    v = np.random.default_rng(1).normal(size=samples.size)
    np.testing.assert_allclose(
        part.stack.quadratic_forms(v), own.stack.quadratic_forms(v), rtol=1e-4
    )


def test_refinement_is_that_of_the_factors():
    X, _ = problem()
    stack = build_stack(mixed_dictionary(), X, storage="by_kernel").stack
    v = np.random.default_rng(2).normal(size=N)
    assert refined(stack, Refinement(v, {1: 0.0})) is None
    finer = refined(stack, Refinement(v, {3: 0.0, 1: 0.0}))
    assert finer.factored.ranks[2] > stack.factored.ranks[2]
    np.testing.assert_array_equal(finer.factored.ranks[:2], stack.factored.ranks[:2])
    assert finer.residual_bounds(v)[3] < stack.residual_bounds(v)[3]
    assert finer.landmarks.kernels[3].chosen.size == finer.factored.ranks[2]


def test_kernels_of_one_sort_have_one_storage():
    X, _ = problem()
    thin = ListDictionary([mixed_dictionary()[m] for m in (0, 2)])
    high = ListDictionary([GaussianKernel(0.4), GaussianKernel(0.3)])
    assert isinstance(build_stack(thin, X, storage="by_kernel").stack, LowRankStack)
    assert isinstance(build_stack(high, X, storage="by_kernel").stack, DenseStack)


def test_what_does_more_than_scale_is_refused():
    X, _ = problem()
    with pytest.raises(ValueError, match="does not support normalize='center', which"):
        build_stack(mixed_dictionary(), X, normalize="center", storage="by_kernel")
    # The message omits the factors that penalty weights add to the steps.
    model = SpicyMKLClassifier(
        [GaussianKernel(1.0), GaussianKernel(2.0)],
        penalty_weights=[1.0, 2.0],
        normalize="center",
        storage="by_kernel",
    )
    with pytest.raises(ValueError, match="does not support normalize='center', which"):
        model.fit(X, X[:, 0] > 0.0)


def test_parts_must_fit_together():
    line = LowRankStack(np.ones((2, 1)), np.array([0, 1]))
    with pytest.raises(ValueError, match="marks 2 kernels as dense and 0 as factored"):
        ByKernelStack(DenseStack(np.eye(2)[None]), line, np.array([True, True]))
