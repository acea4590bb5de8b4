"""SMO against LIBSVM, conic programming, and its own optimality conditions."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from reference.conic import reference_lp_optimum
from reference.toys import toy_grams, toy_targets
from sklearn.svm import SVC, SVR

from multikernel.exceptions import (
    ConvergenceWarning,
    IndefiniteKernelError,
    UnsupportedProblemError,
)
from multikernel.gram import DenseMatrix, GramMatrix
from multikernel.linalg.threads import compiled
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    Loss,
    weighted,
)
from multikernel.machines import SMO, MachineFit, machine_for, warm_start
from multikernel.machines.smo import machine as module
from multikernel.machines.smo.state import Outcome

Array = NDArray[np.float64]
LOSSES = (HingeLoss(), EpsilonInsensitiveLoss(0.1))
EXACT = 1e-10


@dataclass
class ColumnMatrix(GramMatrix):
    """A Gram matrix that gives nothing but columns, products and its diagonal."""

    K: Array
    asked: list[int] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        return self.K.shape

    def matvec(self, v: Array) -> Array:
        return self.K @ v

    def columns(self, indices: NDArray[np.intp]) -> Array:
        self.asked.append(len(indices))
        return self.K[:, indices]

    def diagonal(self) -> Array:
        return self.K.diagonal().copy()

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        raise NotImplementedError


def problem(loss: Loss, n: int = 150, seed: int = 0) -> tuple[Array, Array]:
    """Return a Gaussian Gram matrix, and targets of the kind that the loss needs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    squared = ((X[:, None] - X[None, :]) ** 2).sum(axis=2)
    signal = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    is_hinge = isinstance(loss, HingeLoss)
    return np.exp(-squared / 4.0), np.where(
        signal > 0.3, 1.0, -1.0
    ) if is_hinge else signal


def scaled(loss: Loss, weights: float | Array, n: int) -> Loss:
    return weighted(loss, np.broadcast_to(np.asarray(weights, float), (n,)).copy())


def optimum(loss: Loss, K: Array, y: Array, rho: Array) -> float:
    """Return the dual objective, from the loss's own conjugate."""
    return -float(loss.conjugate(y, -rho).sum()) - 0.5 * float(rho @ K @ rho)


def primal(loss: Loss, y: Array, fit: MachineFit) -> float:
    form = fit.dual @ (fit.f - fit.intercept)
    return float(loss.value(y, fit.f).sum()) + 0.5 * float(form)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0, 500.0])
@pytest.mark.parametrize("base", LOSSES)
def test_agrees_with_libsvm(base, C):
    K, y = problem(base)
    if isinstance(base, HingeLoss):
        peer = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
    else:
        peer = SVR(C=C, epsilon=0.1, kernel="precomputed", tol=1e-9).fit(K, y)
    rho = np.zeros(len(y))
    rho[peer.support_] = peer.dual_coef_[0]
    loss = scaled(base, C, len(y))
    fit = SMO(tol=1e-9).fit(DenseMatrix(K), y, loss, fit_intercept=True)
    assert fit.converged
    size = float(np.abs(rho) @ np.abs(K) @ np.abs(rho))
    theirs = optimum(loss, K, y, np.clip(rho, *(-b for b in loss.dual_bounds(y)[::-1])))
    assert fit.objective == pytest.approx(theirs, rel=1e-8)
    assert fit.objective >= theirs - 1e-13 * size
    # LIBSVM keeps the kernel in float32, which f feels in proportion to C.
    np.testing.assert_allclose(fit.f, peer_decision(peer, K), atol=1e-5 * max(C, 1.0))


def peer_decision(peer: SVC | SVR, K: Array) -> Array:
    if isinstance(peer, SVC):
        return np.asarray(peer.decision_function(K))
    return np.asarray(peer.predict(K))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", ["hinge", "epsilon_insensitive"])
def test_agrees_with_a_conic_solver(name, fit_intercept):
    grams, y = toy_grams(n_kernels=1), toy_targets(name)
    weights = np.random.default_rng(1).uniform(0.5, 4.0, len(y))
    expected = reference_lp_optimum(
        grams, y, name, 2.0, 1.0, fit_intercept=fit_intercept, sample_weight=weights
    )
    loss = weighted({"hinge": LOSSES[0], "epsilon_insensitive": LOSSES[1]}[name],
                    2.0 * weights)  # fmt: skip
    fit = SMO(tol=EXACT).fit(
        DenseMatrix(grams[0]), y, loss, fit_intercept=fit_intercept
    )
    assert fit.objective == pytest.approx(expected.objective, rel=1e-8)
    assert primal(loss, y, fit) == pytest.approx(fit.objective, rel=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("base", LOSSES)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-9])
def test_violation_is_at_most_tol(base, fit_intercept, tol):
    K, y = problem(base)
    loss = scaled(base, np.random.default_rng(3).uniform(0.1, 5.0, len(y)), len(y))
    fit = SMO(tol=tol).fit(DenseMatrix(K), y, loss, fit_intercept=fit_intercept)
    lower, upper = (-b for b in loss.dual_bounds(y)[::-1])
    assert np.all(fit.dual >= lower)
    assert np.all(fit.dual <= upper)
    if fit_intercept:
        assert abs(fit.dual.sum()) < 1e-10
    np.testing.assert_allclose(fit.f, K @ fit.dual + fit.intercept, atol=1e-11)
    # One-sided slopes of the negative dual objective, by the conjugate: it is linear
    # on either side of each point for a short way.
    short = 1e-7
    here = loss.conjugate(y, -fit.dual)
    with np.errstate(invalid="ignore"):
        up = (loss.conjugate(y, -(fit.dual + short)) - here) / short + fit.f
        down = (here - loss.conjugate(y, -(fit.dual - short))) / short + fit.f
    worst = max(float(np.max(-up)), float(np.max(down)))
    assert worst <= tol + 1e-7
    assert fit.converged


def test_the_intercept_meets_free_samples_and_the_primal_optimum():
    K, y = problem(LOSSES[0])
    fit = SMO(tol=EXACT).fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=True)
    free = (np.abs(fit.dual) > 1e-9) & (np.abs(fit.dual) < 1.0 - 1e-9)
    assert free.any()
    np.testing.assert_allclose((y * fit.f)[free], 1.0, atol=1e-8)
    best = primal(LOSSES[0], y, fit)
    for shift in (-1e-3, 1e-3):
        assert LOSSES[0].value(y, fit.f + shift).sum() >= (
            LOSSES[0].value(y, fit.f).sum() - 1e-9
        )
    assert best == pytest.approx(fit.objective, rel=1e-9)


@pytest.mark.parametrize("base", LOSSES)
def test_weights_are_repetitions(base):
    K, y = problem(base, n=40)
    times = np.random.default_rng(5).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    a = SMO(tol=EXACT).fit(
        DenseMatrix(K), y, scaled(base, times, len(y)), fit_intercept=True
    )
    repeated = np.ascontiguousarray(K[np.ix_(rows, rows)])
    b = SMO(tol=EXACT).fit(DenseMatrix(repeated), y[rows], base, fit_intercept=True)
    assert a.objective == pytest.approx(b.objective, rel=1e-9)
    np.testing.assert_allclose(a.f[rows], b.f, atol=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("base", LOSSES)
@given(seed=st.integers(0, 10_000))
def test_any_feasible_start_leads_to_the_optimum(base, fit_intercept, seed):
    K, y = problem(base, n=30)
    loss, gram = scaled(base, 3.0, 30), DenseMatrix(K)
    cold = SMO(tol=EXACT).fit(gram, y, loss, fit_intercept=fit_intercept)
    lower, upper = (-b for b in loss.dual_bounds(y)[::-1])
    rng = np.random.default_rng(seed)
    dual = lower + (upper - lower) * rng.choice([0.0, 0.3, 0.5, 1.0], 30)
    if fit_intercept:
        positive, negative = dual.clip(min=0.0).sum(), -dual.clip(max=0.0).sum()
        dual = np.where(dual > 0.0, dual * negative, dual * positive)
        dual /= max(positive, negative, 1e-300)
    init = warm_start(gram, dual, intercept=rng.normal(size=1))
    warm = SMO(tol=EXACT).fit(gram, y, loss, fit_intercept=fit_intercept, init=init)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_solution_as_a_start_needs_no_step(fit_intercept):
    K, y = problem(LOSSES[1])
    gram = DenseMatrix(K)
    cold = SMO().fit(gram, y, LOSSES[1], fit_intercept=fit_intercept)
    warm = SMO().fit(gram, y, LOSSES[1], fit_intercept=fit_intercept, init=cold)
    assert cold.n_steps > 10
    assert warm.n_steps == 0
    np.testing.assert_array_equal(warm.dual, cold.dual)
    assert warm.dual is not cold.dual
    tighter = SMO(tol=1e-6).fit(
        gram, y, LOSSES[1], fit_intercept=fit_intercept, init=cold
    )
    assert tighter.n_steps > 0
    assert tighter.objective >= cold.objective


def test_stops_early():
    K, y = problem(LOSSES[0])
    loss = scaled(LOSSES[0], 100.0, len(y))
    fits = [
        SMO(tol=tol).fit(DenseMatrix(K), y, loss, fit_intercept=True)
        for tol in (1.0, 1e-2, 1e-6)
    ]
    assert fits[0].n_steps < fits[1].n_steps < fits[2].n_steps
    assert fits[0].objective < fits[1].objective < fits[2].objective
    few = SMO(max_steps=7).fit(DenseMatrix(K), y, loss, fit_intercept=True)
    assert not few.converged
    assert few.n_steps == 7


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_rows", [4, 12, 40, 150])
@pytest.mark.parametrize("base", LOSSES)
def test_columns_give_what_the_array_gives(base, n_rows, fit_intercept):
    K, y = problem(base)
    loss = scaled(base, 10.0, len(y))
    machine = SMO(tol=1e-6, cache_bytes=8 * n_rows**2)
    dense = machine.fit(DenseMatrix(K), y, loss, fit_intercept=fit_intercept)
    gram = ColumnMatrix(K)
    lazy = machine.fit(gram, y, loss, fit_intercept=fit_intercept)
    assert lazy.converged
    assert lazy.objective == pytest.approx(dense.objective, rel=1e-7)
    np.testing.assert_allclose(lazy.f, K @ lazy.dual + lazy.intercept, atol=1e-9)
    if n_rows == len(y):
        np.testing.assert_array_equal(lazy.dual, dense.dual)
        assert sum(gram.asked) == len(y)


def test_stopping_early_leaves_all_values_right():
    K, y = problem(LOSSES[0], n=300)
    loss = scaled(LOSSES[0], 100.0, len(y))
    full = SMO(tol=1e-8).fit(DenseMatrix(K), y, loss, fit_intercept=True)
    for steps in range(301, full.n_steps, 157):
        machine = SMO(tol=1e-8, max_steps=steps)
        fit = machine.fit(DenseMatrix(K), y, loss, fit_intercept=True)
        assert fit.n_steps == steps
        np.testing.assert_allclose(fit.f, K @ fit.dual + fit.intercept, atol=1e-9)


def test_every_output_is_a_problem_of_its_own():
    K, _ = problem(LOSSES[0], n=60)
    y = np.where(np.random.default_rng(0).normal(size=(60, 3)) > 0.0, 1.0, -1.0)
    loss = scaled(LOSSES[0], 2.0, 60)
    together = SMO().fit(DenseMatrix(K), y, loss, fit_intercept=True)
    apart = [
        SMO().fit(DenseMatrix(K), y[:, k].copy(), loss, fit_intercept=True)
        for k in range(3)
    ]
    np.testing.assert_array_equal(together.dual, np.stack([a.dual for a in apart], 1))
    assert together.intercept.shape == (3,)
    again = SMO().fit(DenseMatrix(K), y, loss, fit_intercept=True, init=together)
    assert again.n_steps == 0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("base", LOSSES)
def test_a_zero_kernel_leaves_the_best_constant(base, fit_intercept):
    _, y = problem(base, n=41)
    fit = SMO(tol=1e-9).fit(
        DenseMatrix(np.zeros((41, 41))), y, base, fit_intercept=fit_intercept
    )
    constants = np.linspace(-3.0, 3.0, 6001) if fit_intercept else np.zeros(1)
    best = min(float(base.value(y, np.full_like(y, c)).sum()) for c in constants)
    assert primal(base, y, fit) <= best + 1e-9
    assert fit.objective == pytest.approx(primal(base, y, fit), abs=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_duplicated_samples_with_opposite_labels(fit_intercept):
    K, y = problem(LOSSES[0], n=30)
    rows = np.r_[np.arange(30), np.arange(30)]
    K, y = np.ascontiguousarray(K[np.ix_(rows, rows)]), np.r_[y, -y]
    fit = SMO(tol=1e-9).fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=fit_intercept)
    assert fit.converged
    assert fit.objective == pytest.approx(60.0)  # f = 0 is best
    np.testing.assert_allclose(fit.f, 0.0, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_indefinite_matrix_is_named(fit_intercept):
    K, y = problem(LOSSES[0], n=30)
    lowest = K - 0.5 * np.eye(30)
    with pytest.raises(IndefiniteKernelError, match="negative"):
        SMO().fit(DenseMatrix(lowest), y, LOSSES[0], fit_intercept=fit_intercept)
    with pytest.raises(IndefiniteKernelError, match="negative"):
        SMO().fit(DenseMatrix(-K), y, LOSSES[0], fit_intercept=fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_single_class(fit_intercept):
    K, _ = problem(LOSSES[0], n=20)
    y = np.ones(20)
    fit = SMO(tol=1e-9).fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=fit_intercept)
    assert fit.objective == pytest.approx(primal(LOSSES[0], y, fit), abs=1e-7)
    if fit_intercept:
        np.testing.assert_array_equal(fit.f, 1.0)


def test_values_that_are_not_finite_are_refused():
    K, y = problem(LOSSES[0], n=20)
    K[3, :] = K[:, 3] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        SMO().fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=True)
    with pytest.raises(ValueError, match="NaN or infinite"):
        SMO().fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=False)


def test_an_unattainable_tolerance_ends():
    K, y = problem(LOSSES[0], n=40)
    machine = SMO(tol=-1.0, max_steps=200_000)
    fit = machine.fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=True)
    assert not fit.converged


def test_bad_starts_are_refused():
    K, y = problem(LOSSES[0], n=20)
    gram, machine = DenseMatrix(K), SMO()
    good = machine.fit(gram, y, LOSSES[0], fit_intercept=True)

    def attempt(start: MachineFit) -> MachineFit:
        return machine.fit(gram, y, LOSSES[0], fit_intercept=True, init=start)

    with pytest.raises(ValueError, match="1 outside the bounds"):
        attempt(warm_start(gram, 2.0 * y))
    with pytest.raises(ValueError, match="sum to zero, but its sum is"):
        attempt(warm_start(gram, 0.5 * np.where(y > 0.0, y, 0.0)))
    with pytest.raises(ValueError, match="does not match this Gram matrix"):
        attempt(replace(good, f=2.0 * good.f))
    with pytest.raises(ValueError, match="outside the bounds"):
        attempt(replace(good, dual=np.full(20, np.nan)))
    with pytest.raises(ValueError, match="shape"):
        attempt(replace(good, dual=good.dual[:-1]))


def test_further_kinks_of_the_conjugate_are_refused():
    class Steeper(HingeLoss):
        def dual_pieces(self, y):
            one = np.ones((2, len(y)))
            return -y * one, np.array([[-1.0], [0.5]]) * one, one

    K, y = problem(LOSSES[0], n=20)
    with pytest.raises(UnsupportedProblemError, match="has more pieces"):
        SMO().fit(DenseMatrix(K), y, Steeper(), fit_intercept=True)


def test_other_losses_and_shapes_are_refused():
    K, y = problem(LOSSES[0], n=20)
    with pytest.raises(UnsupportedProblemError, match="piecewise linear"):
        SMO().fit(DenseMatrix(K), y, LogisticLoss(), fit_intercept=True)
    with pytest.raises(ValueError, match="square matrix"):
        SMO().fit(DenseMatrix(K), y[:-1], LOSSES[0], fit_intercept=True)
    with pytest.raises(ValueError, match="y must be finite, got"):
        SMO().fit(DenseMatrix(K), y * np.nan, LOSSES[0], fit_intercept=True)
    assert isinstance(machine_for(scaled(LOSSES[1], 2.0, 20)), SMO)


def badly_scaled(loss: Loss, ratio: float, n: int = 40) -> tuple[Array, Array]:
    """Return a Gaussian kernel plus a rank-one kernel so many times as large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    squared = ((X[:, None] - X[None, :]) ** 2).sum(axis=2)
    signal = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    K = np.exp(-squared / 4.0) + ratio * np.outer(X[:, 0], X[:, 0])
    is_hinge = isinstance(loss, HingeLoss)
    return K, np.where(signal > 0.3, 1.0, -1.0) if is_hinge else signal


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("base", LOSSES)
def test_kernels_of_distant_scales_take_few_steps(base, ratio, fit_intercept):
    # Without Newton steps on the free samples these take up to millions.
    n = 300
    K, y = badly_scaled(base, ratio, n)
    fit = SMO(tol=1e-3).fit(DenseMatrix(K), y, base, fit_intercept=fit_intercept)
    assert fit.converged
    assert fit.n_steps < 1000 * n
    # Primal minus dual objective bounds the error of both.
    assert primal(base, y, fit) - fit.objective < 1e-3 * fit.objective


def test_a_tolerance_below_the_rounding_of_f_ends_there():
    K, y = badly_scaled(LOSSES[0], 1e12)
    fit = SMO(tol=1e-12).fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=True)
    assert not fit.converged
    assert fit.n_steps < 1000 * len(y)


def test_the_limit_of_steps_names_the_scales_of_the_kernels(monkeypatch):
    few = replace(module.SETTINGS, steps_per_sample=2)
    monkeypatch.setattr(module, "SETTINGS", few)
    K, y = badly_scaled(LOSSES[0], 1e8)
    with pytest.warns(ConvergenceWarning, match="scales of the kernels"):
        fit = SMO().fit(DenseMatrix(K), y, LOSSES[0], fit_intercept=True)
    assert fit.n_steps == 2 * len(y)


def test_a_start_whose_rounding_exceeds_the_quadratic_form_accuses_nobody():
    # K rho = 0 for this start, and f - b comes out a rounding of b below it.
    K, y, b = np.ones((2, 2)), np.array([0.5, -0.5]), 1e3
    dual = np.array([1e-14, -1e-14])
    f = np.array([b - 1e-12, b + 1e-12])
    start = MachineFit(dual, np.array([b]), f, np.nan, 0, False)
    loss = EpsilonInsensitiveLoss(2.0)
    fit = SMO(tol=10.0).fit(DenseMatrix(K), y, loss, fit_intercept=True, init=start)
    np.testing.assert_allclose(fit.f - fit.intercept, 0.0, atol=1e-20)


def test_interrupts_are_noticed_while_the_loop_runs(monkeypatch):
    """The compiled loop comes back to Python every `VISITS` samples looked at."""
    K, y = problem(LOSSES[1], n=400)
    loss = scaled(LOSSES[1], 1e6, len(y))
    turns: list[int] = []

    def counting(module: str, name: str) -> Callable[..., Any]:
        loop = compiled(module, name)
        if not name.startswith("solve"):
            return loop

        def turn(v: Array, *rest: Any) -> Any:
            end = loop(v, *rest)
            steps_before, steps_after = rest[-1][0], Outcome(*end).step
            turns.append((steps_after - steps_before) * v.shape[1])
            if len(turns) == 5:
                signal.raise_signal(signal.SIGINT)
            return end

        return turn

    visits = 100 * len(y)
    often = replace(module.SETTINGS, visits=visits)
    monkeypatch.setattr(module, "SETTINGS", often)
    monkeypatch.setattr("multikernel.machines.smo.machine.compiled", counting)
    machine = SMO(tol=1e-9)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            machine.fit(DenseMatrix(K), y, loss, fit_intercept=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert turns == [visits] * 5
