"""Each conformance suite rejects components that are wrong in one place."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss
from multikernel.problem import Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL
from multikernel.testing import (
    check_loss,
    check_regularizer,
    check_solver,
    small_problems,
)


class WrongSlope(SquaredLoss):
    def gradient(self, y, f):
        return 1.01 * (f - y)


class WrongConjugate(SquaredLoss):
    def conjugate(self, y, u):
        return u * (0.5 * u - y)


class NoShift(LogisticLoss):
    shift_equivariant = True


class LooseConjugate(HingeLoss):
    def conjugate(self, y, u):
        return y * u


class NarrowDomain(HingeLoss):
    def dual_bounds(self, y):
        lower, upper = super().dual_bounds(y)
        return 0.9 * lower, 0.9 * upper


class WrongCurvature(LogisticLoss):
    def conjugate_hessian(self, y, u):
        return 1.1 * super().conjugate_hessian(y, u)


class WrongConjugateSlope(LogisticLoss):
    def conjugate_gradient(self, y, u):
        return -super().conjugate_gradient(y, u)


class Overflowing(LogisticLoss):
    def value(self, y, f):
        return np.log1p(np.exp(-y * f))


class WrongPieces(HingeLoss):
    def dual_pieces(self, y):
        signs, costs, sizes = super().dual_pieces(y)
        return signs, 0.9 * costs, sizes


@dataclass(frozen=True)
class OfSamples(SquaredLoss):
    def value(self, y, f):
        return np.arange(1.0, 25.0) * super().value(y, f)


class SinglePrecision(SquaredLoss):
    def value(self, y, f):
        return super().value(y, f).astype(np.float32)


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (WrongSlope, "tangent exceeds the loss|equality at u"),
        (WrongConjugate, "must be an equality"),
        (NoShift, "y and f are shifted together"),
        (LooseConjugate, "infinite outside dual_bounds"),
        (NarrowDomain, "A gradient is outside dual_bounds"),
        (WrongCurvature, "conjugate_hessian differs"),
        (WrongConjugateSlope, "conjugate_gradient differs"),
        (Overflowing, "At f = "),
        (WrongPieces, "linear program of dual_pieces"),
        (OfSamples, "changes if other samples are removed"),
        (SinglePrecision, "value is float32, not float64"),
    ],
)
def test_wrong_losses_are_caught(loss, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_loss(loss())


def test_what_is_no_loss_is_said_so():
    with pytest.raises(AssertionError, match="is not a Loss"):
        check_loss(object())


class SlackConjugate(BlockElasticNet):
    def conjugate(self, dual_norms, at):
        return 1.1 * super().conjugate(dual_norms, at)


class LowConjugate(BlockElasticNet):
    def conjugate(self, dual_norms, at):
        return 0.9 * super().conjugate(dual_norms, at)


class UnboundedBall(BlockL1):
    def conjugate(self, dual_norms, at):
        return 0.0


class TimidScale(BlockL1):
    def feasible_scale(self, dual_norms):
        return 0.9 * super().feasible_scale(dual_norms)


class Unscaled(BlockL1):
    def feasible_scale(self, dual_norms):
        return 1.0


class WrongShrinkage(BlockElasticNet):
    def prox(self, norms, step):
        return np.maximum(norms - step * self.threshold, 0.0)


class WrongShrinkageSlope(BlockElasticNet):
    def prox_derivative(self, norms, step):
        return (norms > step * self.threshold).astype(float)


class WrongThreshold(BlockElasticNet):
    @property
    def threshold(self):
        return self.alpha

    def prox(self, norms, step):
        return BlockElasticNet(self.alpha, self.l1_ratio).prox(norms, step)

    def prox_derivative(self, norms, step):
        return BlockElasticNet(self.alpha, self.l1_ratio).prox_derivative(norms, step)

    def value(self, norms):
        return BlockElasticNet(self.alpha, self.l1_ratio).value(norms)

    def conjugate(self, dual_norms, at):
        return BlockElasticNet(self.alpha, self.l1_ratio).conjugate(dual_norms, at)


class Concave(BlockL1):
    def value(self, norms):
        return float(self.alpha * np.sqrt(norms.sum()))


@pytest.mark.parametrize(
    ("regularizer", "sentence"),
    [
        (SlackConjugate(2.0), "not tight"),
        (LowConjugate(2.0), "must be at least the product"),
        (UnboundedBall(2.0), "shrinks too much|must be at least the product"),
        (TimidScale(2.0), "must not be scaled further"),
        (Unscaled(2.0), "must be finite at feasible_scale"),
        (WrongShrinkage(2.0), "prox is not the minimizer"),
        (WrongShrinkageSlope(2.0), "prox_derivative differs"),
        (WrongThreshold(2.0), "exceeds step \\* threshold"),
        (Concave(2.0), "not convex"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_wrong_regularizers_are_caught(regularizer, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_regularizer(regularizer)


def test_what_is_no_regularizer_is_said_so():
    with pytest.raises(AssertionError, match="is not a BlockRegularizer"):
        check_regularizer(object())


@dataclass(frozen=True)
class SquaredSum:
    """Half the squared sum of the norms: variational, not proximable."""

    alpha: float
    uniform: bool

    def with_alpha(self, alpha):
        return replace(self, alpha=alpha)

    def value(self, norms):
        return float(0.5 * self.alpha * norms.sum() ** 2)

    def conjugate(self, dual_norms, at):
        return float(dual_norms.max() ** 2 / (2.0 * self.alpha))

    def feasible_scale(self, dual_norms):
        return 1.0

    def kernel_weights(self, norms):
        if self.uniform:
            return np.full_like(norms, 1.0 / norms.size)
        return norms / norms.sum()


def test_kernel_weights_are_checked_by_their_identity():
    check_regularizer(SquaredSum(2.0, uniform=False))
    with pytest.raises(AssertionError, match="must equal the penalty"):
        check_regularizer(SquaredSum(2.0, uniform=True))


@dataclass(frozen=True)
class Tampered:
    """A right solver whose solutions are changed before they are handed back."""

    change: object
    tol: float = 1e-4

    def unsupported(self, problem):
        return None

    def solve(self, problem, init=None, callback=None):
        solution = SpicyMKL(tol=self.tol).solve(problem, init, callback)
        return replace(solution, **self.change(solution))


def understate_the_gap(solution):
    gap = 0.5 * solution.duality_gap
    last = replace(solution.history[-1], duality_gap=gap)
    return {"duality_gap": gap, "history": (*solution.history[:-1], last)}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: {"norms": 1.001 * s.norms}, "norms do not match the expansions"),
        (lambda s: {"coefs": s.coefs[:, :-1]}, "coefs has shape"),
        (lambda s: {"intercept": 0.0}, r"intercept has shape \(\), not \(1,\)"),
        (lambda s: {"active": s.active[::-1]}, "nonzero norms, ascending"),
        (lambda s: {"kernel_weights": 0.0 * s.norms}, "positive exactly where"),
        (lambda s: {"kernel_weights": np.full_like(s.norms, np.nan)}, "not finite"),
        (
            lambda s: {"objective": 0.999 * s.objective},
            "objective is .* when recomputed",
        ),
        (understate_the_gap, "gap is .* when recomputed"),
        (lambda s: {"dual": s.dual + 1e-4}, "away from such points"),
        (lambda s: {"dual": 1.01 * s.dual}, "infeasible|away from such points"),
        (lambda s: {"n_iter": s.n_iter + 1}, "n_iter is"),
        (lambda s: {"history": s.history[::-1]}, "Iterations must ascend"),
        (lambda s: {"history": s.history[:-1]}, "last line of the history"),
        (lambda s: {"history": ()}, "history is empty"),
        (lambda s: {"status": Status.MAX_ITER}, "did not converge"),
    ],
)
def test_tampered_solutions_are_caught(change, sentence):
    problems = list(small_problems())[:1]
    check_solver(Tampered(lambda s: {}), problems)
    with pytest.raises(AssertionError, match=sentence):
        check_solver(Tampered(change), problems)


class Negligent(Tampered):
    """A solver that claims a smaller tolerance than it reaches."""

    def solve(self, problem, init=None, callback=None):
        return SpicyMKL(tol=0.1).solve(problem, init, callback)


class Deaf(Tampered):
    """A solver that never asks the callback."""

    def solve(self, problem, init=None, callback=None):
        return SpicyMKL(tol=self.tol).solve(problem, init)


class Forgetful(Tampered):
    """A solver that ignores warm starts."""

    def solve(self, problem, init=None, callback=None):
        return SpicyMKL(tol=self.tol).solve(problem, None, callback)


class Unstoppable(Tampered):
    """A solver that swallows what a callback raises."""

    def solve(self, problem, init=None, callback=None):
        solver = SpicyMKL(tol=self.tol)
        try:
            return solver.solve(problem, init, callback)
        except KeyboardInterrupt:
            return solver.solve(problem, init)


class Blind(Tampered):
    """A solver that ignores unpenalized columns."""

    def solve(self, problem, init=None, callback=None):
        return super().solve(replace(problem, columns=None), init, callback)


class Shifted(Tampered):
    """A solver whose intercept is for the centered targets."""

    def solve(self, problem, init=None, callback=None):
        return super().solve(replace(problem, offset=0.0), init, callback)


class Unfinished(Tampered):
    """A solver that refuses with a word instead of a sentence."""

    def unsupported(self, problem):
        return "no"


@pytest.mark.parametrize(
    ("solver", "sentence"),
    [
        (Negligent, "claims convergence"),
        (Deaf, "callback must receive"),
        (Forgetful, "From its own solution"),
        (Unstoppable, "must propagate"),
        (Blind, "ignores unpenalized columns"),
        (Unfinished, "must be a sentence"),
    ],
)
def test_wrong_solvers_are_caught(solver, sentence):
    # Of the logistic loss: with the hinge a cold start takes one iteration as well.
    problem = next(p for p in small_problems() if type(p.loss) is LogisticLoss)
    with pytest.raises(AssertionError, match=sentence):
        check_solver(solver(lambda s: {}), [problem])


def test_a_solver_that_ignores_the_offset_is_caught():
    problem = next(p for p in small_problems() if p.offset)
    check_solver(Tampered(lambda s: {}), [problem])
    with pytest.raises(AssertionError, match=r"objective is .* when recomputed"):
        check_solver(Shifted(lambda s: {}), [problem])


def test_a_solver_without_any_problem_is_said_so():
    with pytest.raises(AssertionError, match="supports none"):
        check_solver(SpicyMKL(), [])
    with pytest.raises(AssertionError, match="is not a Solver"):
        check_solver(object())
