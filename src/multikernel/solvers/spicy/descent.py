"""Block coordinate descent on factored kernels, for very many samples.

With K_m = Z_m Z_m^T, functions f_m = Z_m u_m and the strength alpha of the block
1-norm, the primal problem is a group lasso in the blocks u_m. The loss is replaced by
its second-order model with the curvatures h_i = 1 / l*''(y_i, -rho_i), which is
minimized by blocks (Yang, Zou 2015, Statistics and Computing 25, 1129-1141). Let -q be
the model's gradient in block m at u_m = 0, and let H_m = Z_m^T diag(h) Z_m. The best
block is u_m = t (t H_m + alpha I)^-1 q. Its norm t is the root of an equation in one
variable (Qin, Scheinberg, Goldfarb 2013, Mathematical Programming Computation 5,
section 3). The coefficients c_m of f_m = K_m c_m are -t / alpha times the slopes of the
loss's model after the step. A round over all blocks reads the factors twice; a Newton
step on factors with R columns in total costs n_samples R^2 flops.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, cast

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import (
    best_intercepts,
    relative_gap,
    scaled_dual_value,
)
from multikernel.linalg import EPS, TINY
from multikernel.linalg.tall import GroupedFactor, slices_between
from multikernel.losses import is_coupled
from multikernel.losses.base import is_smooth
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1
from multikernel.solvers.spicy.settings import SETTINGS


def prefers_descent(problem: Problem, n_numbers: float) -> bool:
    """Return whether descent supports a problem and is faster than Newton steps."""
    loss, gram = problem.loss, problem.gram
    sparse = isinstance(problem.regularizer, BlockL1) and problem.y.ndim == 1
    in_samples = gram.expansion_length == gram.shape[1]
    if not (sparse and in_samples and is_smooth(loss)) or is_coupled(loss):
        return False
    # `n_numbers` is the number of entries of the working set's factors.
    n_columns = n_numbers / gram.shape[1]
    is_expensive = gram.shape[1] * n_columns**2 > SETTINGS.descent_flops
    return is_expensive and SETTINGS.descent_columns < n_columns < gram.shape[1]


@dataclass(eq=False)
class BlockDescent:
    """State of the descent on the kernels of a working set."""

    problem: Problem  # its stack is not read
    factors: Mapping[int, GroupedFactor]  # by kernel index
    alpha: Array  # expansions, (n_kernels, n_samples), changed in place
    last: InitVar["BlockDescent | None"] = None  # the last descent, for its eigenpairs
    rho: Array = field(init=False)
    rounds: int = 0
    gap: float = np.inf
    first_gap: float = 0.0  # largest gap so far, not always the first one

    # Private attributes: `_u` contains the blocks u_m one after another, and `_parts`
    # the slice of each; f = Z u (`_f`) and `_b` are decision values and intercept.
    # `_curvature` are the second derivatives h of the loss, and `_systems` the
    # eigenvalues and eigenvectors of H_m = Z_m^T diag(h) Z_m, by kernel index.

    def __post_init__(self, last: "BlockDescent | None") -> None:
        ends = np.cumsum([0, *(len(each.rows) for each in self.factors.values())])
        self._parts = slices_between(ends)
        self._u, self._f = np.zeros(ends[-1]), np.zeros(self.problem.y.size)
        for factor, part, alpha in self._blocks(self.alpha):
            if alpha.any():
                self._u[part] = factor.inner(alpha)
                self._f += factor.times(self._u[part])
        self._strength = cast(BlockL1, self.problem.regularizer).threshold
        self._b = 0.0
        self._curvature = np.zeros_like(self._f)
        self._systems: dict[int, tuple[Array, Array]] = {}
        if last is not None:
            self._curvature, self._systems = last._curvature, last._systems
        self._set_intercept()

    def _blocks(
        self, each: Iterable[Any]
    ) -> Iterator[tuple[GroupedFactor, slice, Any]]:
        """Yield the factor and the columns of every kernel, with its item of `each`."""
        return zip(self.factors.values(), self._parts, each, strict=True)

    def solve(self, target: float) -> None:
        """Minimize until the relative gap on the working set is `target`."""
        objective = self._objective(self._f, self._u)
        # The gap may end above the target, after the last round or if steps no longer
        # lower the objective.
        while self.rounds < SETTINGS.descent_rounds:
            share = SETTINGS.first_share if self._expand() else SETTINGS.descent_share
            self._descend(share)
            before, objective = objective, self._objective(self._f, self._u)
            self.gap = self._relative_gap(objective)
            self.first_gap = max(self.first_gap, self.gap)
            is_flat = before - objective <= EPS * abs(before)
            if self.gap <= target or is_flat:
                return

    def _set_intercept(self) -> None:
        """Set the best intercept for the decision values, and this model's rho."""
        y, loss = self.problem.y, self.problem.loss
        self.rho = -loss.gradient(y, self._f)
        if self.problem.fit_intercept:
            best, self.rho = best_intercepts(loss, y, self._f)
            self._b = float(best[0])

    def _expand(self) -> bool:
        """Update curvatures and eigenpairs; return whether the curvatures changed."""
        loss = self.problem.loss
        assert is_smooth(loss)
        with np.errstate(divide="ignore", over="ignore"):
            curvature = 1.0 / loss.conjugate_hessian(self.problem.y, -self.rho)
        # Rounding may put weighted slopes just outside the domain of the conjugate.
        curvature = np.maximum(curvature, 0.0)
        moved = np.abs(curvature - self._curvature).sum()
        has_moved = bool(moved > SETTINGS.moved * curvature.sum())
        if has_moved:
            self._curvature, self._systems = curvature, {}
        for kernel, factor in self.factors.items():
            if kernel in self._systems:
                continue
            values, vectors = np.linalg.eigh(factor.gram(self._curvature))
            floor = max(SETTINGS.ridge * float(values[-1]), TINY)
            self._systems[kernel] = np.maximum(values, floor), vectors
        return has_moved

    def _descend(self, share: float) -> None:
        """Step toward the minimum of the quadratic model, found by block descent."""
        # The descent stops after a round whose change is at most `share` of the largest
        # change of a round.
        f, u = np.zeros_like(self._f), self._u.copy()
        alpha, first = self.alpha.copy(), 0.0
        points: list[tuple[Array, Array]] = [(f.copy(), u.copy())]
        for epoch in range(SETTINGS.descent_epochs):
            self.rounds += 1
            change = self._round(f, u, alpha, with_zeros=not epoch)
            first = max(first, change)
            if change <= share * first:
                break
            points.append((f.copy(), u.copy()))
            if len(points) > SETTINGS.extrapolated:
                f, u = self._extrapolated(points)
                points = [(f.copy(), u.copy())]
        self._move(f, u, alpha)

    def _round(self, f: Array, u: Array, alpha: Array, *, with_zeros: bool) -> float:
        """Minimize over one block after another; return the sum of squared steps."""
        # `f`, `u`, `alpha` change in place. Without `with_zeros`, only nonzero blocks
        # are visited.
        # Block m becomes the u that minimizes u^T H_m u / 2 - q^T u + strength |u|, in
        # coordinates of the eigenvectors of H_m = Z_m^T diag(curvature) Z_m, where -q
        # is the gradient of the loss's model at u = 0. Its expansion is |u| / strength
        # times minus the slopes of the model. The square of a step d is d^T H_m d. `f`
        # is relative to the expansion point.
        change, strength, curvature = 0.0, self._strength, self._curvature
        for factor, part, (m, kernel) in self._blocks(enumerate(self.factors)):
            if not (with_zeros or u[part].any()):
                continue
            values, vectors = self._systems[kernel]
            before = vectors.T @ u[part]
            q = vectors.T @ factor.inner(self.rho - curvature * f)
            length, now = block_minimum(q + values * before, values, strength)
            step = now - before
            if step.any():
                f += factor.times(vectors @ step)
                u[part] = vectors @ now
            alpha[m] = (length / strength) * (self.rho - curvature * f)
            change += float(values @ step**2)
        if self.problem.fit_intercept:
            f += (self.rho - curvature * f).sum() / curvature.sum()
        return change

    def _extrapolated(self, points: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return Anderson's extrapolation of points, or the last point if better."""
        # The weights, with sum one, minimize the norm of the weighted sum of the moves.
        moves = np.diff([u for _, u in points], axis=0)
        products = moves @ moves.T
        products += 1e-10 * np.trace(products) * np.eye(len(products))
        weights = np.linalg.solve(products, np.ones(len(products)))
        weights /= weights.sum()
        f, u = (
            np.tensordot(weights, np.array([point[k] for point in points[1:]]), axes=1)
            for k in range(2)
        )
        last_f, last_u = points[-1]
        better = self._model(f, u) < self._model(last_f, last_u)
        return (f, u) if better else (last_f.copy(), last_u.copy())

    def _model(self, f: Array, u: Array) -> float:
        """Return the objective of the quadratic model, up to a constant."""
        quadratic = (0.5 * self._curvature * f - self.rho) @ f
        return float(quadratic + self._strength * self._norms(u).sum())

    def _norms(self, u: Array) -> Array:
        """Return the norm of each block of u, shape (n_kernels,)."""
        return np.array([float(np.linalg.norm(u[part])) for part in self._parts])

    def _move(self, f: Array, u: Array, alpha: Array) -> None:
        """Move to a point, halving the step until the objective does not increase."""
        # `f` is a change of the decision values; `u` and `alpha` are new values.
        start_objective, length = self._objective(self._f, self._u), 1.0
        for _ in range(30):
            new_u = self._u + length * (u - self._u)
            if self._objective(self._f + length * f, new_u) <= start_objective:
                break
            length *= 0.5
        else:
            return
        self._u, self._f = new_u, self._f + length * f
        self.alpha += length * (alpha - self.alpha)
        self._set_intercept()

    def _objective(self, f: Array, u: Array) -> float:
        """Return the objective at blocks u, with decision values f (no intercept)."""
        losses = self.problem.loss.value(self.problem.y, f + self._b)
        return float(losses.sum()) + self._strength * float(self._norms(u).sum())

    def _relative_gap(self, objective: float) -> float:
        """Return the relative gap of the current blocks, given their objective."""
        # `sizes` are the dual norms (rho^T K_m rho)^(1/2) of all kernels.
        sizes = [
            np.linalg.norm(factor.inner(self.rho)) for factor in self.factors.values()
        ]
        norms = self._norms(self._u)
        _, dual = scaled_dual_value(self.problem, self.rho, norms, np.array(sizes))
        return float(relative_gap(objective, dual))


def block_minimum(q: Array, values: Array, strength: float) -> tuple[float, Array]:
    """Return the norm and the entries of the block u that minimizes the model."""
    # The best u minimizes u^T H u / 2 - q^T u + s |u|, with H = diag(values) > 0 and s
    # the strength. The norm t of this u solves |q / (t H + s)| = 1. The inverse of the
    # left side is nearly linear in t. Newton's method for this inverse gives values of
    # t that increase monotonically to the root.
    size = float(np.linalg.norm(q))
    if size <= strength:
        return 0.0, np.zeros_like(q)
    length = (size - strength) / float(values.max())
    for _ in range(50):
        shifted = values * length + strength
        square = float(np.sum((q / shifted) ** 2))
        slope = float(np.sum(q**2 * values / shifted**3))
        step = square * (np.sqrt(square) - 1.0) / slope
        length += step
        if step <= 1e-12 * length:
            break
    return length, length * q / (length * values + strength)
