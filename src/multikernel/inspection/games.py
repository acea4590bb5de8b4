"""Shapley values of the terms of a model, one game per sample."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss

from multikernel._typing import Array, Indices
from multikernel.estimators.publish.predict import (
    AdditiveModel,
    CrossGrams,
    KernelGrams,
    LandmarkGrams,
)
from multikernel.gram import kernel_features
from multikernel.gram.factors.features import ProductFeatures
from multikernel.gram.steps import CenterStep, CosineStep, ScaleStep, inverse_roots
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Kernel,
    LinearKernel,
    OptionalKernel,
    ProductKernel,
)
from multikernel.kernels.base import kernel_diagonal, kernel_name
from multikernel.kernels.columns import Features, resolve_indices
from multikernel.kernels.products import CenteredKernel, factors_of
from multikernel.linalg.tables import equal_shares, row_chunks
from multikernel.linalg.threads import compiled

# A kernel on 10 columns takes 1 s for 50 rows of X, 50 background samples and 100
# training samples.
MOST_COLUMNS = 10
"""Maximum number of columns of a kernel for which all coalitions are evaluated."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A term, up to a constant: ``sum_t coefs[t] * kernel(x, points[t])``."""

    kernel: Kernel
    points: Array  # (n_points, n_columns)
    coefs: Array  # (n_points, n_outputs)
    cosine: bool  # whether kernel(x, points[t]) is divided by sqrt(kernel(x, x))


@dataclass(frozen=True, eq=False)
class ChosenFeatures:
    """Chosen features of a kernel, as a function that can be called like a kernel."""

    kernel: Kernel
    chosen: Indices | slice

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the chosen features of X, shape (n_samples, n_chosen); ignore Y."""
        features = kernel_features(self.kernel, X)
        assert features is not None
        return features[:, self.chosen]


Factor = Kernel | ChosenFeatures
"""Function of samples and points t that returns one factor of ``kernel(x, t)``."""


@dataclass(frozen=True, eq=False)
class Games:
    """Shapley values of a model's terms; the players are the columns of the data."""

    model: AdditiveModel
    table: Array  # samples to explain
    background: Array  # samples that replace columns outside a coalition
    players: Indices  # column j of these tables comes from column players[j] of X
    _cache: dict[tuple[int, int], Array] = field(default_factory=dict)

    @cached_property
    def _factor_ids(self) -> frozenset[int]:
        """The ``id`` of each factor of product kernels; products may share factors."""
        grams = self.model.grams
        if not isinstance(grams, KernelGrams):
            return frozenset()
        products = [k for k in grams.kernels if isinstance(k, ProductKernel)]
        return frozenset(id(factor) for k in products for factor in k.kernels)

    def add_to(self, values: Array) -> None:
        """Add the values of all terms to `values`, (n_rows, n_features, n_outputs)."""
        for position in range(self.model.n_active):
            self._add_term(position, values)
        design, effects = self.model.design, self.model.effects
        if design is not None and effects is not None:
            # The part of an unpenalized column in the decision values is its effect
            # times the column, whose position in the table is in `design.places`.
            centered = design(self.table) - design(self.background).mean(axis=0)
            for column, player in enumerate(design.places):
                effect = centered[:, column, None] * effects[column]
                values[:, self.players[player]] += effect

    def _add_term(self, position: int, values: Array) -> None:
        """Add a term's Shapley values to `values`, by a formula for its kernel type."""
        kernel = _active_kernel(self.model.grams, position)
        players = sorted(
            {p for factor in _factor_kernels(kernel) for p in self._columns_of(factor)}
        )
        self._refuse_parts_of_views(kernel)
        if len(players) == 1 or _is_additive(kernel, self.model.grams):
            self._add_columns(position, players, values)
            return
        term = _as_expansion(self.model, position)
        term = None if term is None else _without_centering(term)
        factors = None if term is None else self._factors_by_player(term.kernel)
        if term is not None and factors is not None:
            add = self._add_pair if len(factors) == 2 else self._add_product
            add(term, factors, values)
            return
        if len(players) > MOST_COLUMNS:
            raise ValueError(
                f"Shapley values: {kernel_name(kernel)} uses {len(players)} columns "
                "and has no exact form. Supported are linear, category and Gaussian "
                f"kernels, and all kernels on at most {MOST_COLUMNS} columns. Use "
                "contributions(model, X), which returns the terms of kernels."
            )
        self._add_coalitions(position, players, values)

    def _refuse_parts_of_views(self, kernel: Kernel) -> None:
        """Raise if a view that coalitions would split has missing values."""
        for factor in _factor_kernels(kernel):
            # This kernel is zero for samples whose columns of the view are all NaN.
            if isinstance(getattr(factor, "kernel", None), OptionalKernel):
                in_view = np.isin(self.players, list(self._columns_of(factor)))
                tables = self.table[:, in_view], self.background[:, in_view]
                if in_view.sum() > 1 and any(np.isnan(rows).any() for rows in tables):
                    raise ValueError(
                        "Shapley values: X or background has missing values (NaN) in "
                        f"columns of {kernel_name(factor)}. This kernel requires that "
                        "all its columns are missing together, but coalitions contain "
                        "only some columns: remove the samples with missing values."
                    )

    def _columns_of(self, kernel: Kernel) -> set[int]:
        """Return the players (data columns) of a kernel that is not a product."""
        # `self.players` has the player of each column of the table.
        columns = kernel.columns if isinstance(kernel, ColumnKernel) else slice(None)
        indices = resolve_indices(columns, Features(len(self.players)))
        return set(self.players[list(indices)].tolist())

    def _factors_by_player(self, kernel: Kernel) -> dict[int, list[Factor]] | None:
        """Return a kernel's factors by player; None if a factor has several players."""
        by_player: dict[int, list[Factor]] = {}
        # A product of features has the features a_i b_j of its two factors. `functions`
        # then return a_i and b_j for all pairs (i, j). A Gaussian kernel on several
        # columns is the product of Gaussian kernels on each of them.
        factors = _factor_kernels(kernel)
        functions: Sequence[Factor] = factors
        if isinstance(kernel, ProductFeatures):
            rows = [ChosenFeatures(k, slice(None))(self.table[:1]) for k in factors]
            pairs = np.indices([row.shape[1] for row in rows]).reshape(2, -1)
            functions = [ChosenFeatures(*p) for p in zip(factors, pairs, strict=True)]
        for factor, function in zip(factors, functions, strict=True):
            players = sorted(self._columns_of(factor))
            if len(players) == 1:
                by_player.setdefault(players[0], []).append(function)
                continue
            inner = factor.kernel if isinstance(factor, ColumnKernel) else factor
            if type(inner) is not GaussianKernel:
                return None
            columns = (
                factor.columns if isinstance(factor, ColumnKernel) else slice(None)
            )
            for column in resolve_indices(columns, Features(len(self.players))):
                player = int(self.players[column])
                by_player.setdefault(player, []).append(ColumnKernel(inner, column))
        return by_player

    def _masked(self, rows: Array, reference: Array, present: Sequence[int]) -> Array:
        """Return `rows`, with the columns of absent players from `reference`."""
        is_present = np.isin(self.players, list(present))  # for each column
        return np.where(is_present, rows, reference)

    def _values(self, rows: Array, position: int) -> Array:
        """Return the values of one term, shape (n_rows, n_outputs)."""
        return self.model.terms(rows, [position])[:, :, 0]

    def _add_columns(
        self, position: int, players: Sequence[int], values: Array
    ) -> None:
        """Add the Shapley values of a term that is a sum over its columns."""
        # The parts of other columns cancel in the differences, so any values will do.
        origin = self.background[0]
        for player in players:
            present = self._values(self._masked(self.table, origin, [player]), position)
            absent = self._masked(self.background, origin, [player])
            values[:, player] += present - self._values(absent, position).mean(axis=0)

    def _add_pair(
        self, term: Expansion, factors: dict[int, list[Factor]], values: Array
    ) -> None:
        """Add the Shapley values of a product of the factors of two players."""
        # Two players have the coalitions {}, {i}, {j} and {i, j}. Factors p are of the
        # samples, and q of the background, over whose samples values v are averaged.
        (i, first), (j, second) = factors.items()
        p_i, q_i = self._factors(term, first)
        p_j, q_j = self._factors(term, second)
        v_none = (q_i * q_j).mean(axis=0) @ term.coefs
        v_i = p_i @ (q_j.mean(axis=0)[:, None] * term.coefs)
        v_j = p_j @ (q_i.mean(axis=0)[:, None] * term.coefs)
        v_both = (p_i * p_j) @ term.coefs
        values[:, i] += 0.5 * (v_i - v_none + v_both - v_j)
        values[:, j] += 0.5 * (v_j - v_none + v_both - v_i)

    def _add_product(
        self, term: Expansion, factors: dict[int, list[Factor]], values: Array
    ) -> None:
        """Add the Shapley values of a product of three or more players' factors."""
        # Owen (1972). Multilinear extensions of games. Management Science 18, 64-79,
        # eq. 3: a product of factors p_i (sample) and q_i (background) has the value
        # (p_i - q_i) int_0^1 prod_{j != i} (u p_j + (1 - u) q_j) du, exact here.
        nodes, shares = leggauss((len(factors) + 1) // 2)
        quadrature = 0.5 * (nodes + 1.0), 0.5 * shares
        present, absent = zip(
            *(self._factors(term, kernels) for kernels in factors.values()), strict=True
        )
        transposed = np.stack([q.T for q in absent])
        add = compiled("multikernel.linalg.coalitions", "add_product_games")
        # A call for each row, so that interrupts are handled between calls.
        for row in range(len(self.table)):
            present_row = np.stack([p[row : row + 1] for p in present])
            row_values = np.zeros((len(factors), 1, values.shape[2]))
            add(present_row, transposed, term.coefs, *quadrature, row_values)
            values[row, list(factors)] += row_values[:, 0]

    def _add_coalitions(
        self, position: int, players: Sequence[int], values: Array
    ) -> None:
        """Add the Shapley values of a term, by a sum over coalitions of its columns."""
        n, n_others = len(players), len(self.background)
        for chunk in row_chunks(len(self.table), n_others * self.table.shape[1]):
            rows = np.repeat(self.table[chunk], n_others, axis=0)
            absent = np.tile(self.background, (len(rows) // n_others, 1))
            for size in range(n + 1):
                for present in combinations(players, size):
                    means = self._values(self._masked(rows, absent, present), position)
                    mean = means.reshape(-1, n_others, means.shape[1]).mean(axis=1)
                    for player in players:
                        # A coalition of s other players has Shapley weight
                        # 1 / (n (n - 1 choose s)).
                        inside = player in present
                        divisor = n * comb(n - 1, size - 1 if inside else size)
                        values[chunk, player] += (1 if inside else -1) * mean / divisor

    def _factors(
        self, term: Expansion, kernels: Sequence[Factor]
    ) -> tuple[Array, Array]:
        """Return products of one player's factors: for samples, and for background."""
        present, absent = (
            np.prod([self._factor(rows, term, kernel) for kernel in kernels], axis=0)
            for rows in (self.table, self.background)
        )
        return present, absent

    def _factor(self, rows: Array, term: Expansion, kernel: Factor) -> Array:
        """Return the matrix of a factor between `rows` and the term's points."""
        key = id(rows), id(kernel)
        # Several product kernels may share a factor, so its matrix is cached.
        is_cached = id(kernel) in self._factor_ids
        if is_cached and key in self._cache:
            return self._cache[key]
        values = np.asarray(kernel(rows, term.points))
        if term.cosine:
            assert isinstance(kernel, Kernel)
            values = values * inverse_roots(kernel_diagonal(kernel, rows))[:, None]
        if is_cached:
            self._cache[key] = values
        return values


def _original_grams(
    grams: Any, position: int
) -> tuple[KernelGrams | LandmarkGrams, int]:
    """Return the Gram matrices behind a reordering, and the kernel's position there."""
    while hasattr(grams, "positions"):
        grams, position = grams.grams, int(grams.positions[position])
    assert isinstance(grams, KernelGrams | LandmarkGrams)
    return grams, position


def _active_kernel(grams: CrossGrams, position: int) -> Kernel:
    """Return an active kernel, restricted to its columns."""
    original, position = _original_grams(grams, position)
    kernel = original.kernels[position]
    if isinstance(original, KernelGrams):
        return kernel
    columns = original.columns[position]
    return kernel if columns is None else ColumnKernel(kernel, columns)


def _as_expansion(model: AdditiveModel, position: int) -> Expansion | None:
    """Return a term, up to a constant, as an expansion in its kernel, or None."""
    kernel, coefs = _active_kernel(model.grams, position), model.coefs[position]
    grams, index = _original_grams(model.grams, position)
    if isinstance(grams, LandmarkGrams):
        points, rank = grams.landmarks[index], grams.ranks[index]
        if len(points) and isinstance(kernel, ColumnKernel):
            points = _pad_columns(points, kernel)
        # Without landmarks the kernel has features. Only products of features then have
        # this form, see `_factors_by_player`. The coefficients of a constant are last.
        has_form = len(points) or (type(kernel) is ProductFeatures and not grams.cosine)
        return (
            Expansion(kernel, points, coefs[:rank], grams.cosine) if has_form else None
        )
    cosine = False
    for step in reversed(grams.normalization.steps):
        if isinstance(step, CosineStep):
            cosine = True
        elif isinstance(step, ScaleStep):
            # If cosine normalization follows, it cancels the scale factors.
            coefs = coefs if cosine else coefs * step.factors[index]
        elif isinstance(step, CenterStep) and not cosine:
            total = coefs.sum(axis=0)
            coefs = step.kept[index] * (coefs - step.weights[:, None] * total)
        else:
            return None
    if cosine:
        coefs = coefs * inverse_roots(kernel_diagonal(kernel, grams.X))[:, None]
    return Expansion(kernel, grams.X, coefs, cosine)


def _pad_columns(values: Array, kernel: ColumnKernel) -> Array:
    """Return a table with `values` in the columns of a kernel, NaN in other columns."""
    columns = np.array(kernel.columns, dtype=np.intp)
    table = np.full((len(values), columns.max() + 1), np.nan)
    table[:, columns] = values
    return table


def _factor_kernels(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the factors of a product of kernels or of features."""
    if isinstance(kernel, ProductFeatures):
        return kernel.first, kernel.second
    return factors_of(kernel)


def _unwrapped(kernel: Kernel) -> Kernel:
    """Return a kernel without its column selection and centering."""
    while isinstance(kernel, ColumnKernel | CenteredKernel):
        kernel = kernel.kernel
    return kernel


def _is_additive(kernel: Kernel, grams: CrossGrams) -> bool:
    """Return whether the functions of a kernel are sums over its columns."""
    # With cosine normalization, no function is such a sum. All kernels have the same
    # normalization, so the position does not matter.
    original, _ = _original_grams(grams, 0)
    if isinstance(original, LandmarkGrams):
        cosine = original.cosine
    else:
        steps = original.normalization.steps
        cosine = any(isinstance(step, CosineStep) for step in steps)
    return not cosine and type(_unwrapped(kernel)) in (LinearKernel, CategoryKernel)


def _without_centering(term: Expansion) -> Expansion:
    """Return a term of a centered Gaussian as an expansion in the Gaussian itself."""
    # Terms of all other kernels, and terms with cosine normalization, are returned
    # unchanged.
    kernel = term.kernel
    if not isinstance(kernel, ColumnKernel):
        return term
    centered = kernel.kernel
    if not isinstance(centered, CenteredKernel) or term.cosine:
        return term
    if type(centered.kernel) is not GaussianKernel or centered.samples is None:
        return term
    # Up to a constant, the centered kernel at (x, t) is k(x, t) minus the mean of
    # k(x, s) over samples s. So the result has the Gaussian kernel k without centering,
    # and coefficients for the points t and the samples s.
    shares = equal_shares(len(centered.samples), centered.weights)
    samples = np.zeros((len(shares), term.points.shape[1]))
    samples[:, np.array(kernel.columns, dtype=np.intp)] = centered.samples
    points = np.vstack([term.points, samples])
    coefs = np.vstack([term.coefs, -shares[:, None] * term.coefs.sum(axis=0)])
    gaussian = ColumnKernel(centered.kernel, kernel.columns)
    return Expansion(gaussian, points, coefs, False)
