"""What the images K_m c_m of the terms of a model say of it."""

from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices


class TermProducts(Protocol):
    """What the images K_m c_m of some kernels' own vectors say."""

    @property
    def forms(self) -> Array:
        """Return c_m^T K_m c_m, summed over outputs, shape (n_kernels,)."""
        ...

    @property
    def lengths(self) -> Array:
        """Return the squared lengths of the images, shape (n_kernels,)."""
        ...

    @property
    def traces(self) -> Array:
        """Return the traces of the kernels, shape (n_kernels,)."""
        ...

    def sums(self, used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sums over the kernels in use, of their images and of multiples.

        The multiples are those of the roots of their diagonals.

        Parameters
        ----------
        used : ndarray of bool of shape (n_kernels,)
            The kernels in use.
        units : ndarray of shape (n_kernels,)
            What the roots are multiplied by.

        Returns
        -------
        total : ndarray of shape (n_samples[, n_outputs])
        roots : ndarray of shape (n_samples,)
        """
        ...


@dataclass(frozen=True, eq=False)
class ImageProducts:
    """Images that are held, of the shape of the vectors.

    Parameters
    ----------
    coefs, images : ndarray of shape (n_kernels, n_samples[, n_outputs])
        The vectors, and their images.
    diagonals : ndarray of shape (n_kernels, n_samples)
        Those of the kernels.
    """

    coefs: Array
    images: Array
    diagonals: Array

    def _inner(self, vectors: Array) -> Array:
        shape = len(vectors), prod(vectors.shape[1:])
        flat, images = vectors.reshape(shape), self.images.reshape(shape)
        return np.asarray(np.einsum("mi,mi->m", flat, images))

    @property
    def forms(self) -> Array:
        """Return the inner products of vectors and images."""
        return self._inner(self.coefs)

    @property
    def lengths(self) -> Array:
        """Return the squared lengths of the images."""
        return self._inner(self.images)

    @property
    def traces(self) -> Array:
        """Return the sums of the diagonals."""
        return np.asarray(self.diagonals.sum(axis=1))

    def sums(self, used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sums over the kernels in use."""
        roots = np.sqrt(np.maximum(self.diagonals[used], 0.0))
        return self.images[used].sum(axis=0), np.asarray(units[used] @ roots)


def padded(u: Array, ranks: Indices, length: int) -> Array:
    """Return coordinates, one kernel's after another's, as an array of such a length.

    Parameters
    ----------
    u : ndarray of shape (total_rank[, n_outputs])
        The coordinates.
    ranks : ndarray of shape (n_kernels,)
        How many are a kernel's.
    length : int
        At least the largest rank.
    """
    filled = np.zeros((ranks.size, length, *u.shape[1:]))
    filled[np.arange(length) < ranks[:, None]] = u
    return filled


def unpadded(coefs: Array, ranks: Indices) -> Array:
    """Return coordinates one kernel's after another's.

    Columns that a factor has gained since are not used.

    Parameters
    ----------
    coefs : ndarray of shape (n_kernels, length[, n_outputs])
        As `padded` returns them, for these or for smaller ranks.
    ranks : ndarray of shape (n_kernels,)
        How many coordinates are a kernel's.
    """
    length = int(ranks.max(initial=0))
    wider = np.zeros((ranks.size, length, *coefs.shape[2:]))
    known = min(length, coefs.shape[1])
    wider[:, :known] = coefs[:, :known]
    return np.asarray(wider[np.arange(length) < ranks[:, None]])
