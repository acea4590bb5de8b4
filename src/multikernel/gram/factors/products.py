"""Stacks of all products of two kernels that are stored as factors.

The form rho^T K rho of the elementwise product K of Z_i Z_i^T and Z_j Z_j^T is the
squared Frobenius norm of Z_i^T diag(rho) Z_j, so one matrix product gives the forms of
all products. Factors of products are computed for active kernels only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.factors.centered import (
    TILE,
    CenteredMains,
    ProductFactor,
    centered_mains,
)
from multikernel.gram.factors.factorize import refine
from multikernel.gram.factors.features import ProductFeatures
from multikernel.gram.factors.growth import MOST_VALUES
from multikernel.gram.factors.landmarks import Landmarks
from multikernel.gram.factors.low_rank import LowRankStack, Residual
from multikernel.gram.factors.pairs import PairOrder, main_runs, pair_order
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.products import ProductsOfMains
from multikernel.gram.refine import Refinement, refined
from multikernel.kernels.base import Kernel
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import CENTERING_ROWS
from multikernel.kernels.terms import FactorIndices
from multikernel.linalg import EPS
from multikernel.linalg.tables import row_norms
from multikernel.linalg.tall import GroupedFactor, as_slice

FINER = 1e-3
"""Factor by which refinement multiplies the tolerance of products."""


@dataclass(frozen=True, eq=False)
class ProductLandmarks(Landmarks):
    """Landmarks of the main kernels of a stack of products."""

    # The stack centers its main kernels, but not their products.
    centered = False

    @cached_property
    def scales(self) -> Array:
        """Return ones, (n_kernels,): the stack itself stores the kernels' scales."""
        return np.broadcast_to(1.0, len(self.kernels))

    def predictor(self, stack: GramStack, m: int) -> Kernel:
        """Return kernel m as an object that computes its features of new samples."""
        assert isinstance(stack, FactoredProducts)
        first, second = stack.terms[m].tolist()
        first_kernel = stack.mains.predictor(first)
        if second < 0:
            return first_kernel
        label = getattr(self.dictionary[m], "name", "")
        return ProductFeatures(first_kernel, stack.mains.predictor(second), label)

    def widths(self, stack: GramStack, kernels: Indices) -> tuple[int, ...]:
        """Return the numbers of features of some kernels of a stack."""
        return super().widths(stack.once(kernels), np.arange(kernels.size))

    def coefficients(
        self, stack: GramStack, m: int, coefs: Array
    ) -> tuple[Array, Array]:
        """Return w with features @ w = K_m coefs, and zeros: no constants are added."""
        # See `Landmarks.coefficients`.
        assert isinstance(stack, FactoredProducts)
        first, second = stack.terms[m].tolist()
        values = stack.mains.feature_coefficients(first, second, coefs)
        return stack.scales[m] * values, np.zeros(coefs.shape[1])


@dataclass(frozen=True, eq=False)
class FactoredProducts(ProductsOfMains):
    """Factors of centered main kernels, and products of two of these kernels."""

    # `take` computes a factor for each chosen product, which then defines its matrix.
    mains: CenteredMains
    # (n_kernels, 2), both main kernels of a product; (m, -1) for main kernel m.
    terms: FactorIndices
    scales: Array  # (n_kernels,), numbers that multiply the kernels
    landmarks: ProductLandmarks | None = None  # if factors may be refined
    chosen: Indices | None = None  # indices in `landmarks`, all by default

    makes_factors = True

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return len(self.terms), *self.mains.stack.shape[1:]

    @cached_property
    def _order(self) -> PairOrder:
        """Return the products in the order in which a pass computes them."""
        return pair_order(np.asarray(self.terms))

    @cached_property
    def _main_offsets(self) -> Indices:
        """Return the first column of each kernel in `_order.mains`, and the total."""
        ranks = self.mains.stack.ranks[self._order.mains]
        return np.concatenate([[0], np.cumsum(ranks)])

    def _inexact_factors(self) -> Iterator[tuple[int, ProductFactor, Array]]:
        """Yield index, factor and residual roots of products that are approximated."""
        factors = self.mains.factor_cache
        has_residuals = any(factor.roots is not None for factor in factors.values())
        for m in self._products.tolist() if has_residuals else ():
            factor = factors.get(tuple(self.terms[m].tolist()))
            if factor is not None and factor.roots is not None:
                yield m, factor, factor.roots

    @property
    def paired(self) -> Indices:
        """Return the main kernels that are in at least one product."""
        return self._order.mains

    @property
    def all_exact(self) -> bool:
        """Return whether all factors, of main kernels and of products, are exact."""
        mains = self.mains.stack
        widest = int(mains.ranks[self.paired].max(initial=1))
        return self.mains.are_exact and widest**2 <= MOST_VALUES

    def main_stack(self) -> GramStack:
        """Return the stack of this stack's main kernels, before they are centered."""
        return self.mains.stack.take(self.terms[self.main_kernels][:, 0])

    # Products with vectors.

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        forms = np.empty(self.shape[0])
        for kernels, values in self._forms_in_runs(v):
            forms[kernels] = values
        for m, factor, _ in self._inexact_factors():
            forms[m] = self.scales[m] * np.sum(factor.inner(v) ** 2)
        return forms

    def _forms_in_runs(self, v: Array) -> Iterator[tuple[Indices, Array]]:
        """Yield indices and quadratic forms of main kernels, then of products."""
        # Forms are scaled, and do not include the residuals of `mains`.
        if self.main_kernels.size:
            vectors, stack = v.reshape(len(v), -1).T, self.mains.stack
            # The form v^T Z Z^T v is the squared length of Z^T v, for centered Z.
            inner = vectors @ stack.factors
            inner -= np.multiply.outer(vectors.sum(axis=1), self.mains.shifts)
            sums = np.add.reduceat((inner**2).sum(axis=0), stack.offsets[:-1])
            main_forms = sums[self.terms[self.main_kernels][:, 0]]
            yield self.main_kernels, self.scales[self.main_kernels] * main_forms
        # Each run has the products whose first main kernel is in a short range, so that
        # the factors in this range fit in the cache.
        order, offsets = self._order, self._main_offsets
        for main_range in main_runs(offsets, TILE):
            products = order.part(*main_range)
            if products.size:
                forms = np.zeros(products.size)
                self.mains.add_forms(order, offsets, main_range, v, forms)
                forms *= self.scales[products]
                yield products, forms

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        columns = v.reshape(len(v), -1)
        images = np.zeros((*self.shape[:2], columns.shape[1]))
        for m in self.main_kernels.tolist():
            Z = self.mains.factor(int(self.terms[m, 0]))
            images[m] = Z.T @ (Z @ columns)
        for k, column in enumerate(columns.T):
            self._write_images(column, images[:, :, k])
        for m, factor, _ in self._inexact_factors():
            images[m] = factor.times(factor.inner(columns))
        images *= self.scales[:, None, None]
        return images.reshape(*self.shape[:2], *v.shape[1:])

    def _write_images(self, v: Array, out: Array) -> None:
        """Write the unscaled image K_m v of each product K_m of mains to out[m]."""
        # The image is the diagonal of Z_i Z_i^T diag(v) Z_j Z_j^T, with the factors Z_i
        # and Z_j of both main kernels.
        if not self._products.size:
            return
        (mains, positions), offsets = self._product_mains, self._main_offsets
        factors = [self.mains.factor(main) for main in mains.tolist()]
        Z = np.concatenate(factors)
        blocks = np.dot(Z * v, Z.T)
        for m, (i, j) in zip(self._products.tolist(), positions.tolist(), strict=True):
            block = blocks[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]
            np.einsum("ri,ri->i", factors[i], block @ factors[j], out=out[m])

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        images = np.zeros(coefs.shape)
        for m in np.flatnonzero(coefs.reshape(len(coefs), -1).any(axis=1)).tolist():
            factor = self.mains.product(*self.terms[m].tolist())
            images[m] = self.scales[m] * factor.times(factor.inner(coefs[m]))
        return images

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""
        nonzero = np.flatnonzero(weights)
        return self.take(nonzero).combine(weights[nonzero])

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        mains = np.empty((self.mains.stack.shape[0], self.shape[1], np.size(indices)))
        terms = np.asarray(self.terms)
        for main in np.unique(terms[terms >= 0]).tolist():
            Z = self.mains.factor(main)
            mains[main] = Z.T @ Z[:, indices]
        columns = self._multiplied(mains)
        for m, factor, _ in self._inexact_factors():
            columns[m] = factor.times(factor.rows_of(indices))
        columns *= self.scales[:, None, None]
        return columns

    # Diagonals, traces, and numbers of stored entries.

    @property
    def _main_diagonals(self) -> Array:
        return self.mains.squares

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        diagonals = self._multiplied(self._main_diagonals)
        diagonals *= self.scales[:, None]
        return diagonals

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        squares = self._main_diagonals
        weights = np.ones(self.shape[1]) if shares is None else shares
        traces = self._per_kernel(squares @ weights, squares, squares, weights)
        traces *= self.scales
        return traces

    def _per_kernel(
        self, mains: Array, left: Array, right: Array, weights: Array | float = 1.0
    ) -> Array:
        """Return mains[i] for main i, (weights * left[i]) @ right[j] for product ij."""
        values = np.empty(self.shape[0])
        values[self.main_kernels] = mains[self.terms[self.main_kernels][:, 0]]
        order, members = self._order, self._order.mains
        right = right[as_slice(members)]
        step = TILE // 4
        for start in range(0, members.size, step):
            pair_starts = order.starts[start : start + step + 1]
            if pair_starts[0] == pair_starts[-1]:
                continue
            rows = np.repeat(np.arange(pair_starts.size - 1), np.diff(pair_starts))
            block = np.dot(left[members[start : start + step]] * weights, right.T)
            cols = order.partners[pair_starts[0] : pair_starts[-1]]
            values[order.part(start, start + pair_starts.size - 1)] = block[rows, cols]
        return values

    def held_numbers(self) -> Array:
        """Return the number of feature values of each kernel, shape (n_kernels,)."""
        ranks = np.append(self.mains.stack.ranks, 1)[np.asarray(self.terms)]
        return np.asarray(float(self.shape[1]) * np.prod(ranks, axis=1))

    def pass_numbers(self) -> float:
        """Return the number of entries in the factors of the main kernels."""
        return float(self.mains.stack.factors.size)

    # Residuals.

    def residual_bounds(self, v: Array) -> Array:
        """Bound the residuals' quadratic forms; see `GramStack.residual_bounds`."""
        mains, sizes, bounds = self.mains, row_norms(v), np.zeros(self.shape[0])
        # A residual has a part from the residuals of the main kernels. It has another
        # part if the product's own factor is approximate.
        if not mains.are_exact:
            # `bound_factors` gives the root of a product's bound as A[i] @ B[j].
            A, B = mains.bound_factors(sizes)
            bounds = self._per_kernel(mains.main_roots(v), A, B) ** 2
            bounds *= self.scales
        for m, factor, roots in self._inexact_factors():
            # The approximation of a product by its own factor adds a residual. For many
            # samples, the bound from the roots of the diagonal of this residual is
            # loose, so also compute its form.
            first, second = self.terms[m].tolist()
            form = mains.form_of_product(first, second, v)
            form -= float(np.sum(factor.inner(v) ** 2))
            bound = float(roots @ sizes) ** 2
            bounds[m] += self.scales[m] * min(max(form, 0.0), bound)
        return bounds

    def residual_traces(self, shares: Array) -> Array:
        """Return bounds on the residuals' traces; see `GramStack.residual_traces`."""
        # With squared row lengths z^2 of factors and diagonals e^2 of residuals of main
        # kernels i and j, the diagonal of the residual of their product is at most
        # z_i^2 e_j^2 + e_i^2 z_j^2 + e_i^2 e_j^2.
        residuals, squares = self.mains.centered_roots**2, self.mains.lengths**2
        halves = (squares + 0.5 * residuals) * shares
        left, right = np.hstack([halves, residuals]), np.hstack([residuals, halves])
        traces = self._per_kernel(residuals @ shares, left, right)
        traces *= self.scales
        # Some products have approximate factors, whose residuals are added.
        for m, _, roots in self._inexact_factors():
            traces[m] += self.scales[m] * float(roots**2 @ shares)
        return traces

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of full kernels, not of their factors; nan if unknown."""
        # For more samples, refinement is cheaper than centering every block again.
        if self.landmarks is None or self.shape[1] > CENTERING_ROWS:
            return np.full(kernels.size, np.nan)
        forms = self.landmarks.full_forms(self._landmark_indices(kernels), v)
        return np.asarray(self.scales[kernels] * forms)

    def _landmark_indices(self, kernels: Indices) -> Indices:
        """Convert indices of kernels in this stack to indices in `self.landmarks`."""
        return kernels if self.chosen is None else self.chosen[kernels]

    def refine(
        self, refinement: Refinement, max_bytes: int | None = None
    ) -> "FactoredProducts | None":
        """Return the stack with smaller residuals, or None if that is impossible."""
        mains, landmarks = self.mains, self.landmarks
        if landmarks is None or not refinement.goals:
            return None
        dictionary = landmarks.dictionary
        assert isinstance(dictionary, InteractionDictionary)
        sizes = row_norms(refinement.dual)
        # Assume that residuals at the centering samples are as large as at the others.
        sizes = sizes + sizes.mean()
        goals = self._main_goals(sizes, refinement.goals)
        stack = refine(mains.stack, sizes, goals, max_bytes) if goals else mains.stack
        tol = max(FINER * mains.tol, EPS)
        if tol == mains.tol and not np.any(stack.ranks > mains.stack.ranks):
            return None
        finer_mains = centered_mains(dictionary.mains, stack, tol)
        finer_mains = replace(
            mains,
            stack=stack,
            shifts=finer_mains.shifts,
            mean_roots=finer_mains.mean_roots,
            tol=tol,
            factor_cache={},
        )
        return replace(self, mains=finer_mains)

    def _main_goals(self, sizes: Array, goals: Mapping[int, float]) -> dict[int, float]:
        """Return limits on main kernels' residuals that imply the limits `goals`."""
        # goals[m] limits v^T E_m v, where E_m is the residual of kernel m, and v a dual
        # point, whose rows have norms of at most `sizes`. If the residual E_i of main
        # kernel i must shrink for these goals, the result has a limit on v^T E_i v with
        # key i.
        left, right = self.mains.bound_factors(sizes)
        main_roots, product_roots = self.mains.roots @ sizes, left @ right.T
        landmarks = self.mains.stack.landmarks
        assert landmarks is not None
        main_goals: dict[int, float] = {}
        for m, goal in goals.items():
            first, second = self.terms[m].tolist()
            root = main_roots[first] if second < 0 else product_roots[first, second]
            # Bounds on kernels also contain `mean_roots` and the residuals of products'
            # own factors, so only half of a goal is for the residuals of mains.
            allowed = np.sqrt(0.5 * goal / self.scales[m])
            for main in {first, second} - {-1} if root > allowed else ():
                if not landmarks.kernels[main].chosen.size:
                    continue  # a factor made of features has no residual
                main_goal = float((main_roots[main] * allowed / root) ** 2)
                main_goals[main] = min(main_goals.get(main, np.inf), main_goal)
        return main_goals

    # Methods that return stacks of chosen kernels, or their factors.

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, stored as factors."""
        kernels = np.arange(self.shape[0])[kernels]
        scales, n_samples = self.scales[kernels], self.shape[1]
        terms = self.terms[kernels].tolist()
        residuals, means = np.zeros((kernels.size, n_samples)), np.zeros(kernels.size)
        factors = [self.mains.product(*pair) for pair in terms]
        ranks = [len(block.rows) for block in factors]
        offsets = np.cumsum([0, *ranks]).astype(np.intp)
        rows = np.empty((offsets[-1], n_samples))
        for k, pair in enumerate(terms):
            block = rows[offsets[k] : offsets[k + 1]]
            factor_rows = factors[k].rows_of(slice(None))
            np.multiply(factor_rows, np.sqrt(scales[k]), out=block)
            residuals[k], means[k] = self.mains.residual_diagonal(*pair)
        residual = Residual(np.sqrt(residuals), means).scaled(scales)
        indices = self._landmark_indices(kernels)
        return LowRankStack(rows.T, offsets, residual, None, indices)

    def own_factors(self, kernels: Indices) -> list[GroupedFactor]:
        """Return the factors of some kernels; see `GramStack.own_factors`."""
        pairs = zip(self.terms[kernels].tolist(), self.scales[kernels], strict=True)
        grouped = self.mains.grouped_factor
        return [grouped(i, j, float(scale)) for (i, j), scale in pairs]

    def once(self, kernels: Indices) -> "FactoredProducts":
        """Return the chosen kernels without computing factors; see `GramStack.once`."""
        return FactoredProducts(
            self.mains,
            self.terms[kernels],
            self.scales[kernels],
            self.landmarks,
            self._landmark_indices(kernels),
        )

    def subset(self, kernels: Indices) -> "FactoredProducts":
        """Return the stack of the chosen kernels, with `landmarks` for them alone."""
        assert self.landmarks is not None
        dictionary, stack = self.landmarks.dictionary, self.once(kernels)
        assert isinstance(dictionary, InteractionDictionary)
        landmarks = replace(
            self.landmarks,
            dictionary=replace(dictionary, terms=stack.terms),
            kernels=self.landmarks.kernels[: kernels.size],
        )
        return replace(stack, landmarks=landmarks, chosen=None)


refined.register(FactoredProducts, FactoredProducts.refine)
