r"""A start for many samples: the solution on a random part of them, corrected on all.

With the factors of all kernels side by side as Z and f = Z u + b, the objective
:math:`\sum_i \ell(y_i, f_i) + \alpha \sum_m \|u_m\|` is smooth where no active u_m is
zero. If there are far more samples than columns of Z, Newton steps with the exact
gradient and the curvature of the part converge fast (subsampled Newton, [1]_). Such a
step reads the factors twice; a Newton step on all samples multiplies all columns by
each other. The result is only a start, and nothing is proved with it.

References
----------
.. [1] Roosta-Khorasani, Mahoney (2019). Sub-sampled Newton methods. Mathematical
   Programming. doi:10.1007/s10107-018-1346-5
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    primal_value,
    project_dual,
    relative_gap,
    scaled_dual_value,
)
from multikernel.linalg.tall import TallMatrix, slices_between
from multikernel.losses import LogisticLoss, SquaredLoss
from multikernel.losses.base import is_smooth
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockL1
from multikernel.solvers.spicy.settings import SETTINGS


def start_on_part(problem: Problem, solver: Any) -> Solution | None:
    """Return a start from a random part of the samples; None if it would not help."""
    # The dataclass `solver` solves the problem on the part. Starts exist for kernels in
    # factors and losses of one output that are curved everywhere.
    _, n_samples, _ = problem.gram.shape
    sparse = isinstance(problem.regularizer, BlockL1) and problem.y.ndim == 1
    if not sparse or type(problem.loss) not in (LogisticLoss, SquaredLoss):
        return None
    size = round(SETTINGS.part_share * n_samples)
    n_columns = problem.gram.held_numbers().sum() / n_samples
    is_wide = SETTINGS.part_samples * n_columns > size
    if is_wide or problem.gram.expansion_length != n_samples:
        return None
    rows = np.sort(np.random.default_rng(0).choice(n_samples, size, replace=False))
    # The loss is a sum over fewer samples, so the penalty gets the same share.
    share, y = size / n_samples, problem.y[rows]
    weaker = problem.regularizer.with_alpha(share * problem.regularizer.alpha)
    gram = problem.gram.restrict(rows)
    part = replace(problem, gram=gram, y=y, regularizer=weaker, offset=0.0)
    factors = gram.tall_form()
    if factors is None or np.ptp(y) == 0.0:
        return None
    # The error of the part is larger than that of its solution.
    tol = max(solver.tol, 0.1 * SETTINGS.near)
    solution: Solution = replace(solver, tol=tol).solve(part)
    tall = problem.gram.tall_form()
    if tall is None or not solution.active.size:
        return None
    # f_m = K_m c_m = Z_m u_m with the coordinates u_m = Z_m^T c_m, for K_m = Z_m Z_m^T.
    coefs = np.zeros((gram.shape[0], size))
    coefs[solution.active] = solution.coefs
    u = factors[0].inner_of_each(coefs, slices_between(factors[1]))
    try:
        curvature = Curvature.of(part, factors, u, float(solution.intercept[0]))
    except LinAlgError:  # the curvature is singular in double precision
        return None
    start = Start(problem, *tall, u, float(solution.intercept[0]))
    if start.improve(curvature, share, solver.tol) > SETTINGS.near:
        return None
    # At the optimum the coefficients of f_m on all samples are |f_m| / alpha times rho.
    active = np.flatnonzero(start.norms)
    multiples = start.norms[active, None] / problem.regularizer.alpha
    return replace(solution, active=active, coefs=multiples * start.rho, dual=start.rho)


@dataclass(frozen=True, eq=False)
class Curvature:
    """The second derivative in the columns of active kernels and the intercept."""

    columns: Indices  # of all factors side by side
    owners: Indices  # the kernel of each column
    factor: tuple[Array, bool]  # of `cho_factor`; the last row is the intercept's

    @staticmethod
    def of(
        problem: Problem, factors: tuple[TallMatrix, Indices], u: Array, b: float
    ) -> "Curvature":
        """Return the curvature at u and b; raise a LinAlgError if it is singular."""
        # H is the Hessian of sum_i l(y_i, f_i) + alpha sum_m |u_m| in the coordinates
        # u_m that are not zero, and in b, with f = Z u + b.
        loss, (Z, offsets) = problem.loss, factors
        assert is_smooth(loss)
        norms = _block_norms(u, offsets)
        owners = np.repeat(np.arange(norms.size), np.diff(offsets))
        columns = np.flatnonzero(norms[owners])
        owners = owners[columns]
        slopes = loss.gradient(problem.y, Z.times(u) + b)
        with np.errstate(divide="ignore", over="ignore"):
            weights = 1.0 / loss.conjugate_hessian(problem.y, slopes)
        H = np.diag(np.append(problem.regularizer.alpha / norms[owners], weights.sum()))
        ones = np.full((weights.size, 1), float(problem.fit_intercept))
        products, sums = Z.gram(weights, columns, ones)
        H[:-1, :-1] += products
        H[-1:, :-1], H[:-1, -1:] = sums.T, sums
        # The norm |u_m| has the curvature 1 / |u_m| across u_m, and none along u_m.
        unit = u[columns] / norms[owners]
        for m in np.unique(owners):
            block = np.flatnonzero(owners == m)
            pull = problem.regularizer.alpha / norms[m]
            H[np.ix_(block, block)] -= pull * np.outer(unit[block], unit[block])
        return Curvature(columns, owners, cho_factor(H, lower=True, overwrite_a=True))


@dataclass(eq=False)
class Start:
    """Coordinates of all kernels and the intercept, improved on all samples."""

    problem: Problem
    Z: TallMatrix
    offsets: Indices  # of the kernels in the columns of Z
    u: Array  # coordinates of the functions Z_m u_m
    b: float
    rho: Array = field(init=False)  # minus the slopes of the loss
    norms: Array = field(init=False)  # of the kernels' functions

    def improve(self, curvature: Curvature, share: float, tol: float) -> float:
        """Take steps; return an estimate of the smallest relative gap."""
        # `curvature` belongs to a part of the samples, with this share of them all.
        problem, best = self.problem, np.inf
        columns, owners = curvature.columns, curvature.owners
        for _ in range(SETTINGS.corrections):
            f = self.Z.times(self.u) + self.b
            rho = -problem.loss.gradient(problem.y, f)
            norms = _block_norms(self.u, self.offsets)
            slopes = self.Z.inner(rho)
            problem.gram.count(*problem.gram.shape[:2])
            dual_norms = _block_norms(slopes, self.offsets)
            feasible = project_dual(problem, rho)
            _, dual = scaled_dual_value(problem, feasible, norms, dual_norms)
            gap = relative_gap(primal_value(problem, norms, f), dual)
            if not gap < best:
                break
            best, self.rho, self.norms = gap, rho, norms
            # The norm has no slope where a block has become zero.
            if gap <= SETTINGS.target_share * tol or not norms[owners].all():
                break
            pull = problem.regularizer.alpha / norms[owners]
            slopes = slopes[columns] - pull * self.u[columns]
            drift = float(rho.sum()) if problem.fit_intercept else 0.0
            # A share of the samples has about this share of the curvature of all.
            step = share * cho_solve(curvature.factor, np.append(slopes, drift))
            self.u[columns] += step[:-1]
            self.b += float(step[-1])
        return best


def _block_norms(u: Array, offsets: Indices) -> Array:
    """Return the norms of the blocks of u between offsets."""
    return np.asarray(np.sqrt(np.add.reduceat(u**2, offsets[:-1])))
