"""Newton's method for many targets of the squared loss, in spaces of dual points.

A target's dual point rho = V c is in the span of a few vectors V, orthonormal in the
inner product of D, and maximizes c^T V^T y - |c|^2 / 2 subject to c^T V^T K_m V c <=
alpha^2. This is a problem of `newton`, which defines D and the weights eta_m, with
small matrices; its solution satisfies all constraints. For the residual r = y - b - D
rho - sum_m eta_m K_m rho, the gap is r^T D^-1 r / 2. If it is too large, B^-1 r joins
V, where B = D + sum_m eta_m K_m has the mean weights of all targets, as in
preconditioned conjugate gradients. V is kept along the path. Each matrix is read once
for all targets; adding a vector requires n_kernels + 1 products for its target.
"""

from collections.abc import Sequence

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.tables import CHUNK_BYTES
from multikernel.linalg.threads import compiled
from multikernel.problem import Problem, Solution
from multikernel.solvers.spicy.newton import NewtonState
from multikernel.solvers.spicy.settings import SETTINGS

LOOPS = "multikernel.solvers.spicy.span_loops"


class SpannedTargets(NewtonState):
    """`NewtonState` for the squared loss, with dual points V c (see the module)."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        # The dual point of a target is V c. `basis`, (n_targets, n_allocated,
        # n_samples), contains the vectors V, `coefs` c, `sides` V^T y, and `grams` V^T
        # K_m V. D are the inverse curvatures of the loss, one for each sample, and
        # `shares` sample weights with sum one. `residual` is y - b - D rho - sum_m
        # eta_m K_m rho.
        super().__init__(problems)
        n_kernels, n_samples, _ = self.gram.shape
        size = len(self.problems)
        self.D = self.loss.conjugate_hessian(self.y[:, 0], -self.y[:, 0])
        self.shares = (1.0 / self.D) / (1.0 / self.D).sum()
        self.residual = np.zeros_like(self.y)
        self.sizes = np.zeros(size, dtype=np.intp)  # number of vectors of every target
        self.basis = np.empty((size, 0, n_samples))
        self.sides, self.coefs = np.empty((2, size, 0))
        self.grams = np.empty((size, n_kernels, 0, 0))
        self._last = np.full(size, np.nan)  # strength of every target's last step

    def start(self, t: int, solution: Solution, alpha: float) -> None:
        """Start target t at the dual point and the norms of a solution for `alpha`."""
        super().start(t, solution, alpha)
        self.rho[:, t] = solution.dual
        # The basis is empty at first; `solve_ridge` adds `dual` as its first vector.
        self.sizes[t] = 0
        self.basis[t], self.coefs[t] = 0.0, 0.0

    def solve_ridge(self, targets: Indices, alphas: Array) -> None:
        """Compute dual points, decision values and quadratic forms of some targets."""
        # New targets get a basis first: a dual point, and tangents if they have a
        # model.
        new = targets[self.sizes[targets] == 0]
        if new.size:
            self._append(new, self._first(new))
            # Without Newton steps, only the dual points for the weights are computed.
            self._solve_small_problems(new, alphas, 0)
            with_model = new[self.eta[:, new].any(axis=0)]
            for part in self._parts(with_model):
                self._append_tangents(part)
            self._solve_small_problems(with_model, alphas, 0)
        self._evaluate(targets)

    def _first(self, targets: Indices) -> Array:
        """Return the dual points of the targets' starts or else of constant models."""
        rho, y = self.rho[:, targets], self.y[:, targets]
        b = self.shares @ y if self.has_intercept else np.zeros(targets.size)
        return np.where(rho.any(axis=0), rho, (y - b) / self.D[:, None])

    def _append_tangents(self, targets: Indices) -> None:
        """Add B^-1 r, and B^-1 K_m rho for eta_m > 0, to the bases of the targets."""
        # The vectors B^-1 K_m rho are about minus the derivatives of the dual point by
        # the weights eta_m, up to the intercept; r is the residual of rho, and B = D +
        # sum_m eta_m K_m. In a space of one vector, all dual points have the same
        # direction, so their quadratic forms q_m have fixed ratios. The conditions on
        # q_m (see `newton`) then do not determine the weights.
        self._evaluate(targets)
        images = self.gram.matvec(self.rho[:, targets])
        sides = np.concatenate([self.residual[None, :, targets], images])
        columns = sides.transpose(1, 0, 2).reshape(len(self.y), -1)
        solved = self._solved(targets, columns)
        if solved is None:
            self.failed[targets] = True
            return
        solved = solved.reshape(len(self.y), *sides.shape[::2])
        self._append(targets, solved[:, 0])
        for m, weights in enumerate(self.eta[:, targets]):
            used = weights > 0.0
            if used.any():
                self._append(targets[used], solved[:, 1 + m, used])

    @np.errstate(all="ignore")
    def step(self, targets: Indices, alphas: Array) -> None:
        """Add a vector to the space of each target; compute the best kernel weights."""
        # A target's new vector is B^-1 r, with its residual r. All targets have the
        # same matrix B = D + sum_m eta_m K_m, with mean weights, as a preconditioner.
        # The first step for a strength adds no vector.
        is_continued = self._last[targets] == alphas[targets]
        self._last[targets] = alphas[targets]
        continued = targets[is_continued]
        if continued.size:
            solved = self._solved(continued, self.residual[:, continued])
            if solved is None:
                self.failed[continued] = True
            else:
                self._append(continued, solved)
        # Without a start, small problems take 4 to 10 Newton steps.
        self._solve_small_problems(targets, alphas, 80)

    def _solve_small_problems(self, targets: Indices, alphas: Array, most: int) -> None:
        """Solve the small problems of some targets in at most `most` Newton steps."""
        # The small problem is to find the best weights eta and dual point V c of a
        # target in the span of the vectors V in `basis`. `alphas` belong to all
        # targets.
        eta = np.ascontiguousarray(self.eta[:, targets].T)
        settled = np.zeros(targets.size, dtype=bool)
        compiled(LOOPS, "solve_small_problems")(
            targets,
            alphas[targets],
            self.sizes,
            self.grams,
            self.sides,
            eta,
            self.coefs,
            settled,
            SETTINGS.stride,
            SETTINGS.nearly,
            SETTINGS.ridge,
            most,
        )
        self.eta[:, targets] = eta.T
        self.failed[targets[~settled]] = True

    def _evaluate(self, targets: Indices) -> None:
        """Store decision values, residuals and quadratic forms at the dual points."""
        # The residual of rho is y - b - D rho - sum_m eta_m K_m rho, with the inverse
        # curvatures D.
        for part in self._parts(targets):
            rows = np.matmul(self.coefs[part][:, None], self.basis[part])[:, 0]
            rho = np.ascontiguousarray(rows.T)
            if self.has_intercept:
                rho -= rho.sum(axis=0) / len(rho)
            images = self.gram.matvec(rho)
            f = np.einsum("mit,mt->it", images, self.eta[:, part])
            residual = self.y[:, part] - f
            if self.has_intercept:
                self.intercept[part] = self.shares @ residual
                residual -= self.intercept[part]
            residual -= self.D[:, None] * rho
            self.rho[:, part], self.f[:, part] = rho, f
            self.residual[:, part] = residual
            self.forms[:, part] = np.einsum("mit,it->mt", images, rho)

    def _parts(self, targets: Indices) -> list[Indices]:
        """Split the targets into parts whose products K_m rho fit into memory."""
        n_kernels, n_samples, _ = self.gram.shape
        most = max(1, CHUNK_BYTES // (8 * n_kernels * n_samples))
        return [targets[k : k + most] for k in range(0, targets.size, most)]

    def _append(self, targets: Indices, vectors: Array) -> None:
        """Add one vector, (n_samples, n_chosen), to the space of each target."""
        self._make_room(targets)
        for part in self._parts(np.arange(targets.size)):
            self._append_some(targets[part], vectors[:, part])

    def _append_some(self, targets: Indices, vectors: Array) -> None:
        """Orthonormalize vectors and add them; dependent vectors set `failed`."""
        # Row k of `rows`, (n_chosen, n_samples), belongs to targets[k]. The inner
        # product of v and w is v^T D w, with the inverse curvatures D. A new vector v
        # also extends the products V^T y (`sides`) and V^T K_m V (`grams`).
        basis, rows = self.basis[targets], vectors.T.copy()
        before = np.sqrt((self.D * rows**2).sum(axis=1))
        for _ in range(2):  # One projection leaves rounding errors.
            components = np.matmul(basis, (self.D * rows)[:, :, None])
            rows -= (basis * components).sum(axis=1)
        after = np.sqrt((self.D * rows**2).sum(axis=1))
        new = np.isfinite(after) & (after > 1e-10 * before)
        self.failed[targets[~new]] = True
        extended, rows = targets[new], rows[new] / after[new, None]
        last = self.sizes[extended]
        self.basis[extended, last] = rows
        self.sides[extended, last] = np.einsum("ti,it->t", rows, self.y[:, extended])
        self.sizes[extended] += 1
        images = self.gram.matvec(np.ascontiguousarray(rows.T)).transpose(2, 0, 1)
        forms = np.matmul(images, self.basis[extended].transpose(0, 2, 1))
        for t, k, form in zip(extended, last, forms, strict=True):
            self.grams[t, :, k], self.grams[t, :, :, k] = form, form

    def _make_room(self, targets: Indices) -> None:
        """Allocate space for one more vector of some targets."""
        if not targets.size:
            return
        room, most = self.sides.shape[1], int(self.sizes[targets].max()) + 1
        if most <= room:
            return
        more = max(4, room)
        self.basis = np.pad(self.basis, ((0, 0), (0, more), (0, 0)))
        self.sides = np.pad(self.sides, ((0, 0), (0, more)))
        self.coefs = np.pad(self.coefs, ((0, 0), (0, more)))
        self.grams = np.pad(self.grams, ((0, 0), (0, 0), (0, more), (0, more)))

    def _solved(self, targets: Indices, sides: Array) -> Array | None:
        """Return B^-1 `sides`, projected to sum 0 for an intercept; None on failure."""
        # B is D + sum_m eta_m K_m with the mean weights of the targets, and the inverse
        # curvatures D.
        ones = np.ones((len(sides), 1))
        columns = np.hstack([ones, sides]) if self.has_intercept else sides
        eta = self.eta[:, targets].mean(axis=1)
        if not eta.any():
            solved = columns / self.D[:, None]
        else:
            try:
                solved = self.gram.combine(eta).solve(columns, shift=self.D)
            except np.linalg.LinAlgError:
                return None
        if not self.has_intercept:
            return solved
        one, solutions = solved[:, :1], solved[:, 1:]
        return np.asarray(solutions - one * (solutions.sum(axis=0) / one.sum()))
