"""Solver for ordered classes: one function, with unpenalized thresholds.

At the best thresholds for f, the loss of `CumulativeLogitLoss` is a smooth convex
function of f with the Hessian W - W B T^-1 B^T W = P^T W P. Here W is the Hessian of
the loss in f for fixed thresholds, T the Hessian in the thresholds, and -W B the matrix
of mixed second derivatives. `_Thresholds.squares` returns P for the Newton steps.

For the duality gap, let l_i be the loss of sample i at the best thresholds, and rho_i
its slope in f_i times -1. The point rho satisfies all dual constraints except the
limits on dual norms |rho|_Km; s rho satisfies these too if s in [0, 1] is small enough.
The conjugate of the loss is convex and zero at zero. So the dual value at s rho is at
least s sum_i (l_i + rho_i f_i) minus the conjugate of the penalty at the dual norms of
s rho.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from multikernel._typing import Array, Indices
from multikernel.certificates import DualCertificate, dual_norms
from multikernel.certificates.columns import LEAST_WEIGHT
from multikernel.certificates.gap import best_scale
from multikernel.certificates.progress import metered
from multikernel.certificates.rounding import largest_dual_norms
from multikernel.gram.projected import Projection
from multikernel.linalg import EPS, TINY
from multikernel.losses import SquaredLoss
from multikernel.losses.base import Loss, SmoothConjugateLoss
from multikernel.losses.cumulative import (
    CLOSED,
    CumulativeLogitLoss,
    path_laplacian,
)
from multikernel.losses.weighted import weighted, weights_of, without_weights
from multikernel.problem import Callback, Problem, Solution
from multikernel.solvers.squares import BySquares, Point, Squares, SquaresSearch


def has_free_thresholds(loss: Loss) -> bool:
    """Return whether a loss is `CumulativeLogitLoss`, possibly with sample weights."""
    return isinstance(without_weights(loss), CumulativeLogitLoss)


@dataclass(frozen=True)
class FreeThresholds(BySquares):
    r"""Solver for problems of ordered classes, around a solver for the squared loss.

    Minimizes :math:`\sum_i \ell(y_i, f(x_i); \theta) + \Omega(\|f_1\|, \dots)` over
    functions and thresholds :math:`\theta` of `CumulativeLogitLoss`, by the proximal
    Newton method of `multikernel.solvers.squares`. `solver`, a dataclass with a field
    ``tol``, solves its least-squares problems. The duality gap is for functions and
    thresholds jointly. Solutions have no intercept; `CumulativeLogitLoss.fitted`
    returns the best thresholds.
    """

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        if not has_free_thresholds(problem.loss):
            return self.solver.unsupported(problem)
        if problem.columns is not None:
            return (
                "Models of ordered classes do not support columns without a penalty. "
                "Use a kernel for these columns, or remove them."
            )
        # `solver` solves least-squares problems without an intercept.
        squares = replace(problem, loss=SquaredLoss(), fit_intercept=False)
        return self.solver.unsupported(squares)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem, from the warm start `init` if given."""
        if not has_free_thresholds(problem.loss):
            return self.solver.solve(problem, init, callback)
        # Number only the classes with samples, as nothing determines the thresholds of
        # other classes.
        grades = np.unique(problem.y, return_inverse=True)[1].astype(np.float64)
        metered_problem, recorder = metered(
            replace(problem, y=grades, fit_intercept=False), callback
        )
        return SquaresSearch(self, _Thresholds(metered_problem), recorder).run(init)


@dataclass(frozen=True, eq=False)
class _Thresholds:
    """`FreeParameters` for the thresholds of ordered classes."""

    problem: Problem

    @cached_property
    def _codes(self) -> Indices:
        """The class of each sample as an integer, shape (n_samples,)."""
        return self.problem.y.astype(np.intp)

    @cached_property
    def _weights(self) -> Array:
        """The sample weights, shape (n_samples,)."""
        return weights_of(self.problem.loss, len(self.problem.y))

    def null_parameters(self) -> Array:
        """Return the best thresholds of a model without kernels."""
        return self.after_short_step(np.zeros_like(self.problem.y), None)

    def warm_parameters(self, init: Solution, f: Array) -> Array:
        """Return the best thresholds for the decision values of a warm start."""
        return self.after_short_step(f, None)

    def after_short_step(self, f: Array, parameters: Array | None) -> Array:
        """Return the thresholds that minimize the loss at decision values f."""
        # Newton's method starts at `parameters`; None means at the class shares.
        y, weights = self.problem.y, self._weights
        return CumulativeLogitLoss.fitted(y, f, weights, parameters).thresholds

    def after_full_step(self, squares: Squares, f: Array, parameters: Array) -> Array:
        """Return the best thresholds for the decision values f after a full step."""
        return self.after_short_step(f, parameters)

    def problem_at(self, parameters: Array) -> Problem:
        """Return the problem whose loss has these thresholds."""
        loss = weighted(CumulativeLogitLoss(parameters), self._weights)
        return replace(self.problem, loss=loss)

    def linear(self, parameters: Array) -> Array:
        """Return zero: thresholds belong to the loss, not to the decision values."""
        return np.zeros(1)

    def sizes(self, parameters: Array) -> Array:
        """Return zero: thresholds add no rounding error."""
        return np.zeros(1)

    def _derivatives(
        self, f: Array, parameters: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return slopes in f, and the arrays of `CumulativeLogitLoss.curvatures`."""
        # These arrays are second derivatives: in f minus the threshold below and above
        # each sample's class, and in the differences of neighboring thresholds.
        # If a sample is far from its class, its loss is nearly linear. A parabola with
        # the tiny curvature of this loss is so wide that rounding hides the other
        # samples, so the first two arrays of curvatures have a floor.
        y, codes = self.problem.y, self._codes
        loss, plain = self.problem_at(parameters).loss, CumulativeLogitLoss(parameters)
        slopes = loss.gradient(y, f)
        at_lower, at_upper, between = plain.curvatures(codes, f, self._weights)
        flat = LEAST_WEIGHT * max(at_lower.max(), at_upper.max())
        tangent = 0.01 * slopes**2 / np.maximum(loss.value(y, f), TINY)
        floor = np.maximum(flat, tangent)
        at_lower = np.where(codes > 0, np.maximum(at_lower, floor), 0.0)
        at_upper = np.where(codes < parameters.size, np.maximum(at_upper, floor), 0.0)
        return slopes, at_lower, at_upper, between

    def squares(self, f: Array, parameters: Array, linear_factor: float) -> Squares:
        """Return the least-squares model of the loss at the best thresholds for f."""
        # `linear_factor` is not used: `_derivatives` limits the weights from below. The
        # second derivatives of the loss are W = diag(weights) in f, -W B in f and the
        # thresholds, and a matrix T (`curvature`) in the thresholds. Minimized over the
        # thresholds, the loss has the Hessian W - W B T^-1 B^T W.
        codes, size = self._codes, parameters.size
        slopes, at_lower, at_upper, between = self._derivatives(f, parameters)
        weights = at_lower + at_upper
        # B[i, t] is the share of the weight of sample i at threshold t, nonzero for the
        # thresholds below and above the class of the sample. The first and the last
        # column, for infinite thresholds, are removed.
        B = np.zeros((codes.size, size + 2))
        rows = np.arange(codes.size)
        B[rows, codes] = at_lower / weights
        B[rows, codes + 1] = at_upper / weights
        B = B[:, 1:-1]
        # T - B^T W B, the curvature of the thresholds after minimizing over f.
        shared = np.bincount(codes, at_lower * at_upper / weights, minlength=size + 1)
        extra = path_laplacian(shared[1:-1] + between)
        # The square roots of T's diagonal scale the systems below.
        units = np.sqrt(weights @ B + np.diagonal(path_laplacian(between)))
        curvature = B.T @ (weights[:, None] * B) + extra
        # The columns of `span` are B v for all solutions v of `extra` v = ratio T v,
        # with v^T T v = 1. So the Hessian is W - W span span^T W.
        R = cholesky(curvature / np.outer(units, units) + EPS * np.eye(size))
        half = solve_triangular(R, extra / np.outer(units, units), trans="T")
        ratios, axes = np.linalg.eigh(solve_triangular(R, half.T, trans="T"))
        # If a constant is added to f, the thresholds shift with it, so the curvature
        # along constants is only rounding.
        ratios = np.where(ratios > 1e-12, np.minimum(ratios, 1.0), 0.0)
        span = (B / units) @ solve_triangular(R, axes)
        # The Hessian is P^T W P for P = I - span diag(c) span^T W if each entry of c
        # solves 2 c - (1 - ratio) c^2 = 1.
        projection = Projection(span / (1.0 + np.sqrt(ratios)), weights[:, None] * span)
        # By Woodbury's formula, the Hessian's inverse is W^-1 + span diag(1 / ratios)
        # span^T.
        inverse = np.divide(1.0, ratios, out=np.zeros_like(ratios), where=ratios > 0.0)
        targets = f - slopes / weights - span @ (inverse * (span.T @ slopes))
        return Squares(projection, targets, weights, slopes)

    def proofs(self, point: Point, inner: Array | None) -> Iterator[DualCertificate]:
        """Yield certificates at up to three dual points, one near `inner` if given."""
        # The first point is zero; its dual value is a lower bound because no loss is
        # negative. The second point is minus the slopes of the loss at `point`. The
        # third point is near `inner`, the dual point of the last least-squares problem.
        # The points other than zero give no certificate if their thresholds are not
        # optimal, which sample weights of very different scales may prevent.
        zero = np.zeros(self.problem.gram.shape[0])
        yield DualCertificate(np.zeros(len(self.problem.y)), zero, 0.0)
        candidates = [(point.terms.f, point.parameters)]
        loss = cast(SmoothConjugateLoss, self.problem_at(point.parameters).loss)
        if inner is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                f = loss.conjugate_gradient(self.problem.y, -inner)
            if np.isfinite(f).all():
                candidates.append((f, self.after_short_step(f, point.parameters)))
        for f, thresholds in candidates:
            proof = self._proof(f, thresholds, point.worth.norms)
            if proof is not None:
                yield proof

    def _proof(
        self, f: Array, thresholds: Array, norms: Array
    ) -> DualCertificate | None:
        """Return a certificate at f, or None if `thresholds` are not the best for f."""
        # Without the best thresholds, the slopes of the loss are not dual feasible.
        y, penalty = self.problem.y, self.problem.regularizer
        fitted = CumulativeLogitLoss(thresholds)
        if not fitted.relative_imbalance(self._codes, f, self._weights) <= CLOSED:
            return None
        loss = self.problem_at(thresholds).loss
        rho = -loss.gradient(y, f)
        sizes = dual_norms(self.problem.gram, rho)
        sizes = largest_dual_norms(self.problem, rho, sizes)
        total = float(loss.value(y, f).sum()) + float(rho @ f)

        def negative_bound(scale: float) -> float:
            """Return minus a lower bound on the dual value of scale * rho."""
            # The loss's conjugate is -total at -rho. It is convex and zero at zero, so
            # it is at most -scale * total at -scale * rho.
            return penalty.conjugate(scale * sizes, norms) - scale * total

        scale, lowest = best_scale(negative_bound, penalty.feasible_scale(sizes))
        return DualCertificate(scale * rho, scale * sizes, -lowest)

    def solution_fields(self, parameters: Array) -> dict[str, Array]:
        """Return the field `intercept` of a `Solution`, which is zero."""
        return {"intercept": np.zeros(1)}
