"""The dictionary that ``kernels`` stands for, and the names of its kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.data.read import is_precomputed
from multikernel.estimators.data.samples import Samples
from multikernel.gram.files import backing, evenly_spaced
from multikernel.kernels import (
    GaussianKernel,
    KernelDictionary,
    ListDictionary,
    NystroemKernel,
    kernel_names,
    median_dictionary,
    resolve_columns,
)
from multikernel.kernels.sampled import learnt_dictionary

MANY_ROWS, MANY_COLUMNS = 10_000, 4
"""Samples and columns from which on the default dictionary's kernels on all columns
have landmarks: there their ranks are in the thousands, and one whole matrix of 10 000
samples takes 800 MB."""

COMPONENTS = 300
"""Landmarks of such a kernel, which then costs what ten kernels on a column do."""


LEARNT_ROWS = 100_000
"""Rows of a table in a file that kernels learn from; the median of 1000 of them is
taken."""


@dataclass(frozen=True)
class KernelNames:
    """The names of all kernels, made when they are asked for.

    Parameters
    ----------
    dictionary : KernelDictionary or None
        The kernels; precomputed matrices, which None stands for, have numbers.
    n_kernels : int
        How many there are.
    """

    dictionary: KernelDictionary | None
    n_kernels: int

    def __call__(self, indices: Sequence[int] | None = None) -> list[str]:
        """Return the names of the chosen kernels, of all by default."""
        if self.dictionary is not None:
            return kernel_names(self.dictionary, indices)
        chosen = range(self.n_kernels) if indices is None else indices
        return [f"gram {index}" for index in chosen]

    @cached_property
    def everything(self) -> tuple[str, ...]:
        """Return the names of all kernels, made once."""
        return tuple(self())

    def __getstate__(self) -> dict[str, Any]:
        """Return what a model file holds: not the names that are made."""
        return {k: v for k, v in vars(self).items() if k != "everything"}


def default_dictionary(X: Array, sample_weight: Array | None) -> ListDictionary:
    """Return the dictionary that ``kernels=None`` stands for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The training samples.
    sample_weight : ndarray of shape (n_samples,) or None
        Their weights.

    Returns
    -------
    dictionary : ListDictionary
        That of `median_dictionary`; with many samples of many columns, its Gaussian
        kernels on all columns together are seen through landmarks.
    """
    found = median_dictionary(X, sample_weight=sample_weight)
    if X.shape[0] < MANY_ROWS or X.shape[1] < MANY_COLUMNS:
        return found
    return ListDictionary(
        [
            NystroemKernel(kernel, COMPONENTS)
            if isinstance(kernel, GaussianKernel)
            else kernel
            for kernel in found.kernels
        ]
    )


def choose_dictionary(kernels: Any, samples: Samples) -> KernelDictionary | None:
    """Return the dictionary that a ``kernels`` parameter stands for.

    Parameters
    ----------
    kernels : sequence of Kernel, KernelDictionary, "precomputed" or None
        None stands for `default_dictionary`, made by the samples without their labels.
    samples : Samples
        The training samples.

    Returns
    -------
    dictionary : KernelDictionary or None
        With columns given by indices; None for precomputed kernels.

    Raises
    ------
    ValueError
        If it is empty or of another type.
    """
    if is_precomputed(kernels):
        return None
    X, weights = samples.X, samples.sample_weight
    if backing(X) is not None:
        # Widths and the landmarks of kernels are learnt from evenly spaced rows.
        rows = evenly_spaced(X.shape[0], LEARNT_ROWS)
        X, weights = X[rows], None if weights is None else weights[rows]
    if kernels is None:
        chosen: KernelDictionary = default_dictionary(X, weights)
    elif isinstance(kernels, Sequence) and not isinstance(kernels, str):
        if not kernels:
            raise ValueError("kernels is empty: at least one kernel is needed.")
        chosen = ListDictionary(kernels)
    # The protocol is met by whatever has a length and items.
    elif isinstance(kernels, KernelDictionary) and not isinstance(
        kernels, str | Mapping | np.ndarray
    ):
        chosen = kernels
    else:
        raise ValueError(
            "kernels must be None, 'precomputed', a list of kernels or a "
            f"KernelDictionary, got {kernels!r}."
        )
    layout = samples.table.layout
    if layout is not None:
        resolved = layout.resolve(chosen)
        layout.check(resolved, samples.table.X)
        return resolved
    given = samples.table.feature_names
    names = None if given is None else [str(name) for name in given]
    return learnt_dictionary(resolve_columns(chosen, X.shape[1], names), X)
