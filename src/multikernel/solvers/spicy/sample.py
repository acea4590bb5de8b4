r"""A start for many samples: the solution on some of them, corrected on all.

Where there are far more samples than columns of factors, a sample of them knows the
curvature of the problem well. With the factors side by side as Z and
:math:`f = Z u + b` the objective :math:`\sum_i \ell(y_i, f_i) + \alpha \sum_m \|u_m\|`
is smooth where no active :math:`u_m` is zero, and Newton's steps of the exact gradient
and the sample's curvature ("subsampled Newton", [1]_) converge linearly, at a rate like
the error of that curvature. One of them reads the factors twice; a step of the dual
method multiplies all of their columns by each other.

Nothing here is taken for proved: what is found is where the solver starts.

References
----------
.. [1] Roosta-Khorasani, Mahoney (2019). Sub-sampled Newton methods. Mathematical
   Programming. doi:10.1007/s10107-018-1346-5
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    primal_value,
    project_dual,
    relative_gap,
    scaled_dual_value,
)
from multikernel.gram.capabilities import count, expansion_length, tall_form
from multikernel.linalg.tall import TallMatrix
from multikernel.losses import WeightedLoss
from multikernel.losses.base import SmoothConjugateLoss, is_smooth
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockL1
from multikernel.solvers.spicy.settings import SETTINGS


def start_on_some(
    problem: Problem, solve: Callable[[Problem], Solution], tol: float
) -> Solution | None:
    """Return a start that some samples lead to, None where they are too few to help.

    The problem has, in short, the 1-norm, a smooth loss without weights, one output,
    and many times more samples than columns of factors in memory. It is solved on some
    samples by `solve`, and `tol` is to be reached on all, which the start is on; its
    gap is an estimate.
    """
    loss, (_, n_samples, _) = problem.loss, problem.gram.shape
    smooth = is_smooth(loss) and not isinstance(loss, WeightedLoss)
    if not (smooth and isinstance(problem.regularizer, BlockL1)) or problem.y.ndim > 1:
        return None
    size = SETTINGS.sampled * round(problem.gram.held_numbers().sum() / n_samples)
    if max(1, SETTINGS.many * size) > n_samples:
        return None
    if expansion_length(problem.gram) != n_samples:
        return None
    some = np.random.default_rng(0).choice(n_samples, size, replace=False)
    some.sort()
    penalty = problem.regularizer.with_alpha(
        problem.regularizer.alpha * size / n_samples
    )
    part = replace(
        problem,
        gram=problem.gram.restrict(some),
        y=problem.y[some],
        regularizer=penalty,
        offset=0.0,
    )
    whole, tall_part = tall_form(problem.gram), tall_form(part.gram)
    if whole is None or tall_part is None or np.ptp(part.y) == 0.0:
        return None
    solution = solve(part)
    if not solution.active.size:
        return None
    parts = [slice(a, b) for a, b in pairwise(tall_part[1].tolist())]
    every = np.zeros((len(parts), size))
    every[solution.active] = solution.coefs
    point = Point(
        tall_part[0].inner_of_each(every, parts), float(solution.intercept[0])
    )
    try:
        curvature = Curvature.of(part, tall_part, point, n_samples / size)
    except np.linalg.LinAlgError:
        return None
    return _corrected(problem, whole, curvature, point, solution, tol)


@dataclass(frozen=True, eq=False)
class Point:
    """Coordinates of all kernels, side by side, and the intercept."""

    u: Array
    b: float

    def norms(self, offsets: Indices) -> Array:
        """Return the block norms."""
        return np.asarray(np.sqrt(np.add.reduceat(self.u**2, offsets[:-1])))


@dataclass(frozen=True, eq=False)
class Curvature:
    """The factorised second derivative in the columns of active kernels, and b.

    Parameters
    ----------
    columns, own : ndarray of shape (n_columns,)
        The columns, and the kernel of each.
    factor : tuple
        Of `cho_factor`; the last row belongs to the intercept, if there is one.
    """

    columns: Indices
    own: Indices
    factor: tuple[Array, bool]

    @staticmethod
    def of(
        problem: Problem, tall: tuple[TallMatrix, Indices], point: Point, times: float
    ) -> "Curvature":
        """Return the curvature of a problem, its losses multiplied by a factor.

        A LinAlgError is raised where it is singular in double precision.
        """
        loss, (Z, offsets) = problem.loss, tall
        assert is_smooth(loss)
        norms = point.norms(offsets)
        owners = np.repeat(np.arange(norms.size), np.diff(offsets))
        columns = np.flatnonzero(norms[owners] > 0.0)
        owners = owners[columns]
        weights = times * _bend(loss, problem.y, Z.times(point.u) + point.b)
        ones = np.full((weights.size, 1), float(problem.fit_intercept))
        H = np.empty((columns.size + 1, columns.size + 1))
        gram, side = Z.gram(weights, columns, ones)
        H[:-1, :-1], H[-1:, :-1], H[:-1, -1:] = gram, side.T, side
        H[-1, -1] = weights.sum()
        # That of |u_m|: 1 / |u_m| across u_m, and none along it.
        unit = point.u[columns] / norms[owners]
        pull = times * problem.regularizer.alpha / norms[owners]
        places = np.flatnonzero(np.diff(owners, prepend=-1, append=-1))
        for a, b in pairwise(places.tolist()):
            H[a:b, a:b] -= pull[a] * np.outer(unit[a:b], unit[a:b])
        H.reshape(-1)[: -1 : columns.size + 2] += pull
        return Curvature(columns, owners, cho_factor(H, lower=True, overwrite_a=True))

    def step(self, point: Point, slopes: Array, drift: float) -> Point:
        """Return the point a step downhill leads to."""
        move = cho_solve(self.factor, np.append(slopes[self.columns], drift))
        u = point.u.copy()
        u[self.columns] += move[:-1]
        return Point(u, point.b + float(move[-1]))


def _bend(loss: SmoothConjugateLoss, y: Array, f: Array) -> Array:
    """Return the second derivative of a loss: one over its conjugate's."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(1.0 / loss.conjugate_hessian(y, loss.gradient(y, f)))


def _corrected(
    problem: Problem,
    tall: tuple[TallMatrix, Indices],
    curvature: Curvature,
    point: Point,
    found: Solution,
    tol: float,
) -> Solution | None:
    """Return where the steps lead, None where that is not near the solution.

    As everywhere, functions are then multiples of what the dual point makes of their
    kernels.
    """
    (Z, offsets), alpha, y = tall, problem.regularizer.alpha, problem.y
    columns, owners = curvature.columns, curvature.own
    rho, norms, gap = np.zeros_like(y), np.zeros(offsets.size - 1), np.inf
    for _ in range(SETTINGS.corrections):
        f = Z.times(point.u) + point.b
        rho, norms = -problem.loss.gradient(y, f), point.norms(offsets)
        slopes = Z.inner(rho)
        count(problem.gram, *problem.gram.shape[:2])
        sizes = np.sqrt(np.add.reduceat(slopes**2, offsets[:-1]))
        inside = project_dual(problem, rho)
        _, dual = scaled_dual_value(problem, inside, norms, sizes)
        before, gap = gap, relative_gap(primal_value(problem, norms, f), dual)
        smooth = norms[owners].all()  # as norms are where they are not zero
        if not (smooth and SETTINGS.target_share * tol < gap < before):
            break
        slopes[columns] -= alpha * point.u[columns] / norms[owners]
        drift = float(rho.sum()) if problem.fit_intercept else 0.0
        point = curvature.step(point, slopes, drift)
    if not gap <= SETTINGS.near:
        return None
    active = np.flatnonzero(norms)
    coefs = (norms[active] / alpha)[:, None] * rho
    return replace(found, active=active, coefs=coefs, dual=rho, duality_gap=gap)
