"""A few vectors, and what every kernel of a stack makes of them."""

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import check_forms
from multikernel.gram.base import GramStack


class Span:
    """Orthonormal vectors, and what every kernel makes of them.

    Parameters
    ----------
    gram : GramStack
        The kernel matrices.
    capacity : int
        Vectors that there is room for.
    """

    def __init__(self, gram: GramStack, capacity: int) -> None:
        n_kernels, n_samples, _ = gram.shape
        self.gram, self.capacity, self.size = gram, capacity, 0
        self._basis = np.empty((capacity, n_samples))
        self._images = np.empty((capacity, n_kernels, n_samples))
        self._inner = np.empty((n_kernels, capacity, capacity))
        self._traces = gram.traces()
        self.spare = self._traces.copy()  # traces on the complement

    def split(self, v: Array) -> tuple[Array, Array]:
        """Return the coordinates of v in the basis, and what is left."""
        basis = self._basis[: self.size]
        coordinates = basis @ v
        rest = v - coordinates @ basis
        # Twice is enough: the second projection removes the rounding of the first.
        again = basis @ rest
        return coordinates + again, rest - again @ basis

    def images_of(self, coordinates: Array) -> Array:
        """Return the images of a vector of the span, shape (n_kernels, n_samples)."""
        images: Array = np.tensordot(coordinates, self._images[: self.size], axes=1)
        return images

    def append(self, q: Array, images: Array) -> None:
        """Add a unit vector orthogonal to the others, and its images."""
        k = self.size
        self._basis[k], self._images[k] = q, images
        self.size = k + 1
        column = images @ self._basis[: self.size].T
        self._inner[:, : self.size, k] = self._inner[:, k, : self.size] = column
        check_forms(self.gram, column[:, k], q)
        self.spare = np.maximum(self.spare - column[:, k], 0.0)

    def keep_only(self, v: Array) -> None:
        """Forget all of the span but one vector in it."""
        coordinates, _ = self.split(v)
        size = float(np.linalg.norm(coordinates))
        q = coordinates @ self._basis[: self.size] / size
        images = self.images_of(coordinates / size)
        self.size, self.spare = 0, self._traces.copy()
        self.append(q, images)

    def bounds(self, v: Array) -> Array:
        """Return upper bounds on the quadratic forms, exact inside the span."""
        c, rest = self.split(v)
        forms = float(rest @ rest) * self.spare
        if c.size:
            forms += np.einsum("mjk,j,k->m", self._inner[:, : c.size, : c.size], c, c)
            forms += 2.0 * (c @ (self._images[: c.size] @ rest))
        return forms
