"""Factors of centered main kernels, which are not products, and of their products."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from multikernel._typing import Array, Indices
from multikernel.gram.factors import growth
from multikernel.gram.factors.features import CenteredFeatures, ValueFeatures
from multikernel.gram.factors.growth import (
    COMPLETED,
    MOST_VALUES,
    ROUNDING,
    kernel_and_columns,
    rounding_error_share,
)
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.factors.pairs import PairOrder, main_runs
from multikernel.gram.memory import MODEST_BYTES, byte_limit, check_memory
from multikernel.gram.products import LOOPS
from multikernel.kernels.base import Kernel, KernelDictionary, kernel_diagonal
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.products import deferred_centering
from multikernel.linalg import EPS
from multikernel.linalg.tables import (
    distinct_rows,
    equal_shares,
    evenly_spaced,
    row_hashes,
    row_norms,
)
from multikernel.linalg.tall import GroupedFactor, slices_between
from multikernel.linalg.threads import compiled

TILE = 512
"""Maximum number of factor columns on each side of a block of inner products (2 MB)."""

SAMPLED = 2000
"""Number of samples from which the landmarks of a product are first chosen."""

# The ratio is (mean root of the residual diagonal)^2 / (tol * mean diagonal). It was
# 2.5, with 107 landmarks, for the product of two Gaussian kernels of width one on two
# columns of 100 000 normal values: tolerance 1e-6, landmarks chosen from 2000 samples.
FAR = 10.0
"""Ratio of residual to tolerance above which landmarks are chosen again."""

REPEATED = 8
"""Mean number of copies of a row above which equal rows are stored once."""

ROUNDS = 3
"""Maximum number of times that the landmarks of one product are chosen."""


@dataclass(frozen=True, eq=False)
class ProductFactor(GroupedFactor):
    """The factor of the product of two main kernels."""

    # (n_samples,), roots of the diagonal of the residual, which is the product of the
    # matrices Z Z^T of both main kernels minus that of this factor. None if this factor
    # is exact, with all products of two columns.
    roots: Array | None = None
    # Indices of samples, and the Cholesky factor of the product at these samples.
    landmarks: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    triangle: Array = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, eq=False)
class CenteredMains:
    """Centered factors of main kernels, and the factors of their products."""

    # The residual R_m = K_m - Z_m Z_m^T of main kernel m with factor Z_m is positive
    # semidefinite, so the square roots of its diagonal bound all of its quadratic
    # forms. The functions of a centered kernel have mean zero over the centering
    # samples of the kernel.
    stack: LowRankStack  # kernels before they are centered
    shifts: Array  # (total_rank,), means of factor columns over the centering samples
    # (n_mains,), means of the roots of residual diagonals over the centering samples.
    mean_roots: Array
    # Limit on the residual trace of a product's factor, as a share of the product's
    # trace.
    tol: float = 0.0
    # Limit on the bytes of all factors and of the arrays of one pass.
    max_bytes: int | None = None
    # The factors that `product` has computed.
    factor_cache: dict[tuple[int, int], ProductFactor] = field(default_factory=dict)

    @cached_property
    def column_slices(self) -> list[slice]:
        """Return the slice of each main kernel's columns in `stack.factors`."""
        return slices_between(self.stack.offsets)

    def factor(self, main: int) -> Array:
        """Return the centered factor of a main kernel, shape (rank, n_samples)."""
        part = self.column_slices[main]
        return np.asarray(self.stack.factors.T[part] - self.shifts[part, None])

    @cached_property
    def squares(self) -> Array:
        """Return diagonals of Z Z^T for centered factors Z, (n_mains, n_samples)."""
        squares = np.empty(self.stack.shape[:2])
        for main, row in enumerate(squares):
            factor = self.factor(main)
            np.einsum("ri,ri->i", factor, factor, out=row)
        return squares

    @cached_property
    def lengths(self) -> Array:
        """Return the lengths of the rows of centered factors, (n_mains, n_samples)."""
        return np.sqrt(self.squares)

    @cached_property
    def roots(self) -> Array:
        """Return sqrt(diag R_m) of uncentered residuals R_m, (n_mains, n_samples)."""
        residual = self.stack.residual
        zeros = np.broadcast_to(0.0, self.stack.shape[:2])
        return zeros if residual is None else residual.roots

    @property
    def are_exact(self) -> bool:
        """Return whether the factors of all main kernels are exact."""
        return self.stack.residual is None and not self.mean_roots.any()

    @property
    def centered_roots(self) -> Array:
        """Return bounds on sqrt(diag R_m) of centered residuals R_m; see `roots`."""
        return np.asarray(self.roots + self.mean_roots[:, None])

    def main_roots(self, v: Array) -> Array:
        """Return bounds on sqrt(v^T R_m v) of centered residuals R_m, (n_mains,)."""
        # `Residual.bounds` returns the squares of these bounds.
        length = float(np.linalg.norm(v.sum(axis=0)))
        return np.asarray(self.roots @ row_norms(v) + length * self.mean_roots)

    def bound_factors(self, sizes: Array) -> tuple[Array, Array]:
        """Return A, B with v^T R_ij v <= (A[i] @ B[j])^2 for all main kernels i, j."""
        # A and B have shape (n_mains, 2 n_samples). R_ij is the residual of the
        # product of main kernels i and j. The bound holds for all v whose `row_norms`
        # are at most `sizes`, (n_samples,). For one sample, let z_i be the length of
        # its row in the factor of main kernel i, and e_i^2 its diagonal entry in the
        # residual of this kernel. Its diagonal entry in R_ij is at most
        # (z_i e_j + e_i z_j + e_i e_j)^2. The sum over samples of the roots of these
        # bounds times `sizes` is A[i] @ B[j].
        roots = self.centered_roots
        half = (self.lengths + 0.5 * roots) * sizes
        return np.hstack([half, roots]), np.hstack([roots, half])

    def residual_diagonal(self, first: int, second: int) -> tuple[Array | float, float]:
        """Return one kernel's residual diagonal, and its entry in `Residual.means`."""
        # The kernel is main kernel `first` if second < 0, otherwise the product of main
        # kernels `first` and `second`. The diagonal, or a bound on it, has the squares
        # of `Residual.roots`. Products are not centered, so their `means` are zero.
        if second < 0:
            return self.roots[first] ** 2, float(self.mean_roots[first])
        roots = self.product(first, second).roots
        from_product = 0.0 if roots is None else roots**2
        if self.are_exact:
            return from_product, 0.0
        # Diagonals z^2, y^2 of the factors and e^2, f^2 of the residuals of both mains
        # give the bound (z^2 + e^2) (y^2 + f^2) - z^2 y^2.
        z, y = self.lengths[first], self.lengths[second]
        e, f = (self.roots[i] + self.mean_roots[i] for i in (first, second))
        return (z * f) ** 2 + (e * y) ** 2 + (e * f) ** 2 + from_product, 0.0

    def form_of_product(self, first: int, second: int, v: Array) -> float:
        """Return v^T K v, summed over outputs, for the product K of two mains."""
        A, B, columns = self.factor(first), self.factor(second).T, v.reshape(len(v), -1)
        return float(sum(np.sum(((A * column) @ B) ** 2) for column in columns.T))

    def add_forms(
        self,
        order: PairOrder,
        offsets: Indices,
        main_range: tuple[int, int],
        v: Array,
        forms: Array,
    ) -> None:
        """Add v^T K v to `forms` for products K whose first main is in `main_range`."""
        # `main_range` has the first position in order.mains, and the position after the
        # last. `forms` has one entry for each of these products, in the order of
        # `order`; v^T K v is unscaled and summed over the columns of v. `offsets` has
        # the first column of each main kernel in order.mains, and then the number of
        # columns.
        add, columns = compiled(LOOPS, "write_block_squares"), v.reshape(len(v), -1).T
        left_factors = self._tile(order.mains, main_range) * columns[:, None]
        first, pairs = main_range[0], (order.starts, order.partners)
        for start, stop in main_runs(offsets[first:] - offsets[first], TILE):
            later = first + start, first + stop
            right = self._tile(order.mains, later).T
            for left in left_factors:
                add(np.dot(left, right), main_range, later, offsets, *pairs, forms)

    def _tile(self, mains: Indices, main_range: tuple[int, int]) -> Array:
        """Return centered factors of consecutive main kernels as rows of one array."""
        members = mains[slice(*main_range)].tolist()
        return np.concatenate([self.factor(main) for main in members])

    # Factors of products.

    def product(self, first: int, second: int) -> ProductFactor:
        """Return the cached factor of a product, or of a main kernel if second < 0."""
        if second < 0:
            return ProductFactor(self.factor(first))
        key = first, second
        if key not in self.factor_cache:
            A, B = self.factor(first), self.factor(second)
            groups = self._pair_groups(first, second)
            if groups is None:
                factor = self._factorize(A, B)
            else:
                # Samples of a group have equal columns in A and in B, so one sample of
                # each group suffices. `group` has the group of every sample.
                members, group = groups
                factor = self._factorize(A[:, members], B[:, members])
                roots = None if factor.roots is None else factor.roots[group]
                landmarks = members[factor.landmarks]
                factor = replace(factor, group=group, roots=roots, landmarks=landmarks)
            self.factor_cache[key] = factor
        return self.factor_cache[key]

    @cached_property
    def _row_groups(self) -> list[tuple[Indices, Indices] | None]:
        """Return every factor's groups of equal rows; see `distinct_rows`."""
        n_samples = self.stack.shape[1]
        # The groups of a factor are the index of each group's first row, and each row's
        # group number, or None if there are too many groups. With few samples, factors
        # are small, so equal rows are not grouped.
        if n_samples <= SAMPLED:
            return [None for _ in self.column_slices]
        max_groups = n_samples // REPEATED
        Z = self.stack.factors
        return [distinct_rows(Z[:, part], max_groups) for part in self.column_slices]

    def _pair_groups(self, first: int, second: int) -> tuple[Indices, Indices] | None:
        """Return groups of samples with equal rows in both factors; None if many."""
        first_groups, second_groups = self._row_groups[first], self._row_groups[second]
        if first_groups is None or second_groups is None:
            return None
        pairs = first_groups[1] * second_groups[0].size + second_groups[1]
        _, members, group = np.unique(pairs, return_index=True, return_inverse=True)
        return None if REPEATED * members.size > group.size else (members, group)

    def grouped_factor(self, first: int, second: int, scale: float) -> GroupedFactor:
        """Return the factor of scale * K for a product K of two main kernels."""
        # K is the main kernel `first` if second < 0. The factor is stored transposed:
        # equal rows of Z are equal columns of `rows`, stored once, and `group` is the
        # column of each sample.
        if second >= 0:
            factor = self.product(first, second)
            return GroupedFactor(factor.rows, factor.group, np.sqrt(scale))
        groups, rows = self._row_groups[first], self.factor(first)
        members, group = (slice(None), None) if groups is None else groups
        return GroupedFactor(rows[:, members], group, np.sqrt(scale))

    def check_memory(self, n_more: int) -> None:
        """Raise if all factors and `n_more` numbers exceed the memory limit."""
        n_made = sum(factor.rows.size for factor in self.factor_cache.values())
        needed = 8 * (self.stack.factors.size + n_made + n_more)
        if self.max_bytes is None and needed <= MODEST_BYTES:
            return
        n_kernels, n_samples, _ = self.stack.shape
        check_memory(
            f"The factors of the interactions of {n_kernels} kernels on {n_samples} "
            "samples",
            needed,
            byte_limit(self.max_bytes),
            "Use storage='auto', a larger alpha, fewer kernels or categories, or raise "
            "max_bytes.",
        )

    def _factorize(self, A: Array, B: Array) -> ProductFactor:
        """Factorize the product of two kernels, given their factors, by landmarks."""
        # All products of a feature of one kernel and a feature of the other kernel are
        # an exact factor, used if it has few columns.
        if len(A) * len(B) <= MOST_VALUES:
            return ProductFactor((A[:, None] * B).reshape(-1, A.shape[1]))
        widest = min(len(A) * len(B), A.shape[1])
        self.check_memory((widest + len(A) + len(B)) * A.shape[1])
        diagonal = np.einsum("ri,ri->i", A, A) * np.einsum("ri,ri->i", B, B)
        # Landmarks are chosen from candidates. If the residual of other samples adds
        # much to a bound, those with the largest residuals become candidates, too. Of
        # samples with equal columns in A and B, one suffices as a candidate.
        hashes = row_hashes(np.concatenate([A, B]).T)
        candidates = np.unique(hashes, return_index=True)[1]
        candidates = candidates[evenly_spaced(candidates.size, SAMPLED)]
        for _ in range(ROUNDS):
            candidate_rows = A[:, candidates], B[:, candidates]
            pivots, triangle = product_landmarks(*candidate_rows, self.tol)
            landmarks = candidates[pivots]
            rows = A[:, landmarks].T @ A
            rows *= B[:, landmarks].T @ B
            rows = solve_triangular(triangle, rows, lower=True, overwrite_b=True)
            residual = np.maximum(diagonal - np.einsum("ri,ri->i", rows, rows), 0.0)
            residual[landmarks] = 0.0
            bound = float(np.sqrt(residual).mean() ** 2)
            is_small = bound <= FAR * self.tol * diagonal.mean()
            if is_small or candidates.size == diagonal.size:
                break
            worst = np.argpartition(residual, -(SAMPLED // 4))[-(SAMPLED // 4) :]
            candidates = np.union1d(candidates, worst)
        residual += rounding_error_share(landmarks.size) * diagonal
        if not landmarks.size:
            rows = np.zeros((1, diagonal.size))
        roots = np.sqrt(residual)
        return ProductFactor(rows, roots=roots, landmarks=landmarks, triangle=triangle)

    # Functions of kernels at new samples.

    def feature_coefficients(self, first: int, second: int, coefs: Array) -> Array:
        """Return w with features @ w = K coefs, for a product K of two main kernels."""
        # The features of K are the products of a feature of each of the two mains.
        factor = self.product(first, second)
        if factor.roots is None:
            return factor.inner(coefs)
        A, B = (self.factor(main)[:, factor.landmarks] for main in (first, second))
        u = factor.inner(coefs)[: factor.landmarks.size]
        u = solve_triangular(factor.triangle, u, lower=True, trans="T")
        values = np.einsum("rl,sl,lk->rsk", A, B, u, optimize=True)
        return np.asarray(values.reshape(-1, coefs.shape[1]))

    def predictor(self, main: int) -> Kernel:
        """Return a kernel whose features are the columns of a main kernel's factor."""
        # The kernel computes these features for new samples, too.
        shift = self.shifts[self.column_slices[main]]
        features = factor_features(self.stack, main, shift)
        assert self.stack.landmarks is not None
        kernel = self.stack.landmarks.dictionary[main]
        if type(kernel) is not ColumnKernel:
            return features
        return ColumnKernel(features, kernel.columns, kernel.label)


def factor_features(stack: LowRankStack, m: int, shift: Array) -> CenteredFeatures:
    """Return a kernel whose features are the factor of kernel m, minus `shift`."""
    landmarks = stack.landmarks
    assert landmarks is not None
    kernel, points = landmarks.dictionary[m], landmarks.X[landmarks.kernels[m].chosen]
    inner, columns = kernel_and_columns(kernel, points)
    triangle = landmarks.triangle(stack, m) if len(columns) else np.zeros((0, 0))
    return CenteredFeatures(inner, columns, triangle, shift)


def product_landmarks(A: Array, B: Array, tol: float) -> tuple[Indices, Array]:
    """Return the landmarks of a product of kernels, and its Cholesky factor at them."""
    # A and B are the factors, (rank, n_samples), on the samples from which landmarks
    # are chosen; `tol` is the share of the trace that the residual may have.
    # Choosing 117 to 129 landmarks from 2000 samples and factors of 20 columns took 7
    # to 11 ms one by one, and 54 to 93 ms by LAPACK, which needs the whole matrix.
    few = _greedy_landmarks(A, B, tol)
    return _lapack_landmarks(A, B, tol) if few is None else few


def _greedy_landmarks(A: Array, B: Array, tol: float) -> tuple[Indices, Array] | None:
    """Return the result of `product_landmarks`; None if it has too many landmarks."""
    # Landmarks are chosen one by one. If more than 1 / `COMPLETED` of the samples must
    # be landmarks, `_lapack_landmarks` chooses them instead.
    residual = np.einsum("ri,ri->i", A, A) * np.einsum("ri,ri->i", B, B)
    total, largest = float(residual.sum()), float(residual.max(initial=0.0))
    max_rank = residual.size // COMPLETED
    rows = np.empty((max_rank, residual.size))
    landmarks = np.empty(max_rank, dtype=np.intp)
    add_landmark = compiled(growth.LOOPS, "add_landmark")
    for rank in range(max_rank + 1):
        pivot = int(np.argmax(residual)) if residual.size else 0
        small = residual.sum() <= tol * total
        if small or residual[pivot] <= ROUNDING * EPS * largest:
            pivots = landmarks[:rank].copy()
            return pivots, np.ascontiguousarray(np.tril(rows[:rank, pivots].T))
        if rank < max_rank:
            rows[rank] = (A[:, pivot] @ A) * (B[:, pivot] @ B)
            add_landmark(rows, rank, pivot, residual, landmarks)
    return None


def _lapack_landmarks(A: Array, B: Array, tol: float) -> tuple[Indices, Array]:
    """Return the result of `product_landmarks`, by LAPACK's pivoted Cholesky method."""
    K = (A.T @ A) * (B.T @ B)
    total, largest = float(K.trace()), float(K.diagonal().max(initial=0.0))
    if not largest > 0.0:
        return np.empty(0, dtype=np.intp), np.zeros((0, 0))
    # Once every residual diagonal is below tol times the mean diagonal, the trace of
    # the residual is below tol times the trace, and later columns are not needed.
    tolerance = max(ROUNDING * EPS * largest, tol * total / len(K))
    lower, order, rank, _ = dpstrf(K.T, tol=tolerance, lower=1)
    lower = np.tril(lower[:, :rank])
    residual = total - np.cumsum(np.sum(lower**2, axis=0))
    small = np.flatnonzero(residual <= tol * total)
    rank = int(small[0]) + 1 if small.size else int(rank)
    return (order[:rank] - 1).astype(np.intp), lower[:rank, :rank]


def centered_mains(
    mains: KernelDictionary,
    stack: LowRankStack,
    tol: float,
    max_bytes: int | None = None,
) -> CenteredMains:
    """Return low-rank factors of `mains`; a centered kernel has a centered factor."""
    # `stack` has the factors of the same kernels before centering. A factor is centered
    # over the samples that its kernel stores.
    shifts, mean_roots = np.zeros(stack.factors.shape[1]), np.zeros(stack.shape[0])
    for m, part in enumerate(slices_between(stack.offsets)):
        kernel = mains[m]
        centered, rank = deferred_centering(kernel), part.stop - part.start
        if centered is None:
            continue
        features = factor_features(stack, m, np.zeros(rank))
        if isinstance(features.kernel, ValueFeatures):
            continue  # the factor is centered already
        assert centered.samples is not None
        weights = equal_shares(len(centered.samples), centered.weights)
        Z = features.features(centered.samples)
        diagonal = kernel_diagonal(centered.kernel, centered.samples)
        residual = np.maximum(diagonal - np.sum(Z**2, axis=1), 0.0)
        residual += rounding_error_share(rank) * np.abs(diagonal)
        shifts[part] = weights @ Z
        # A factor made of explicit features has no residual.
        if features.landmarks.size:
            mean_roots[m] = weights @ np.sqrt(residual)
    return CenteredMains(stack, shifts, mean_roots, tol, max_bytes)
