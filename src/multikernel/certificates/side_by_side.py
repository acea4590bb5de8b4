r"""The certificate with an axis of targets: many models and dual points in one step.

It is the certificate of `multikernel.certificates.evaluation` and `gap` for problems
which differ in their targets alone, with a smooth loss and a block 1-norm, at models
:math:`f_m = \eta_m K_m \rho` whose quadratic forms are at hand. All columns are
computed at once: one by one hundreds of targets would take longer to prove than to
solve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates.gap import project_dual
from multikernel.certificates.rounding import (
    ORDINARY,
    larger_diagonals,
    largest_losses,
    rounding_unit,
)
from multikernel.gram.checks import ROUNDING
from multikernel.gram.refine import residual_traces
from multikernel.linalg import EPS, TINY
from multikernel.losses.answers import refuse_nan
from multikernel.losses.base import SmoothConjugateLoss
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem

Columns = Indices | slice


@dataclass(frozen=True, eq=False)
class TargetModels:
    """Models and dual points of some targets, a column for each.

    Parameters
    ----------
    eta, forms : ndarray of shape (n_kernels, n_targets)
        The weights, and the quadratic forms of the dual points.
    rho, f : ndarray of shape (n_samples, n_targets)
        The dual points, with sum zero where there is an intercept, and the decision
        values without intercepts.
    intercept : ndarray of shape (n_targets,)
        Intercepts near the best ones.
    alphas : ndarray of shape (n_targets,)
        The strengths of the block 1-norms.
    """

    eta: Array
    forms: Array
    rho: Array
    f: Array
    intercept: Array
    alphas: Array


@dataclass(frozen=True, eq=False)
class TargetProofs:
    """What is proved of them, a column or a number for each target.

    Parameters
    ----------
    norms : ndarray of shape (n_kernels, n_targets)
        The block norms.
    dual : ndarray of shape (n_samples, n_targets)
        The dual points inside the domain of the conjugate.
    scale : ndarray of shape (n_targets,)
        What makes these feasible.
    intercept, objective, gap : ndarray of shape (n_targets,)
        The published intercepts, the objectives, and the relative gaps, with what
        rounding hides.
    doubtful : ndarray of bool, shape (n_targets,)
        Where forms are no more than rounding, or belong to matrices that are no
        kernels.
    """

    norms: Array
    dual: Array
    scale: Array
    intercept: Array
    objective: Array
    gap: Array
    doubtful: Mask


class SideBySide:
    """Problems that differ in their targets, and what proofs of all of them share.

    Parameters
    ----------
    problems : sequence of Problem
        On one stack, `centred`, with one smooth loss; their penalties are not used.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        self.problems = problems
        self.gram, self.centres = first.gram, first.fit_intercept
        self.loss = cast(SmoothConjugateLoss, first.loss)
        self.quadratic = is_squared(first.loss)
        self.y = np.stack([problem.y for problem in problems], axis=1)
        self._unit = rounding_unit(len(self.y))
        self._offset = np.array([float(np.sum(p.offset)) for p in problems])
        lower, upper = self.loss.dual_bounds(self.y)
        self._low, self._high = -upper, -lower  # of dual points
        self._traces = self.gram.rounded_traces()[:, None]
        shares = np.full(len(self.y), 1.0 / len(self.y))
        self._leaves = bool(residual_traces(self.gram, shares).any())
        larger = larger_diagonals(len(self.y), self._traces[:, 0], self.gram.traces())
        self._roots = np.sqrt(np.maximum(self.gram.diagonals(), 0.0))
        self._roots *= np.sqrt(larger)[:, None]

    def prove(self, own: Columns, models: TargetModels) -> TargetProofs:
        """Certify the models of some targets, rounding errors included.

        `own` are their columns among all targets. A gap is the objective less the dual
        value, over the objective, plus what errors of f and of the forms may hide; it
        is doubtful if a form is not above its rounding error, or is negative.
        """
        loss, unit, y, rho = self.loss, self._unit, self.y[:, own], models.rho
        eta, forms, alphas = models.eta, models.forms, models.alphas
        b = self._intercepts(own, y, models)
        f, sizes = models.f + b, np.einsum("it,it->t", rho, rho)
        rounding = unit * sizes * self._traces
        vague = ~np.isfinite(forms) | ((eta > 0.0) & (forms <= rounding))
        # Clearly negative forms: the matrix is no kernel. The solver for one target,
        # which takes over doubtful ones, raises an error with the kernel's name.
        vague |= forms < -ROUNDING * sizes * self._traces
        squares = np.maximum(forms, 0.0)
        norms = eta * np.sqrt(squares)
        largest = np.sqrt(squares + rounding)  # upper bounds on dual norms
        penalty = alphas * norms.sum(axis=0)
        spread = self._roots.T @ (eta * np.sqrt(unit * rounding)) + EPS * np.abs(f)
        losses = loss.value(y, f).sum(axis=0)
        refuse_nan(loss, "value", losses, f)
        hidden = largest_losses(loss, y, f, spread).sum(axis=0) - losses
        hidden += alphas * (eta * largest).sum(axis=0) - penalty
        dual, moved = self._inside(own, rho)
        largest += np.sqrt(self._traces) * moved
        if self._leaves:  # what the matrices leave of their kernels at most
            left = [self.gram.residual_bounds(each) for each in dual.T]
            largest = np.sqrt(largest**2 + np.array(left).T)
        scale, proved = self._dual_values(own, dual, alphas / largest.max(axis=0))
        objective = losses + penalty
        size = np.maximum(objective, TINY)
        gap = (objective - proved) / size + np.maximum(hidden / size - ORDINARY, 0.0)
        doubtful = vague.any(axis=0) | ~(gap > -ORDINARY)
        gap = np.maximum(gap, 0.0)
        return TargetProofs(norms, dual, scale, b, objective, gap, doubtful)

    def _intercepts(self, own: Columns, y: Array, models: TargetModels) -> Array:
        """Return intercepts as they are published, after two steps to the best ones."""
        b, offset = models.intercept, self._offset[own]
        if not self.centres:
            return b
        best = b
        for _ in range(0 if self.quadratic else 2):
            slopes = self.loss.gradient(y, models.f + best)
            bends = 1.0 / self.loss.conjugate_hessian(y, slopes)
            best = best - slopes.sum(axis=0) / bends.sum(axis=0)
        b = np.where(np.isfinite(best), best, b)
        return np.asarray((b + offset) - offset)

    def _inside(self, own: Columns, rho: Array) -> tuple[Array, Array | float]:
        """Return dual points moved inside the domain of the conjugate, and how far.

        A form of a kernel is at most its trace times the square of such a length.
        """
        outside = (rho < self._low[:, own]) | (rho > self._high[:, own])
        if not outside.any():
            return rho, 0.0
        dual, problems = rho.copy(), np.arange(len(self.problems))[own]
        for target in np.flatnonzero(outside.any(axis=0)):
            problem = self.problems[problems[target]]
            dual[:, target] = project_dual(problem, rho[:, target])
        return dual, np.sqrt(((dual - rho) ** 2).sum(axis=0))

    def _dual_values(
        self, own: Columns, dual: Array, largest: Array
    ) -> tuple[Array, Array]:
        """Return multiples of dual points up to the largest ones, and their values.

        The values are less what rounding may add to them.
        """
        y = self.y[:, own]
        scale = np.fmin(largest, self._best_scales(own, y, dual))
        scale = np.where(scale > 0.0, scale, 0.0)
        values = self.loss.conjugate(y, -scale * dual)
        return scale, -values.sum(axis=0) - 4.0 * EPS * np.abs(values).sum(axis=0)

    def _best_scales(self, own: Columns, y: Array, dual: Array) -> Array:
        """Return about the multiples of dual points with the best dual value.

        The one step of Newton's method is exact for the squared loss.
        """
        u = -dual
        slopes = self.loss.conjugate_gradient(y, u)
        bends = self.loss.conjugate_hessian(y, u)
        moves = dual != 0.0
        slope = (dual * slopes).sum(axis=0, where=moves)
        bend = (dual**2 * bends).sum(axis=0, where=moves)
        best = np.where(bend > 0.0, np.maximum(1.0 + slope / bend, 0.0), 0.0)
        ends = np.where(dual > 0.0, self._high[:, own], self._low[:, own]) / dual
        least = ends.min(axis=0, where=moves, initial=np.inf)
        return np.asarray(np.fmin(best, (1.0 - 4.0 * EPS) * least))
