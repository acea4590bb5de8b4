r"""Targets in small spaces of dual points: the squared loss, for many at once.

The dual point of a target is sought in the span of a few vectors, V, orthonormal with
the inner product of D:

.. math:: \max_c \; c^\top V^\top y - \tfrac{1}{2} \|c\|^2 \quad
    \text{s.t.} \quad c^\top V^\top K_m V c \le \alpha^2 .

That is a problem of `many` with matrices of as many rows as V has columns, for any
strength. Its solution satisfies every constraint of the whole problem. What it lacks is
the residual :math:`r = y - b - D \rho - \sum_m \eta_m K_m \rho`, and the duality gap is
:math:`r^\top D^{-1} r / 2`, as in a Galerkin method. Where it is too large,
:math:`B^{-1} r` joins V, with B the matrix :math:`D + \sum_m \eta_m K_m` of a target
whose weights are near: it is what conjugate gradients would go along, but weights move
meanwhile and nothing is forgotten along the path. A dozen vectors take a target from
the largest strength to the lowest.

For many targets all there is to do are products and solves with many columns at once,
which read a matrix once for all of them: a new vector costs n_kernels + 1 products, and
a look at a dual point as many.
"""

from collections.abc import Iterator

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.threads import compiled
from multikernel.solvers.spicy.many import ManyTargets
from multikernel.solvers.spicy.settings import SETTINGS

LOOPS = "multikernel.solvers.spicy.span_loops"

MOST = 80
"""Newton steps of a small problem at most: from no kernels they take 4 to 10."""


class SpannedTargets(ManyTargets):
    """What is known of every target with the squared loss; see `ManyTargets`."""

    patience = SETTINGS.spanned_in_vain

    def __post_init__(self) -> None:
        super().__post_init__()
        n_kernels, n_samples, _ = self.gram.shape
        size = len(self.problems)
        self.shift = self.loss.conjugate_hessian(self.y[:, 0], -self.y[:, 0])
        self.shares = (1.0 / self.shift) / (1.0 / self.shift).sum()
        self.typical = self._typical_eigenvalues()
        self.residual = np.zeros_like(self.y)
        self.sizes = np.zeros(size, dtype=np.intp)  # vectors of every target
        self.basis = np.empty((size, 0, n_samples))
        self.sides, self.coefs = np.empty((2, size, 0))
        self.grams = np.empty((size, n_kernels, 0, 0))
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
        typical = np.zeros(forms.size)
        np.divide(squares, forms, out=typical, where=forms > 0.0)
        return typical

    def start(self, t: int, norms: Array | None, alpha: float, dual: Array) -> None:
        """Begin target t for a strength, at block norms (or none) and a dual point.

        Its space of dual points is empty; `evaluate` makes `dual` the first vector.
        """
        super().start(t, norms, alpha, dual)
        self.rho[:, t] = dual
        self.sizes[t] = 0

    def evaluate(self, targets: Indices, alphas: Array) -> None:
        """Look at the dual points of some targets."""
        new = targets[self.sizes[targets] == 0]
        if new.size:
            self._append(new, self._first(new))
            self._settle(new, alphas, 0)
            begun = new[self.eta[:, new].any(axis=0)]
            for part in self._parts(begun):
                self._append_tangents(part)
            self._settle(begun, alphas, 0)
        self._look(targets)

    def _first(self, targets: Indices) -> Array:
        """Return the first vectors: given dual points, else optima for no kernels."""
        rho, y = self.rho[:, targets], self.y[:, targets]
        b = self.shares @ y if self.centres else np.zeros(targets.size)
        return np.where(rho.any(axis=0), rho, (y - b) / self.shift[:, None])

    def _append_tangents(self, targets: Indices) -> None:
        """Add B^-1 r, and the derivatives of the dual point in every positive weight.

        In a space of one vector the forms of all kernels rise and fall together, so
        that they determine no weights.
        """
        self._look(targets)
        images = self.gram.matvec(self.rho[:, targets])
        sides = np.concatenate([self.residual[None, :, targets], images])
        for leader, group in self._groups(targets):
            sides_of_group = sides[:, :, np.searchsorted(targets, group)]
            columns = sides_of_group.transpose(1, 0, 2).reshape(len(self.y), -1)
            solved = self._solved(leader, columns)
            if solved is None:
                self.failed[group] = True
                continue
            solved = solved.reshape(len(self.y), *sides_of_group.shape[::2])
            self._append(group, solved[:, 0])
            for m, weights in enumerate(self.eta[:, group]):
                used = weights > 0.0
                if used.any():
                    self._append(group[used], solved[:, 1 + m, used])

    @np.errstate(all="ignore")
    def step(self, targets: Indices, alphas: Array) -> None:
        """Take a step for some targets: a new vector, then the best weights.

        The new vector is B^-1 r, with one B for a group of targets whose weights are
        near each other. The first step for a strength adds none.
        """
        again = self._last[targets] == alphas[targets]
        self._steps[targets] = np.where(again, self._steps[targets] + 1, 0)
        self._last[targets] = alphas[targets]
        for leader, group in self._groups(targets[again]):
            solved = self._solved(leader, self.residual[:, group])
            if solved is None:
                self.failed[group] = True
                continue
            self._append(group, solved)
        self._settle(targets, alphas, MOST)

    def _settle(self, targets: Indices, alphas: Array, most: int) -> None:
        """Solve the small problems of some targets in at most `most` Newton steps."""
        eta = np.ascontiguousarray(self.eta[:, targets].T)
        settled = np.zeros(targets.size, dtype=bool)
        compiled(LOOPS, "settle")(
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

    def _look(self, targets: Indices) -> None:
        """Compute f, residual, intercept and forms at dual points of some targets."""
        for part in self._parts(targets):
            rho = np.empty((part.size, len(self.y)))
            combine = compiled(LOOPS, "combine")
            combine(part, self.sizes, self.basis, self.coefs, rho)
            rho = np.ascontiguousarray(rho.T)
            if self.centres:
                rho -= rho.sum(axis=0) / len(rho)
            images = self.gram.matvec(rho)
            f = np.einsum("mit,mt->it", images, self.eta[:, part])
            residual = self.y[:, part] - f
            if self.centres:
                self.intercept[part] = self.shares @ residual
                residual -= self.intercept[part]
            residual -= self.shift[:, None] * rho
            self.rho[:, part], self.f[:, part] = rho, f
            self.residual[:, part] = residual
            self.forms[:, part] = np.einsum("mit,it->mt", images, rho)

    def _parts(self, targets: Indices) -> list[Indices]:
        """Return targets in parts whose images fit into the memory for them."""
        n_kernels, n_samples, _ = self.gram.shape
        most = max(1, int(SETTINGS.images_bytes // (8 * n_kernels * n_samples)))
        return [targets[k : k + most] for k in range(0, targets.size, most)]

    def _append(self, targets: Indices, vectors: Array) -> None:
        """Add vectors, (n_samples, n_chosen), to the spaces of some targets."""
        self._make_room(targets)
        rows = np.ascontiguousarray(vectors.T)
        compiled(LOOPS, "orthonormalise")(
            targets, self.sizes, self.basis, self.shift, rows
        )
        new = rows.any(axis=1) & np.isfinite(rows).all(axis=1)
        self.failed[targets[~new]] = True
        some, rows = targets[new], rows[new]
        self.basis[some, self.sizes[some]] = rows
        sides = np.einsum("ti,it->t", rows, self.y[:, some])
        self.sides[some, self.sizes[some]] = sides
        self.sizes[some] += 1
        extend = compiled(LOOPS, "extend")
        for part in self._parts(np.arange(some.size)):
            images = self.gram.matvec(np.ascontiguousarray(rows[part].T))
            images = np.ascontiguousarray(images.transpose(2, 0, 1))
            extend(some[part], self.sizes, self.basis, images, self.grams)

    def _make_room(self, targets: Indices) -> None:
        """Have room for one more vector of some targets."""
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

    def _groups(self, targets: Indices) -> Iterator[tuple[int, Indices]]:
        """Yield a leading target, and the targets whose weights are near its own.

        Near are weights (eta) that differ by a factor of at most `SETTINGS.alike`:
        such targets share a factorisation. A target that took many steps is alone.
        """
        sizes = np.log1p(self.eta[:, targets] * self.typical[:, None])
        alone = self._steps[targets] > SETTINGS.steps_grouped
        reach = np.where(alone, 0.0, np.log(SETTINGS.alike))
        remaining = np.arange(targets.size)
        while remaining.size:
            first = remaining[0]
            apart = np.abs(sizes[:, remaining] - sizes[:, first, None]).max(axis=0)
            near = apart <= reach[remaining]
            near[0] = True
            yield int(targets[first]), targets[remaining[near]]
            remaining = remaining[~near]

    def _solved(self, leader: int, sides: Array) -> Array | None:
        """Return B^-1 times some columns, with the B of a target.

        With an intercept solutions have sum zero. None where rounding leaves no root.
        """
        ones = np.ones((len(sides), 1))
        columns = np.hstack([ones, sides]) if self.centres else sides
        eta = self.eta[:, leader]
        if not eta.any():
            solved = columns / self.shift[:, None]
        else:
            try:
                solved = self.gram.combine(eta).solve(columns, shift=self.shift)
            except np.linalg.LinAlgError:
                return None
        if not self.centres:
            return solved
        one, rest = solved[:, :1], solved[:, 1:]
        return np.asarray(rest - one * (rest.sum(axis=0) / one.sum()))
