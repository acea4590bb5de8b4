"""Quadratic forms of whole kernels, for stacks that hold less of them."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.lazy.stack import LazyStack, lazy_stack
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.radial import radial_form


@dataclass(frozen=True, eq=False)
class ComputedKernels:
    """Kernels on some samples, scaled and perhaps centred, computed when asked for.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels.
    samples : ndarray of shape (n_samples, n_features)
        The samples.
    chosen : ndarray of shape (n_kernels,)
        Which kernels of the dictionary.
    scales : ndarray of shape (n_kernels,)
        What they are multiplied by.
    weights : ndarray of shape (n_samples,) or None
        Of the mean that they are centred by.
    cosine : bool
        Whether they are divided by the roots of their diagonals.
    """

    dictionary: KernelDictionary
    samples: Array
    chosen: Indices
    scales: Array
    weights: Array | None
    cosine: bool

    def forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of some kernels, nan where they are divided."""
        forms = np.full(kernels.size, np.nan)
        places, stack = self._stack(kernels)
        if stack is not None:
            if self.weights is not None:
                v = v - np.multiply.outer(self.weights, v.sum(axis=0))
            forms[places] = stack.quadratic_forms(v)
        return np.asarray(self.scales[kernels] * forms)

    def columns(self, kernels: Indices, samples: Indices) -> Array:
        """Return columns of some kernels before they are centred, nan likewise."""
        shape = kernels.size, self.samples.shape[0], samples.size
        columns = np.full(shape, np.nan)
        places, stack = self._stack(kernels)
        if stack is not None:
            columns[places] = stack.columns(samples)
        return np.asarray(self.scales[kernels][:, None, None] * columns)

    def _stack(self, kernels: Indices) -> tuple[Indices, LazyStack | None]:
        """Return which kernels are not divided, and their matrices, not scaled."""
        members = [self.dictionary[int(m)] for m in self.chosen[kernels]]
        known = [not self.cosine or radial_form(one) is not None for one in members]
        places = np.flatnonzero(known)
        if not places.size:
            return places, None
        chosen = ListDictionary([members[place] for place in places])
        return places, lazy_stack(chosen, self.samples)

    def take(self, kernels: Indices) -> Self:
        """Return the chosen kernels."""
        return replace(self, chosen=self.chosen[kernels], scales=self.scales[kernels])

    def restrict(self, samples: Indices) -> Self | None:
        """Return them on the chosen samples, None where a mean is over others."""
        if self.weights is not None:
            return None
        return replace(self, samples=self.samples[samples])
