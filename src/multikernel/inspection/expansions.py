"""Terms of a fitted model as kernel expansions, for every storage."""

from dataclasses import dataclass
from typing import Any

import numpy as np

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
)
from multikernel.kernels.base import kernel_diagonal
from multikernel.kernels.products import CenteredKernel, factors_of
from multikernel.linalg.tables import equal_shares


@dataclass(frozen=True, eq=False)
class Expansion:
    """A term ``sum_t coefs[t] * k(x, points[t])``, without the constant of the term.

    With `cosine`, ``k(x, points[t])`` is divided by ``sqrt(k(x, x))``.
    """

    kernel: Kernel
    points: Array
    coefs: Array
    cosine: bool


def _source(grams: Any, position: int) -> tuple[CrossGrams, int]:
    """Return the Gram matrices without reordering, and a kernel's position there."""
    while hasattr(grams, "positions"):
        grams, position = grams.grams, int(grams.positions[position])
    return grams, position


def kernel_of(grams: CrossGrams, position: int) -> Kernel:
    """Return an active kernel with its columns."""
    grams, position = _source(grams, position)
    assert isinstance(grams, KernelGrams | LandmarkGrams)
    kernel = grams.kernels[position]
    columns = grams.columns[position] if isinstance(grams, LandmarkGrams) else None
    return kernel if columns is None else ColumnKernel(kernel, columns)


def expansion_of(model: AdditiveModel, position: int) -> Expansion | None:
    """Return a term as an expansion in its kernel, or None if it has none."""
    kernel, coefs = kernel_of(model.grams, position), model.coefs[position]
    grams, index = _source(model.grams, position)
    if isinstance(grams, LandmarkGrams):
        points, rank = grams.landmarks[index], grams.ranks[index]
        if len(points) and isinstance(kernel, ColumnKernel):
            points = _widened(points, kernel)
        has_form = len(points) or (type(kernel) is ProductFeatures and not grams.cosine)
        return (
            Expansion(kernel, points, coefs[:rank], grams.cosine) if has_form else None
        )
    assert isinstance(grams, KernelGrams)
    cosine = False
    for step in reversed(grams.normalization.steps):
        if isinstance(step, CosineStep):
            cosine = True
        elif isinstance(step, ScaleStep):
            # The cosine normalization cancels earlier factors.
            coefs = coefs if cosine else coefs * step.factors[index]
        elif isinstance(step, CenterStep) and not cosine:
            total = coefs.sum(axis=0)
            coefs = step.kept[index] * (coefs - step.weights[:, None] * total)
        else:
            return None
    if cosine:
        coefs = coefs * inverse_roots(kernel_diagonal(kernel, grams.X))[:, None]
    return Expansion(kernel, grams.X, coefs, cosine)


def _widened(values: Array, kernel: ColumnKernel) -> Array:
    """Return a table with `values` in the columns of a kernel, NaN in the others."""
    columns = np.array(kernel.columns, dtype=np.intp)
    table = np.full((len(values), columns.max() + 1), np.nan)
    table[:, columns] = values
    return table


@dataclass(frozen=True, eq=False)
class ChosenFeatures:
    """Chosen features of a kernel, instead of its values at points."""

    kernel: Kernel
    chosen: Indices | slice

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the features, shape (n_samples, n_chosen)."""
        features = kernel_features(self.kernel, X)
        assert features is not None
        return features[:, self.chosen]


Factor = Kernel | ChosenFeatures
"""Function of rows and points that returns one factor of a product."""


def factor_kernels(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the factors of a product of kernels or of features."""
    if isinstance(kernel, ProductFeatures):
        return kernel.first, kernel.second
    return factors_of(kernel)


def _inner(kernel: Kernel) -> Kernel:
    """Return a kernel without its column selection and centering."""
    while isinstance(kernel, ColumnKernel | CenteredKernel):
        kernel = kernel.kernel
    return kernel


def is_additive(kernel: Kernel, grams: CrossGrams) -> bool:
    """Return whether the functions of a kernel are sums over its columns."""
    grams, _ = _source(grams, 0)
    cosine = getattr(grams, "cosine", False) or any(
        isinstance(step, CosineStep)
        for step in getattr(getattr(grams, "normalization", None), "steps", ())
    )
    return not cosine and type(_inner(kernel)) in (LinearKernel, CategoryKernel)


def uncentered(term: Expansion) -> Expansion:
    """Return the expansion of a term in the uncentered Gaussian kernel."""
    kernel = term.kernel
    if not isinstance(kernel, ColumnKernel):
        return term
    centered = kernel.kernel
    if not isinstance(centered, CenteredKernel) or term.cosine:
        return term
    if type(centered.kernel) is not GaussianKernel or centered.samples is None:
        return term
    # k(x, t) - m(x) is an expansion over t and the samples of the mean m.
    shares = equal_shares(len(centered.samples), centered.weights)
    samples = np.zeros((len(shares), term.points.shape[1]))
    samples[:, np.array(kernel.columns, dtype=np.intp)] = centered.samples
    points = np.vstack([term.points, samples])
    coefs = np.vstack([term.coefs, -shares[:, None] * term.coefs.sum(axis=0)])
    plain = ColumnKernel(centered.kernel, kernel.columns)
    return Expansion(plain, points, coefs, False)
