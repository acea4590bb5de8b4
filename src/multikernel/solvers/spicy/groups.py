r"""Targets in groups: those whose weights are nearly alike share a factorisation.

A step of `ManyTargets` factorises :math:`A = D + \sum_m \eta_m K_m` for every target.
With the squared loss D is that of all targets, and targets differ in their weights
alone. Here targets with weights near to one another take the factorisation of one of
them, B. A dual point is then not :math:`A^{-1} (y - b)`, and a step corrects what is
missing, the residual :math:`r = y - b - D \rho - f`, together with the weights:

.. math:: \rho \leftarrow \rho + B^{-1} r - B^{-1} \textstyle\sum_m d_m K_m \rho,

where d solves the problem of `many` with B in place of A, and with the dual norms that
the correction leads to. It is Newton's method with a Jacobian that is nearly right; the
gap is that of the model and the dual point at hand, whatever B is. A target that gains
too little gets a factorisation of its own, and its step is that of `many`.

For a group of targets a step is products and triangular solves with many columns at
once, which read a matrix once for all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import centred
from multikernel.linalg.shifted import ShiftedRoot, shifted_root
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem
from multikernel.solvers.spicy.many import ManyTargets, nonnegative_step
from multikernel.solvers.spicy.settings import SETTINGS

Solve = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Correction:
    """What the next step of a target takes.

    Parameters
    ----------
    images : ndarray of shape (n_samples, 1 + n_kernels)
        B^-1 of the residual and of the images of the dual point.
    curvature : ndarray of shape (n_kernels, n_kernels)
        H, by B.
    change : ndarray of shape (n_kernels,)
        What the correction adds to the forms.
    """

    images: Array
    curvature: Array
    change: Array


class GroupedTargets(ManyTargets):
    """What is known of every target with the squared loss; see `ManyTargets`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.problems)
        self.shift = self.loss.conjugate_hessian(self.y[:, 0], -self.y[:, 0])
        self.shares = (1.0 / self.shift) / (1.0 / self.shift).sum()
        self.sizes = self._typical_eigenvalues()
        self.corrections: list[Correction | None] = [None] * size
        self.begun = np.zeros(size, dtype=bool)  # those that have a dual point
        self.alone = np.zeros(size, dtype=bool)
        # Strengths of the last steps, and how many came before for the same one.
        self._last = np.full(size, np.nan)
        self._steps = np.zeros(size, dtype=np.intp)

    def _typical_eigenvalues(self) -> Array:
        """Return the mean eigenvalue of each kernel over D, where it has its trace."""
        probes = np.random.default_rng(0).standard_normal((len(self.y), 8))
        if self.centres:
            probes -= probes.mean(axis=0)
        images = self.gram.matvec(probes)
        forms = np.einsum("mit,it->m", images, probes)
        squares = np.einsum("mit,mit,i->m", images, images, 1.0 / self.shift)
        sizes = np.zeros(forms.size)
        np.divide(squares, forms, out=sizes, where=forms > 0.0)
        return sizes

    def start(self, t: int, norms: Array | None, alpha: float, dual: Array) -> None:
        """Begin a target at block norms for a strength, and at a dual point."""
        super().start(t, norms, alpha, dual)
        self.begun[t] = False

    def evaluate(self, targets: Indices, alphas: Array) -> None:
        """Look at the dual points of some targets, and prepare their steps."""
        for batch in self._batches(self._groups(targets)):
            solvers = [(group, self._solver(leader)) for leader, group in batch]
            for group, solve in solvers:
                if solve is None:
                    self.failed[group] = True
            able = [(group, solve) for group, solve in solvers if solve is not None]
            if able:
                self._look(able)

    def _batches(
        self, groups: Iterable[tuple[int, Indices]]
    ) -> Iterator[list[tuple[int, Indices]]]:
        """Yield groups whose roots and images fit into the memory for them."""
        n_kernels, n_samples, _ = self.gram.shape
        batch: list[tuple[int, Indices]] = []
        n_bytes = 0.0
        for leader, group in groups:
            n_bytes += 8.0 * n_samples * (n_samples + 3 * n_kernels * group.size)
            if batch and n_bytes > SETTINGS.groups_bytes:
                yield batch
                batch, n_bytes = [], 0.0
            batch.append((leader, group))
        if batch:
            yield batch

    def _look(self, groups: Sequence[tuple[Indices, Solve]]) -> None:
        """Compute what kernels make of some dual points, and the next steps.

        Products with kernels are for all at once, solves for every group. The dual
        point that a step has led to is right to first order only: what it lacks is
        made up at once.
        """
        everyone = np.concatenate([group for group, _ in groups])
        known = self.begun[everyone].any()
        residual = self._images(everyone)[1] if known else self.y[:, everyone]
        first = 0
        for group, solve in groups:
            last = first + group.size
            new = ~self.begun[group]
            missing = residual[:, first:last].copy()
            missing[:, new] = self.y[:, group[new]]
            self.rho[:, group] += solve(missing)
            first = last
        self.begun[everyone] = True
        images, residual = self._images(everyone)
        first = 0
        for group, solve in groups:
            part = slice(first, first + group.size)
            self._prepare(group, solve, images[:, :, part], residual[:, part])
            first += group.size

    def _images(self, targets: Indices) -> tuple[Array, Array]:
        """Return the images of some dual points, and what their equations lack.

        Of centred dual points, with the best intercepts.
        """
        rho = self.rho[:, targets]
        if self.centres:
            rho -= rho.sum(axis=0) / len(rho)
        images = self.gram.matvec(rho)
        f = np.einsum("mit,mt->it", images, self.eta[:, targets])
        residual = self.y[:, targets] - f
        if self.centres:
            self.intercept[targets] = self.shares @ residual
            residual -= self.intercept[targets]
        residual -= self.shift[:, None] * rho
        self.rho[:, targets], self.f[:, targets] = rho, f
        self.forms[:, targets] = np.einsum("mit,it->mt", images, rho)
        return images, residual

    def _prepare(
        self, group: Indices, solve: Solve, images: Array, residual: Array
    ) -> None:
        """Compute the corrections of a group."""
        # Of every target the residual and then its images, side by side.
        sides = np.concatenate([residual[None], images]).transpose(1, 2, 0)
        found = solve(np.ascontiguousarray(sides).reshape(len(sides), -1))
        found = found.reshape(sides.shape).transpose(1, 0, 2)
        products = np.matmul(sides.transpose(1, 2, 0), found)
        for place, t in enumerate(group.tolist()):
            self.corrections[t] = Correction(
                np.ascontiguousarray(found[place]),
                products[place, 1:, 1:],
                2.0 * products[place, 1:, 0],
            )

    def _groups(self, targets: Indices) -> Iterator[tuple[int, Indices]]:
        """Yield targets whose weights are near those of the first of them."""
        sizes = np.log1p(self.eta[:, targets] * self.sizes[:, None])
        reach = np.where(self.alone[targets], 0.0, np.log(SETTINGS.alike))
        left = np.arange(targets.size)
        while left.size:
            first = left[0]
            apart = np.abs(sizes[:, left] - sizes[:, first, None]).max(axis=0)
            near = apart <= reach[left]
            near[0] = True
            yield int(targets[first]), targets[left[near]]
            left = left[~near]

    def _root(self, leader: int) -> ShiftedRoot | None:
        """Return the root for the weights of a target, None where rounding leaves none.

        It is that of a diagonal matrix where these are zero.
        """
        eta = self.eta[:, leader]
        if not eta.any():
            return ShiftedRoot(1.0 / np.sqrt(self.shift), np.eye(self.shift.size).T)
        total = self.gram.combine(eta).array
        return None if total is None else shifted_root(total, self.shift)

    def _solver(self, leader: int) -> Solve | None:
        """Return what solves with the matrix of a target, B.

        With an intercept solutions have sum zero. None where rounding leaves no root.
        """
        root = self._root(leader)
        if root is None:
            return None
        if not self.centres:
            return lambda sides: root.rest(root.half(sides))
        one = root.rest(root.half(np.ones((len(self.y), 1))))
        one /= one.sum()

        def solve(sides: Array) -> Array:
            found = root.rest(root.half(sides))
            return np.asarray(found - one * found.sum(axis=0))

        return solve

    @np.errstate(all="ignore")
    def step(self, targets: Indices, alphas: Array) -> None:
        """Take the steps of some targets, in their weights and dual points."""
        again = self._last[targets] == alphas[targets]
        self._steps[targets] = np.where(again, self._steps[targets] + 1, 0)
        self._last[targets] = alphas[targets]
        self.alone = self._steps >= SETTINGS.steps_grouped
        largest = np.sqrt(np.maximum(self.forms.max(axis=0), 0.0))
        alphas = np.maximum(alphas, SETTINGS.stride * largest)
        for t in targets.tolist():
            ahead = self.corrections[t]
            if ahead is None:
                self.failed[t] = True
                continue
            eta = self.eta[:, t]
            q = np.maximum(self.forms[:, t] + ahead.change, 0.0)
            pull = q * (np.sqrt(q) / alphas[t] - 1.0)
            try:
                change = nonnegative_step(ahead.curvature, pull, eta)
            except (RuntimeError, ValueError):
                self.failed[t] = True  # Rounding leaves no step.
                continue
            self.eta[:, t] = np.maximum(eta + change, 0.0)
            moves = np.concatenate([[1.0], -change])
            self.rho[:, t] += ahead.images @ moves


def targets_of(problems: Sequence[Problem]) -> ManyTargets:
    """Return problems side by side, in groups where that takes less time.

    A target costs some 4 (n_kernels + 1) products with a matrix in a group, and a third
    of n_samples alone. They are those for which `side_by_side` holds.
    """
    centred_ones = [centred(problem) for problem in problems]
    n_kernels, n_samples, _ = problems[0].gram.shape
    many = len(problems) >= SETTINGS.least_grouped
    thin = SETTINGS.share_grouped * (n_kernels + 1) <= n_samples
    grouped = many and thin and is_squared(problems[0].loss)
    return GroupedTargets(centred_ones) if grouped else ManyTargets(centred_ones)
