"""UFO-MKL: its problem is that of other solvers, its gap that of all."""

from dataclasses import replace

import numpy as np
import pytest
from reference.toys import toy_grams

from multikernel.certificates import duality_gap
from multikernel.estimators import MKLClassifier
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram import DenseStack, lazy_stack
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid
from multikernel.losses import (
    CrammerSingerLoss,
    HingeLoss,
    SoftmaxLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Problem, Status
from multikernel.regularizers import (
    BlockElasticNet,
    BlockL1,
    SparseBlockNorm,
    SquaredBlockNorm,
)
from multikernel.solvers import UFOMKL, Alternating, SpicyMKL, ufo_exponent
from multikernel.testing import check_solution, check_solver

GRAMS = toy_grams(n_samples=27, n_kernels=5)
PENALTIES = {
    "lp": SquaredBlockNorm(1.0, 1.5),
    "elastic": BlockElasticNet(2.0, 0.6),
    "its own": SparseBlockNorm(2.0, 0.6, ufo_exponent(5)),
}


def the_problem(penalty, n_classes=3, weights=None, grams=GRAMS):
    X = np.random.default_rng(0).normal(size=(27, 4))
    places = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.0)
    y = np.eye(3)[places] if n_classes == 3 else np.where(places > 0, 1.0, -1.0)
    loss = CrammerSingerLoss() if n_classes == 3 else HingeLoss()
    stack = DenseStack(grams)
    return Problem(stack, y, weighted(loss, weights), penalty, fit_intercept=False)


def certified(problem):
    """Return the optimum by a solver that goes to the end."""
    lp = isinstance(problem.regularizer, SquaredBlockNorm)
    solver = Alternating(1e-6) if lp else SpicyMKL(1e-6)
    return solver.solve(problem).objective


def test_conformance():
    own = [the_problem(p, c) for p in PENALTIES.values() for c in (2, 3)]
    check_solver(UFOMKL(tol=1e-2), own)


@pytest.mark.parametrize("penalty", ["lp", "elastic"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("with_weights", [False, True])
def test_objectives_go_to_those_of_certified_solvers(penalty, n_classes, with_weights):
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 27) if with_weights else None
    problem = the_problem(PENALTIES[penalty], n_classes, weights)
    best, last = certified(problem), np.inf
    for tol in (1e-1, 1e-2, 1e-3):
        found = UFOMKL(tol, max_iter=5000).solve(problem)
        assert found.status is Status.CONVERGED
        excess = found.objective / best - 1.0
        assert -1e-6 <= excess <= min(last, duality_gap(problem, found) + 1e-6)
        last = excess
    assert last <= 1e-3


def test_gaps_fall_with_the_epochs_on_average():
    problem = the_problem(PENALTIES["its own"])
    seeds = range(20)
    found = [UFOMKL(1e-9, 40, seed).solve(problem) for seed in seeds]
    # What every epoch's own point is worth, not the best one so far.
    gaps = [[UFOMKL(1e-9, 1, s).solve(problem).duality_gap for s in seeds]]
    gaps += [
        [solution.history[epoch].duality_gap for solution in found]
        for epoch in (5, 10, 20, 40)
    ]
    means = np.mean(gaps, axis=1)
    assert np.all(means[1:] < 0.7 * means[:-1])
    assert means[-1] < 0.1 * means[0]


def test_certificates_are_never_below_the_true_gap():
    problem = the_problem(PENALTIES["lp"])
    best = certified(problem)
    history = UFOMKL(1e-3, 100).solve(problem).history
    assert len(history) > 20
    for line in history:
        true = (line.objective - best) / line.objective
        assert line.duality_gap >= true - 1e-6


def test_the_same_seed_gives_the_same_model_and_another_one_another():
    problem = the_problem(PENALTIES["its own"])
    one, again, other = (UFOMKL(1e-9, 5, seed).solve(problem) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.coefs, again.coefs)
    np.testing.assert_array_equal(one.dual, again.dual)
    assert not np.array_equal(one.dual, other.dual)


def test_columns_may_be_read_again_in_every_epoch():
    problem = the_problem(PENALTIES["its own"])
    held = UFOMKL(1e-9, 4).solve(problem)
    few = UFOMKL(1e-9, 4, cache_bytes=8 * 5 * 27 * 4).solve(problem)
    one = UFOMKL(1e-9, 4, cache_bytes=0).solve(problem)
    np.testing.assert_allclose(few.dual, held.dual, atol=1e-12)
    np.testing.assert_allclose(one.dual, held.dual, atol=1e-12)
    assert held.history[-1].passes < one.history[-1].passes


def test_of_lazy_storage():
    X = np.random.default_rng(0).normal(size=(27, 4))
    kernels = ParameterGrid([GaussianKernel(1.0), LinearKernel()], [0, 1])
    lazy = lazy_stack(kernels, X)
    dense = DenseStack(np.stack([kernels[m](X) for m in range(len(kernels))]))
    problem = replace(the_problem(PENALTIES["lp"]), gram=dense)
    found = UFOMKL(1e-2).solve(replace(problem, gram=lazy))
    check_solution(problem, found, 1e-2)
    np.testing.assert_allclose(found.dual, UFOMKL(1e-2).solve(problem).dual)


def test_a_warm_start_goes_on():
    problem = the_problem(PENALTIES["its own"])
    begun = UFOMKL(1e-9, 50).solve(problem)
    more = UFOMKL(1e-9, 50).solve(problem, begun)
    cold = UFOMKL(1e-9, 50).solve(problem)
    assert more.duality_gap < 0.8 * cold.duality_gap


def test_it_is_the_closed_form_of_dual_averaging():
    """A literal epoch with explicit features, the update as the paper has it."""
    rng = np.random.default_rng(5)
    penalty = SparseBlockNorm(12.0, 0.6, ufo_exponent(6))
    labels, n = the_problem(penalty).y.argmax(axis=1), 27
    features = rng.standard_normal((6, n, 3))
    features[:3] += np.eye(3)[labels]
    grams = features @ features.transpose(0, 2, 1)
    found = UFOMKL(1e-9, 1).solve(the_problem(penalty, grams=grams))

    q = 2.0 * np.log(6)
    strength, threshold = 0.4 * 12.0 / n, 0.6 * 12.0 / n  # beside the mean loss
    theta, dual = np.zeros((6, 3, 3)), np.zeros((n, 3))

    def model(t):
        sizes = np.sqrt((theta**2).sum(axis=(1, 2)))
        v = np.maximum(sizes - threshold * t, 0.0)
        norm = max((v**q).sum() ** (1.0 / q), 1e-9)  # of zeros
        lengths = v ** (q - 1.0) / (strength * max(t, 1) * norm ** (q - 2.0))
        return theta * (lengths / np.maximum(sizes, 1e-300))[:, None, None]

    for t, i in enumerate(np.random.default_rng(0).permutation(n)):
        scores = np.einsum("md,mdc->c", features[:, i], model(t))
        own = labels[i]
        other = np.argmax(scores + (np.arange(3) != own))
        change = np.eye(3)[own] - np.eye(3)[other]
        theta += features[:, i, :, None] * change
        dual[i] += change
    scale = (found.dual * dual).sum() / (dual**2).sum()  # the best for the gap
    np.testing.assert_allclose(found.dual, scale * dual, atol=1e-9)
    assert 0 < found.active.size < 6
    norms = np.sqrt((model(n) ** 2).sum(axis=(1, 2)))
    np.testing.assert_allclose(found.norms, norms, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_through_the_estimator(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.array(["a", "b", "c"])[
        (X[:, 0] > 0.3).astype(int) + (n_classes - 2) * (X[:, 1] > 0.0)
    ]
    loss = "hinge" if n_classes == 2 else CrammerSingerLoss()
    settings = {"regularizer": SparseBlockNorm(0.05, 0.3), "fit_intercept": False}
    model = MKLClassifier(solver=UFOMKL(1e-2, 2000), loss=loss, **settings).fit(X, y)
    assert np.size(model.duality_gap_) == 1
    assert model.duality_gap_ <= 1e-2
    assert model.kernel_weights_.ndim == 1  # one selection for all classes
    assert model.decision_function(X).shape == ((60,) if n_classes == 2 else (60, 3))


def test_what_it_is_not_for():
    def reason(problem):
        with pytest.raises(UnsupportedProblemError) as caught:
            UFOMKL().solve(problem)
        return str(caught.value)

    usual = the_problem(PENALTIES["lp"])
    assert "has no intercept" in reason(replace(usual, fit_intercept=True))
    assert "got BlockL1" in reason(replace(usual, regularizer=BlockL1(1.0)))
    sparse = SparseBlockNorm(1.0, 0.5, p=1.0)
    assert "p > 1, got p = 1" in reason(replace(usual, regularizer=sparse))
    assert "got SoftmaxLoss" in reason(replace(usual, loss=SoftmaxLoss()))
    assert "got HingeLoss" in reason(replace(usual, loss=HingeLoss()))
    one = the_problem(PENALTIES["lp"], n_classes=2)
    assert "got SquaredLoss" in reason(replace(one, loss=SquaredLoss()))


def test_the_exponent_of_the_paper():
    for n_kernels in (3, 60, 1000):
        p, size = ufo_exponent(n_kernels), 2.0 * np.log(n_kernels)
        assert 2.0 * p / (p + 1.0) == pytest.approx(size / (size - 1.0))
    assert ufo_exponent(2) == ufo_exponent(1) == np.inf
