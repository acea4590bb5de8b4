"""Values of kernels at new samples, with shared parts computed once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from multikernel._typing import Array
from multikernel.gram.compute.matrices import radial_matrices
from multikernel.kernels import Kernel
from multikernel.kernels.gaussian import radial_form
from multikernel.kernels.products import factors_of

# Predictions for 4000 samples from 2000 stored ones, of 784 columns, took 0.7 s with
# shared distances, 10 s without. For smaller tables, loading compiled code is slower.
LARGE_TABLE = 2**17
"""Minimum number of entries of a stored table to share distances of kernels."""

# Distances by a matrix product made these predictions twice as fast. Their rounding
# errors are a few units in the last place of the squared norms of both samples.
LARGEST_NORM = 256.0
"""Maximum sum of two squared norms, times minus the exponent of a Gaussian kernel, for
which distances are computed by a matrix product."""


@dataclass(frozen=True, eq=False)
class SharedValues:
    """The values of kernels between new samples and stored training samples."""

    kernels: tuple[Kernel, ...]
    X: Array  # the stored training samples

    @cached_property
    def _repeated(self) -> frozenset[int]:
        """The ids of the factors that occur in several kernels."""
        counts = Counter(
            id(factor) for kernel in self.kernels for factor in factors_of(kernel)
        )
        return frozenset(factor for factor, count in counts.items() if count > 1)

    @cached_property
    def _groups(self) -> Mapping[int, tuple[int, ...]]:
        """Map each position to those of all Gaussian kernels on the same columns."""
        # The kernels of a group share their distances. Kernels that belong to no group,
        # such as those on a single column, are not in the mapping.
        groups: dict[tuple[int, ...] | None, list[int]] = defaultdict(list)
        for position, kernel in enumerate(self.kernels):
            form = radial_form(kernel) if self.X.size >= LARGE_TABLE else None
            if form is not None and (form.columns is None or len(form.columns) > 1):
                groups[form.columns].append(position)
        return {m: tuple(group) for group in groups.values() for m in group}

    @cached_property
    def _centered(self) -> tuple[Array, Array]:
        """The means of the stored samples, and the centered samples, transposed."""
        means = self.X.mean(axis=0)
        return means, np.ascontiguousarray((self.X - means).T)

    @property
    def n_cached(self) -> int:
        """The maximum number of matrices that a function returned by `at` caches."""
        return len(self._repeated) + max(map(len, self._groups.values()), default=0)

    def at(self, new: Array) -> Callable[[int], Array]:
        """Return a function from a kernel's position to its values at new samples."""
        factor_cache: dict[int, Array] = {}
        group_cache: dict[int, Array] = {}

        def factor_values(factor: Kernel) -> Array:
            if id(factor) not in self._repeated:
                return factor(new, self.X)
            if id(factor) not in factor_cache:
                factor_cache[id(factor)] = factor(new, self.X)
            return factor_cache[id(factor)]

        def values(position: int) -> Array:
            group = self._groups.get(position)
            if group is None:
                factors = factors_of(self.kernels[position])
                return reduce(np.multiply, map(factor_values, factors))
            if position not in group_cache:
                kernels = [self.kernels[m] for m in group]
                matrices = self._gaussians(kernels, new)
                group_cache.update(zip(group, matrices, strict=True))
            return group_cache.pop(position)

        return values

    def _gaussians(self, kernels: Sequence[Kernel], new: Array) -> Iterable[Array]:
        """Return the values at new samples of Gaussian kernels on the same columns."""
        forms = [form for kernel in kernels if (form := radial_form(kernel))]
        means, features = self._centered
        rows, columns = new - means, forms[0].columns
        if columns is not None:
            features, rows = features[list(columns)], rows[:, columns]
        norms = np.einsum("ij,ij->i", rows, rows)[:, None]
        norms = norms + np.einsum("ij,ij->j", features, features)
        largest_norm = -min(form.exponent for form in forms) * norms.max()
        if not largest_norm <= LARGEST_NORM:  # or NaN
            return radial_matrices(kernels, new, np.ascontiguousarray(self.X.T))
        distances = np.maximum(norms - 2.0 * (rows @ features), 0.0)
        return [np.exp(form.exponent * distances) for form in forms]
