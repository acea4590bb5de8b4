"""Selection of the kernel that improves the fit of a residual most.

The improvement I_m = sum_k r_k^T K_m (K_m + c I)^-1 r_k / 2 of kernel K_m is a sum over
outputs k with residuals r_k. Kernels and residuals are whitened (`whitening`), and c >
0 is the ridge. For kernels of low rank in any storage, such as Gaussian kernels of one
column, I_m is computed from their factors. For other kernels, bounds on I_m are refined
until the best kernel is certain.
"""

from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates.forms import check_forms, not_finite
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.matrix import HELD_BYTES, column_runs
from multikernel.linalg import EPS
from multikernel.linalg.landmarks import landmark_factor
from multikernel.linalg.quadrature import QuadratureBounds, start_bounds
from multikernel.linalg.tables import evenly_spaced
from multikernel.linalg.threads import run_blocks
from multikernel.solvers.group_omp.refit import Whitening


@dataclass(frozen=True)
class Settings:
    """Tuning constants of the selection."""

    tie: float = 1e-10
    """Improvements tie if they differ by at most this share, rounding not included."""

    narrow: int = 40
    """Maximum rank of kernels that are factorized for exact scores."""


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class Query:
    """Residuals to fit, with one group of rows for each unfinished path."""

    # Whitened residuals, one for each output; the rows of a group are consecutive.
    rows: Array
    starts: Indices  # first row of each group
    shifts: Array  # the ridge c of each group
    candidates: Mask  # (n_groups, n_kernels)

    def row_shifts(self) -> Array:
        """Return the ridge c for each row of `rows`: the shift of the row's group."""
        sizes = np.diff(np.append(self.starts, self.rows.shape[0]))
        return np.repeat(self.shifts, sizes)

    def by_group(self, values: Array) -> Array:
        """Return the sums of values, (..., n_rows), over the rows of each group."""
        return np.add.reduceat(values, self.starts, axis=-1)


@dataclass(frozen=True, eq=False)
class Winners:
    """Best candidate of each group."""

    kernels: Indices  # one for each group; if kernels tie, the one of smallest index
    improvements: Array
    # The number of products of one kernel with residuals, divided by the number of
    # kernels.
    passes: float


def choose(query: Query, values: Array, ties: Array | float, passes: float) -> Winners:
    """Return each group's candidate with the largest value, the first one if tied."""
    # `values`, (n_groups, n_kernels), are twice the improvements. A value is tied with
    # the largest one if their relative difference is at most `ties`. `passes` is only
    # stored in the result.
    values = np.where(query.candidates, values, -np.inf)
    largest = values.max(axis=1, keepdims=True)
    # argmax returns the first True, so the tied kernel of smallest index.
    kernels = np.argmax(query.candidates & (values * (1.0 + ties) >= largest), axis=1)
    return Winners(kernels, 0.5 * values[np.arange(kernels.size), kernels], passes)


class FactorSelector:
    """Selector by exact scores, for kernels of low rank."""

    # Every factor is rotated once so that its whitened columns z_i are orthogonal, with
    # squared lengths s_i. Then 2 I_m = sum_i (z_i^T r)^2 / (s_i + c), which takes one
    # product with all factors.

    def __init__(self, stack: LowRankStack, whitening: Whitening) -> None:
        self.stack, self.whitening = stack, whitening
        self.prepared = self.least_shift = 0.0
        self.lengths = np.empty(stack.factors.shape[1])
        self.rotations: list[tuple[Indices, Array]] = []
        for rank in np.unique(stack.ranks):
            self._diagonalize(int(rank))

    def _diagonalize(self, rank: int) -> None:
        """Store the principal axes of all factors of one rank, in blocks of kernels."""
        # `columns`, (n_chosen, rank), are the columns of the factors of a block of
        # kernels.
        first = self.stack.offsets[:-1][self.stack.ranks == rank]
        n_samples = self.stack.shape[1]
        step = max(1, 2**20 // (n_samples * rank))
        for start in range(0, first.size, step):
            columns = first[start : start + step, None] + np.arange(rank)
            part = self.stack.factors[:, columns.ravel()].T
            part = self.whitening.project(np.array(self.whitening.scaled(part)))
            if rank == 1:
                self.lengths[columns[:, 0]] = np.einsum("kn,kn->k", part, part)
                continue
            blocks = part.reshape(-1, rank, n_samples)
            lengths, axes = np.linalg.eigh(blocks @ blocks.transpose(0, 2, 1))
            self.lengths[columns] = np.maximum(lengths, 0.0)
            self.rotations.append((columns, axes.transpose(0, 2, 1)))

    def best(self, query: Query) -> Winners:
        """Return the best candidate of each group."""
        return choose(query, self.forms(query), SETTINGS.tie, passes=1.0)

    def forms(self, query: Query) -> Array:
        """Return twice the improvement by each kernel, (n_groups, n_kernels)."""
        # For a residual r and the ridge c, it is sum_i (z_i^T r)^2 / (s_i + c). The z_i
        # are the columns of the kernel's factor, rotated to be orthogonal, of squared
        # lengths s_i.
        products = self.whitening.scaled(query.rows) @ self.stack.factors
        for columns, axes in self.rotations:
            products.T[columns] = axes @ products.T[columns]
        np.square(products, out=products)
        forms = np.add.reduceat(products, query.starts, axis=0)
        forms /= self.lengths + query.shifts[:, None]
        if self.rotations:
            forms = np.add.reduceat(forms, self.stack.offsets[:-1], axis=1)
        return np.asarray(forms)


def narrow_factors(stack: GramStack) -> tuple[Indices, LowRankStack | None, float]:
    """Return kernels of low rank, their factors, and the number of passes made.

    The factors are None if no kernel has low rank. A pass reads the whole stack.
    """
    n_kernels, n_samples, _ = stack.shape
    most = min(SETTINGS.narrow, n_samples // 4)
    all_samples = np.arange(n_samples)
    # A few samples usually show that the rank of a kernel is above `most`. That
    # takes an eighth of the time of a factorization with all samples.
    few = evenly_spaced(n_samples, max(1, 2 * most))
    factors: list[Array | None] = [None] * n_kernels
    is_read = np.zeros(n_kernels, dtype=bool)

    def pivoted(K: Array) -> tuple[float, Array, Indices]:
        """Return the tolerance, pivoted Cholesky factor and pivots of a matrix K."""
        # The factorization stops if no diagonal entry of K - Z Z^T exceeds `tol`.
        tol = 8.0 * EPS * float(K.diagonal().max())
        factor, pivots = landmark_factor(K.__getitem__, K.diagonal(), tol, most + 1)
        return tol, factor, pivots.astype(np.intp)

    def factorize(m: int) -> None:
        """Store the factor of a kernel if its rank is low."""
        # A submatrix cannot have a higher rank than the matrix.
        if few.size < n_samples and pivoted(stack.entries(m, few, few))[2].size > most:
            return
        is_read[m] = True
        K = stack.entries(m, all_samples, all_samples)
        tol, factor, pivots = pivoted(K)
        if not 0 < pivots.size <= most:
            return
        # The residual of an indefinite matrix may be large although its diagonal is
        # small.
        if np.abs(K - factor @ factor.T).max() <= tol:
            factors[m] = factor

    run_blocks(factorize, range(n_kernels))
    factor_of = {m: factor for m, factor in enumerate(factors) if factor is not None}
    kernels = np.array(list(factor_of), dtype=np.intp)
    probed = (few.size / n_samples) ** 2 if few.size < n_samples else 0.0
    passes = probed + float(is_read.mean())
    if not factor_of:
        return kernels, None, passes
    ends = np.cumsum([factor.shape[1] for factor in factor_of.values()])
    Z = np.hstack(list(factor_of.values()))
    return kernels, LowRankStack(Z, np.append(0, ends)), passes


class BoundSelector:
    """Selector by certified bounds, refined for kernels that can still be the best."""

    def __init__(self, stack: GramStack, whitening: Whitening) -> None:
        self.stack, self.whitening = stack, whitening
        self.traces = _traces(stack, whitening)
        self.least_shift = 1e-12 * float(self.traces.whitened.max())
        self.order = np.arange(stack.shape[0])
        self.prepared = 0.0 if whitening.direction is None else 1.0
        # Kernels of low rank have exact scores instead of bounds.
        self.narrow: Indices = np.empty(0, dtype=np.intp)
        self.exact: FactorSelector | None = None
        n_kernels, n_samples, _ = stack.shape
        if 8 * SETTINGS.narrow * n_kernels * n_samples <= HELD_BYTES:
            self.narrow, factors, passes = narrow_factors(stack)
            self.prepared += passes
            if factors is not None:
                self.exact = FactorSelector(factors, whitening)

    def best(self, query: Query) -> Winners:
        """Return the best candidate of each group."""
        self._check_shift(query)
        # Bounds are on twice the improvement by each kernel, (n_groups, n_kernels). The
        # kernels `narrow` have exact scores. Bounds of other kernels are refined while
        # they are not below `leader`, the largest lower bound of a group.
        bounds = _ImprovementBounds(self.stack, self.whitening, self.traces, query)
        if self.exact is not None:
            scores = self.exact.forms(query).T
            bounds.store(self.narrow, scores, scores)
        bounds.run(self.order[bounds.undecided_kernels()[self.order]])
        # Bounds order the next query: strong kernels come first, so that weak kernels
        # are soon excluded.
        least = np.maximum(bounds.leader, np.finfo(float).tiny)[:, None]
        with np.errstate(over="ignore"):  # If the leader is zero, ratios overflow.
            strength = bounds.upper / least
        self.order = np.argsort(-strength.max(axis=0), kind="stable")
        middle = 0.5 * (bounds.lower + bounds.upper)
        passes = bounds.products / self.stack.shape[0]
        return choose(query, middle, 2.0 * bounds.resolution, passes)

    def _check_shift(self, query: Query) -> None:
        """Raise if the ridge is below the rounding errors of the Gram matrices."""
        traces = self.traces.whitened
        largest = int(np.argmax(traces))
        least = float(query.shifts.min())
        if least < self.least_shift:
            raise UnsupportedProblemError(
                "The ridge strength (in estimators, alpha times the sum of sample "
                f"weights) is {least:.3g}, below the rounding error of Gram matrix "
                f"{largest} with trace {traces[largest]:.3g}, so kernels cannot be "
                "compared. Increase alpha, scale kernels down, or use "
                "storage='low_rank' if they have low rank."
            )


Selector = FactorSelector | BoundSelector
"""Selector of kernels from a stack; `prepared` is its number of passes before the first
query, and `least_shift` the smallest ridge above rounding errors."""


@dataclass(frozen=True, eq=False)
class _Traces:
    """Traces of S K S and P S K S P for each kernel K; `Whitening` defines S and P."""

    raw: Array  # the sum of |diag(S K S)|
    whitened: Array  # the trace of the whitened kernel P S K S P


def _traces(stack: GramStack, whitening: Whitening) -> _Traces:
    """Return both traces of each kernel; `whitened` is enlarged for rounding errors."""
    n_kernels, n_samples, _ = stack.shape
    squares = whitening.scaled(whitening.scaled(np.ones(n_samples)))
    whitened, raw = np.empty((2, n_kernels))
    # A few kernels at a time: diagonals of many products take more memory than their
    # factors.
    for run in column_runs(n_kernels, n_samples):
        part = stack if run.size == n_kernels else stack.once(run)
        diagonals = part.diagonals()
        whitened[run] = np.sum(diagonals * squares, axis=1)
        raw[run] = np.sum(np.abs(diagonals) * squares, axis=1)
    if whitening.direction is not None:
        # For the unit vector u in `direction`, tr(P S K S P) = tr(S K S) - u^T S K S u.
        mean = whitening.scaled(whitening.direction)
        forms = stack.quadratic_forms(mean)
        check_forms(stack, forms, mean)
        whitened = whitened - forms
    return _Traces(raw, np.maximum(whitened, 0.0) + 1e-12 * raw)


@dataclass
class _ImprovementBounds:
    """Bounds on the improvement by each kernel, and the best one of each group."""

    stack: GramStack
    whitening: Whitening
    traces: _Traces
    query: Query
    products: int = 0  # products of one kernel with the residuals
    lock: Lock = field(default_factory=Lock)

    # Bounds on 2 I_m, (n_groups, n_kernels); `leader`, (n_groups,), contains the
    # largest lower bounds, and `resolution` the relative errors up to which values are
    # tied.

    def __post_init__(self) -> None:
        self.lower = np.zeros(self.query.candidates.shape)
        self.upper = np.where(self.query.candidates, np.inf, -np.inf)
        self.leader = np.zeros(self.query.shifts.size)
        # Values tie if they differ by less than `resolution`, relatively. Pivots of a
        # factorization have errors of eps times the trace, which matter in comparison
        # with the ridge.
        relative = self.traces.whitened / self.query.shifts[:, None]
        self.resolution = SETTINGS.tie + 8.0 * EPS * relative

    def undecided_kernels(self) -> Mask:
        """Return a mask of kernels that can still be the best of a group."""
        open_kernels = self._can_win(np.arange(self.stack.shape[0]))
        open_kernels &= self.lower < self.upper
        return np.asarray(np.any(open_kernels, axis=0))

    def _can_win(self, kernels: Indices) -> Mask:
        """Return whether each kernel can be a group's best, (n_groups, n_chosen)."""
        # It can if it is a candidate of the group and its upper bound on the
        # improvement is not below `leader`, the largest lower bound of the group.
        upper = self.upper[:, kernels] * (1.0 + self.resolution[:, kernels])
        beaten = upper < self.leader[:, None]
        return np.asarray(self.query.candidates[:, kernels] & ~beaten)

    def run(self, kernels: Indices) -> None:
        """Refine the bounds of kernels until each is excluded or exact."""
        n_samples = self.stack.shape[1]
        # The kernels that a thread processes together stay in its cache.
        size = int(np.clip(2**21 // n_samples**2, 1, 64))
        chunks = [kernels[i : i + size] for i in range(0, kernels.size, size)]
        run_blocks(self._refine, chunks)

    def _refine(self, kernels: Indices) -> None:
        """Refine the bounds of some kernels by Lanczos steps."""
        multiply = self.stack.resident_products(kernels)
        bounds = start_bounds(
            self.query.rows, self.query.row_shifts(), self.traces.whitened[kernels]
        )
        remaining = np.arange(kernels.size)
        # In exact arithmetic, bounds are equal after n_samples steps; rounding delays
        # this.
        for _ in range(2 * (self.stack.shape[1] + 1)):
            images = multiply(remaining, self.whitening.scaled(bounds.basis))
            images = self.whitening.project(self.whitening.scaled(images))
            bounds.advance(images)
            refined = kernels[remaining]
            self._update(refined, bounds)
            lower, upper = self.lower[:, refined], self.upper[:, refined]
            is_inexact = upper - lower > self.resolution[:, refined] * upper
            undecided = self._can_win(refined) & is_inexact
            keep = np.any(undecided, axis=0)
            if not keep.any():
                return
            if not keep.all():
                remaining, bounds = remaining[keep], bounds.keep(keep)

    def _update(self, kernels: Indices, bounds: QuadratureBounds) -> None:
        """Store the bounds of kernels; update the best lower bound of each group."""
        self._check(kernels, bounds.diagonal.min(axis=1))
        by_group = self.query.by_group
        self.store(kernels, by_group(bounds.lower), by_group(bounds.upper))
        with self.lock:
            self.products += kernels.size

    def store(self, kernels: Indices, below: Array, above: Array) -> None:
        """Store new bounds, (n_chosen, n_groups), of kernels; update `leader`."""
        lower, upper = below.T, above.T
        candidates = self.query.candidates[:, kernels]
        with self.lock:
            self.lower[:, kernels] = lower
            self.upper[:, kernels] = np.where(candidates, upper, -np.inf)
            best = np.where(candidates, lower, 0.0).max(axis=1)
            np.maximum(self.leader, best, out=self.leader)

    def _check(self, kernels: Indices, forms: Array) -> None:
        """Raise an error if a kernel's quadratic form is negative or not finite."""
        is_sound = forms >= -ROUNDING * self.traces.raw[kernels]
        if is_sound.all():
            return
        worst = int(np.argmin(is_sound))
        if not np.isfinite(forms[worst]):
            kernel = int(kernels[worst])
            raise IndefiniteKernelError(not_finite(kernel), kernel=kernel)
        raise IndefiniteKernelError(
            f"Gram matrix {kernels[worst]} is not positive semidefinite: it has an "
            f"eigenvalue of {forms[worst]:.3g} or less, and its trace is "
            f"{self.traces.raw[kernels[worst]]:.3g}. Clip its negative "
            "eigenvalues, or omit the matrix.",
            kernel=int(kernels[worst]),
        )
