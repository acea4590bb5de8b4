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

Dual points of piecewise linear losses leave that span all the time, but in few
samples: the others stay at the corners of the loss's domain. Images of such a change
cost the share of a pass that its samples are of all.
"""

from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import check_forms
from multikernel.gram.base import FEW, GramStack
from multikernel.gram.capabilities import pass_numbers, rough_forms
from multikernel.problem import Problem
from multikernel.solvers.spicy.settings import SETTINGS


class Span:
    """Orthonormal vectors q_j with their images K_m q_j, and bounds that follow.

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
        """Return the coordinates of v in the basis, and v less its projection."""
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
        with np.errstate(over="ignore"):  # an infinite bound excludes no kernel
            forms = float(rest @ rest) * self.spare
        if c.size:
            forms += np.einsum("mjk,j,k->m", self._inner[:, : c.size, : c.size], c, c)
            forms += 2.0 * (c @ (self._images[: c.size] @ rest))
        return forms


@dataclass
class DualNorms:
    """Upper bounds on dual norms, exact wherever they exceed a level.

    Parameters
    ----------
    gram : GramStack
        The kernel matrices.
    several : bool, default=False
        Whether dual points have several outputs. Then nothing is screened: a form of
        them is a pass, and an image is as many numbers for every output.
    """

    gram: GramStack
    several: bool = False
    _span: Span | None = field(init=False)
    _last: Array = field(init=False)  # of the span: the last vector remembered

    def __post_init__(self) -> None:
        n_kernels, n_samples, _ = self.gram.shape
        image = 8 * n_kernels * n_samples
        # Thin factors, and products of few mains, leave no room: a pass over them reads
        # little more than images.
        held = 8 * pass_numbers(self.gram)
        room = min(SETTINGS.max_bytes, SETTINGS.share * held)
        capacity = min(int(room // max(image, 1)), n_samples, SETTINGS.most)
        # With fewer the bounds are too loose to earn their extra arithmetic.
        screens = capacity >= SETTINGS.least and not self.several
        self._span = Span(self.gram, capacity) if screens else None
        self._last = np.zeros(n_samples)

    def remember(self, v: Array) -> None:
        """Spend one pass on the images of v, not zero: later bounds are sharper."""
        span = self._span
        if span is None:
            return
        self._make_room(span)
        _, rest = span.split(v)
        size = float(np.linalg.norm(rest))
        self._last = v.copy()
        if size > 1e-9 * float(np.linalg.norm(v)):
            q = rest / size
            span.append(q, self.gram.matvec(q))

    def __call__(self, rho: Array, level: float) -> Array:
        """Return upper bounds on ||rho||_{K_m}, (n_kernels,), exact above `level`.

        The dual point has shape (n_samples,) or (n_samples, n_outputs).
        """
        if self._span is None:
            forms, errors = rough_forms(self.gram, rho)
            forms += errors
            check_forms(self.gram, forms, rho)
            inexact = errors > 0.0
            most = max(SETTINGS.exact, int(SETTINGS.subset * forms.size))
        else:
            forms = self._sharp_bounds(self._span, rho, level)
            # After a whole pass this removes rounding only, so it is left to the few
            # kernels that decide a late certificate.
            inexact, most = np.ones(forms.size, bool), int(SETTINGS.subset * forms.size)
        doubtful = np.flatnonzero(inexact & (forms > level**2))
        if 0 < doubtful.size <= most:
            exact = self.gram.once(doubtful).quadratic_forms(rho)
            if exact.min() < 0.0:
                check_forms(self.gram.take(doubtful), exact, rho, doubtful)
            forms[doubtful] = exact
        return np.sqrt(np.maximum(forms, 0.0))

    def _sharp_bounds(self, span: Span, rho: Array, level: float) -> Array:
        """Return bounds on quadratic forms that leave few kernels in doubt."""
        forms = span.bounds(rho)
        doubtful = float(np.mean(forms > level**2))
        entries = np.flatnonzero(rho != self._last)
        share = entries.size / rho.size
        few = 0.0 < share <= FEW
        if few and doubtful > min(SETTINGS.subset, share):
            self._remember_change(span, rho, entries)
            forms = span.bounds(rho)
            doubtful = float(np.mean(forms > level**2))
        if doubtful > SETTINGS.subset and self._outside(span, rho):
            self.remember(rho)
            forms = span.bounds(rho)
            check_forms(self.gram, forms, rho)
        return forms

    def _remember_change(self, span: Span, rho: Array, entries: Indices) -> None:
        """Look at the images of a change in few entries."""
        self._make_room(span)
        change = np.zeros_like(rho)
        change[entries] = rho[entries] - self._last[entries]
        coordinates, rest = span.split(change)
        size = float(np.linalg.norm(rest))
        if size <= SETTINGS.dependent * float(np.linalg.norm(change)):
            return
        images = self.gram.sparse_matvec(entries, change[entries])
        span.append(rest / size, (images - span.images_of(coordinates)) / size)
        self._last = self._last + change

    def _make_room(self, span: Span) -> None:
        """Forget all but the last vector where there is no room for another."""
        if span.size == span.capacity:
            span.keep_only(self._last)

    def _outside(self, span: Span, rho: Array) -> bool:
        """Return whether rho leaves the span by more than rounding."""
        _, rest = span.split(rho)
        return bool(np.linalg.norm(rest) > 1e-9 * np.linalg.norm(rho))


def screening(problem: Problem) -> DualNorms:
    """Return the bounds on the dual norms of a problem's kernels."""
    return DualNorms(problem.gram, several=problem.y.ndim == 2)
