r"""Dual norms of all kernels without a pass over all of them: safe screening.

A kernel can only be violated, or shrink a dual point, if its dual norm exceeds the
regulariser's threshold. Images :math:`K_m q_j` of a few orthonormal vectors are kept,
and for :math:`\rho = Q c + \delta` with :math:`\delta \perp Q`

.. math::
    \rho^\top K_m \rho \le c^\top Q^\top K_m Q c + 2 \delta^\top K_m Q c
    + \|\delta\|^2 \bigl(\operatorname{tr} K_m - \operatorname{tr} Q^\top K_m Q\bigr),

because the largest eigenvalue of a positive semidefinite matrix on the complement of Q
is at most its trace there. Kernels whose bound stays below the threshold are skipped;
nothing is approximated. The bound holds for every loss: it needs no ball around the
unknown optimum, as the sphere tests of smooth losses do, and is sharper than theirs
because successive dual points are nearly in the span of the earlier ones.
"""

from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import check_forms
from multikernel.gram.base import GramStack
from multikernel.gram.ops import quadratic_forms_of, traces

MAX_BYTES = 2**28
LEAST = 4  # images; with room for fewer, whole passes are made
SHARE = 0.1  # of the stack's bytes (as float64) that images may take
SUBSET = 0.1  # of the kernels, above which a whole pass is the better buy


@dataclass
class DualNorms:
    """Upper bounds on dual norms, exact wherever they exceed a level.

    Parameters
    ----------
    gram : GramStack
        The kernel matrices.
    """

    gram: GramStack
    passes: float = 0.0
    _basis: list[Array] = field(default_factory=list)
    _images: Array = field(init=False)
    _inner: Array = field(init=False)
    _spare: Array = field(init=False)

    def __post_init__(self) -> None:
        n_kernels, n_samples, _ = self.gram.shape
        image = 8 * n_kernels * n_samples
        room = min(MAX_BYTES, SHARE * image * n_samples)
        capacity = min(int(room // max(image, 1)), n_samples)
        # With fewer the bounds are too loose to earn their extra arithmetic.
        self._capacity = capacity if capacity >= LEAST else 0
        self._images = np.empty((self._capacity, n_kernels, n_samples))
        self._clear()

    def _clear(self) -> None:
        self._basis.clear()
        self._inner = np.zeros((self.gram.shape[0], 0, 0))
        self._spare = traces(self.gram) if self._capacity else np.empty(0)

    def remember(self, v: Array) -> None:
        """Spend one pass on the images of v, so that later bounds are sharper."""
        if len(self._basis) == self._capacity:
            return
        _, rest = self._split(v)
        size = float(np.linalg.norm(rest))
        if size <= 1e-9 * float(np.linalg.norm(v)):
            return
        q, k = rest / size, len(self._basis)
        self._images[k] = self.gram.matvec(q)
        self.passes += 1.0
        self._basis.append(q)
        inner = np.empty((self.gram.shape[0], k + 1, k + 1))
        inner[:, :k, :k] = self._inner
        for j, other in enumerate(self._basis):
            inner[:, j, k] = inner[:, k, j] = self._images[k] @ other
        self._inner = inner
        check_forms(self.gram, inner[:, k, k], q)
        self._spare = np.maximum(self._spare - inner[:, k, k], 0.0)

    def __call__(self, rho: Array, level: float) -> Array:
        """Return upper bounds on ||rho||_{K_m}, exact above `level`.

        Parameters
        ----------
        rho : ndarray of shape (n_samples,)
            Dual point.
        level : float
            Dual norms at or below it need not be exact.

        Returns
        -------
        bounds : ndarray of shape (n_kernels,)
        """
        if not self._capacity:
            forms = self.gram.quadratic_forms(rho)
            self.passes += 1.0
            check_forms(self.gram, forms, rho)
            return np.sqrt(np.maximum(forms, 0.0))
        forms = self._bounds(rho)
        doubtful = np.flatnonzero(forms > level**2)
        if doubtful.size > SUBSET * forms.size and self._outside(rho):
            if len(self._basis) == self._capacity:
                self._clear()
            self.remember(rho)
            forms = self._bounds(rho)
            check_forms(self.gram, forms, rho)
            doubtful = np.flatnonzero(forms > level**2)
        # After a whole pass this removes rounding only, so it is left to the few
        # kernels that decide a late certificate.
        if 0 < doubtful.size <= SUBSET * forms.size:
            exact = quadratic_forms_of(self.gram, doubtful, rho)
            self.passes += doubtful.size / forms.size
            if exact.min() < 0.0:
                check_forms(self.gram.take(doubtful), exact, rho, doubtful)
            forms[doubtful] = exact
        return np.sqrt(np.maximum(forms, 0.0))

    def _split(self, v: Array) -> tuple[Array, Array]:
        """Return the coordinates of v in the basis, and what is left."""
        if not self._basis:
            return np.empty(0), v
        basis = np.stack(self._basis)
        coordinates = basis @ v
        rest = v - coordinates @ basis
        # Twice is enough: the second projection removes the rounding of the first.
        again = basis @ rest
        return coordinates + again, rest - again @ basis

    def _outside(self, rho: Array) -> bool:
        """Return whether rho leaves the span of the basis by more than rounding."""
        _, rest = self._split(rho)
        return bool(np.linalg.norm(rest) > 1e-9 * np.linalg.norm(rho))

    def _bounds(self, rho: Array) -> Array:
        """Return the upper bounds on the quadratic forms."""
        c, rest = self._split(rho)
        forms = float(rest @ rest) * self._spare
        if c.size:
            forms += np.einsum("mjk,j,k->m", self._inner, c, c)
            forms += 2.0 * (c @ (self._images[: c.size] @ rest))
        return forms
