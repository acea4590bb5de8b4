"""Certificates of many targets at once, with an additional axis for the targets.

The problems differ only in their targets, with a smooth loss and the block l1 norm. A
model has the functions f_m = eta_m K_m rho of the Gram matrices K_m, with kernel
weights eta_m and a dual point rho. Certifying hundreds of targets one by one would take
longer than solving them.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates.gap import project_dual
from multikernel.certificates.rounding import (
    ORDINARY,
    diagonal_factors,
    largest_losses,
    rounding_unit,
)
from multikernel.gram.checks import ROUNDING
from multikernel.linalg import EPS, TINY
from multikernel.losses.answers import refuse_nan
from multikernel.losses.base import SmoothConjugateLoss
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem

Index = Indices | slice


class CertifiedTargets:
    """Models and dual points of many targets on one stack, certified together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        # The problems have centered targets and the same smooth loss; their
        # regularizers are not used. A solver writes eta, rho, forms, f and intercept;
        # `measure` computes the other arrays and improves intercepts.
        first, n_targets = problems[0], len(problems)
        self.problems, self.gram = problems, first.gram
        self.has_intercept = first.fit_intercept
        self.loss = cast(SmoothConjugateLoss, first.loss)
        self.quadratic = is_squared(first.loss)
        self.y = np.stack([problem.y for problem in problems], axis=1)
        n_kernels, n_samples, _ = self.gram.shape
        # Kernel weights, quadratic forms of `rho`, and block norms.
        self.eta, self.forms, self.norms = np.zeros((3, n_kernels, n_targets))
        # Dual points `rho`, which sum to zero if there is an intercept; `dual`, their
        # projections onto the conjugate's domain; decision values f without intercepts.
        self.rho, self.dual, self.f = np.zeros((3, n_samples, n_targets))
        # `scale` times `dual` is feasible; `gap` includes rounding errors.
        self.intercept, self.objective, self.gap, self.scale = np.zeros((4, n_targets))
        # True for targets without a reliable certificate or without a next step.
        self.failed = np.zeros(n_targets, dtype=bool)
        self._unit = rounding_unit(n_samples)
        self._offset = np.array([float(np.sum(p.offset)) for p in problems])
        lower, upper = self.loss.dual_bounds(self.y)
        self._low, self._high = -upper, -lower  # bounds on dual points
        self._traces = self.gram.rounded_traces()[:, None]
        shares = np.full(n_samples, 1.0 / n_samples)
        self._has_residual = bool(self.gram.residual_traces(shares).any())
        larger = diagonal_factors(n_samples, self._traces[:, 0], self.gram.traces())
        self._diagonal_roots = np.sqrt(np.maximum(self.gram.diagonals(), 0.0))
        self._diagonal_roots *= np.sqrt(larger)[:, None]

    def index_of(self, targets: Indices) -> Index:
        """Return an index of the targets' columns: a slice if all are selected."""
        return slice(None) if targets.size == len(self.problems) else targets

    def measure(self, targets: Indices, alphas: Array) -> None:
        """Store the objectives, gaps and improved intercepts of `targets`."""
        # `alphas` has the penalty strengths of all problems, not only those of
        # `targets`. Newton steps for the loss at the current f improve intercepts.
        index, loss, unit = self.index_of(targets), self.loss, self._unit
        y, rho, alphas = self.y[:, index], self.rho[:, index], alphas[index]
        eta, forms = self.eta[:, index], self.forms[:, index]
        self.intercept[index] = b = self._intercepts(index)
        f = self.f[:, index] + b
        sizes = np.einsum("it,it->t", rho, rho)
        rounding = unit * sizes * self._traces
        is_unreliable = ~np.isfinite(forms) | ((eta > 0.0) & (forms <= rounding))
        # A target fails if a form of an active kernel does not exceed its rounding
        # error, or if a form is clearly negative: the matrix is indefinite. The solver
        # for one target then raises an error with the kernel's name.
        is_unreliable |= forms < -ROUNDING * sizes * self._traces
        squares = np.maximum(forms, 0.0)
        self.norms[:, index] = norms = eta * np.sqrt(squares)
        largest = np.sqrt(squares + rounding)  # upper bounds on dual norms
        penalty = alphas * norms.sum(axis=0)
        spreads = self._diagonal_roots.T @ (eta * np.sqrt(unit * rounding))
        spreads += EPS * np.abs(f)
        losses = loss.value(y, f).sum(axis=0)
        refuse_nan(loss, "value", losses, f)
        hidden = largest_losses(loss, y, f, spreads).sum(axis=0) - losses
        hidden += alphas * (eta * largest).sum(axis=0) - penalty
        # The projection changes a dual norm by at most the root of the kernel's trace
        # times the distance between rho and its projection.
        largest += np.sqrt(self._traces) * self._project(targets)
        dual = self.dual[:, index]
        if self._has_residual:
            residuals = [self.gram.residual_bounds(point) for point in dual.T]
            largest = np.sqrt(largest**2 + np.array(residuals).T)
        max_scales = alphas / largest.max(axis=0)
        self.scale[index], bounds = self._dual_values(index, max_scales)
        self.objective[index] = objective = losses + penalty
        size = np.maximum(objective, TINY)
        gap = (objective - bounds) / size + np.maximum(hidden / size - ORDINARY, 0.0)
        self.failed[index] |= is_unreliable.any(axis=0) | ~(gap > -ORDINARY)
        self.gap[index] = np.maximum(gap, 0.0)

    def _intercepts(self, index: Index) -> Array:
        """Return the intercepts of the targets at `index`, improved by Newton steps."""
        # For the squared loss, solvers store the best intercepts.
        b, offset = self.intercept[index], self._offset[index]
        y, f = self.y[:, index], self.f[:, index]
        if not self.has_intercept:
            return b
        best = b
        for _ in range(0 if self.quadratic else 2):
            slopes = self.loss.gradient(y, f + best)
            curvatures = 1.0 / self.loss.conjugate_hessian(y, slopes)
            best = best - slopes.sum(axis=0) / curvatures.sum(axis=0)
        b = np.where(np.isfinite(best), best, b)
        return np.asarray((b + offset) - offset)

    def _project(self, targets: Indices) -> Array | float:
        """Move dual points into the conjugate's domain; return how far each moved."""
        index = self.index_of(targets)
        rho = self.rho[:, index]
        self.dual[:, index] = rho
        is_outside = (rho < self._low[:, index]) | (rho > self._high[:, index])
        if not is_outside.any():
            return 0.0
        for t in targets[is_outside.any(axis=0)]:
            self.dual[:, t] = project_dual(self.problems[t], self.rho[:, t])
        return np.asarray(np.sqrt(((self.dual[:, index] - rho) ** 2).sum(axis=0)))

    def _dual_values(self, index: Index, max_scales: Array) -> tuple[Array, Array]:
        """Return factors of dual points, at most `max_scales`, and the dual values."""
        # One Newton step gives nearly the best multiples of the dual points. For the
        # squared loss, whose conjugate is quadratic, it gives the best ones.
        y, dual, loss = self.y[:, index], self.dual[:, index], self.loss
        slopes = loss.conjugate_gradient(y, -dual)
        curvatures = loss.conjugate_hessian(y, -dual)
        is_nonzero = dual != 0.0
        slope = (dual * slopes).sum(axis=0, where=is_nonzero)
        curvature = (dual**2 * curvatures).sum(axis=0, where=is_nonzero)
        best = np.where(curvature > 0.0, np.maximum(1.0 + slope / curvature, 0.0), 0.0)
        limits = np.where(dual > 0.0, self._high[:, index], self._low[:, index]) / dual
        limit = (1.0 - 4.0 * EPS) * limits.min(axis=0, where=is_nonzero, initial=np.inf)
        scale = np.fmin(max_scales, np.fmin(best, limit))
        scale = np.where(scale > 0.0, scale, 0.0)
        values = loss.conjugate(y, -scale * dual)
        return scale, -values.sum(axis=0) - 4.0 * EPS * np.abs(values).sum(axis=0)
