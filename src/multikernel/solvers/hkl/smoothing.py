r"""What Newton's method minimises for HKL: the norm and the losses, both smoothed.

.. math::
    \Omega_\epsilon(\beta) = \sum_v d_v s_v, \qquad
    s_v = \sqrt{\|\beta_{D(v)}\|^2 + \epsilon_v^2}

and piecewise linear losses with rounded corners.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from multikernel._typing import Array
from multikernel.losses import Loss, SquaredLoss
from multikernel.losses.base import PolyhedralLoss, SmoothConjugateLoss
from multikernel.solvers.hkl.active import ActiveSet


@dataclass(frozen=True, eq=False)
class SmoothedNorm:
    """The norm at a point, its gradient, and the certificate's split.

    Parameters
    ----------
    active : ActiveSet
        The nodes.
    smoothing : ndarray of shape (n_nodes,)
        The numbers epsilon_v.
    beta : ndarray of shape (n_columns,)
        The point.
    squares : ndarray of shape (n_nodes,)
        ||beta_{D(v)}||^2.
    smooth : ndarray of shape (n_nodes,)
        s_v.
    """

    active: ActiveSet
    smoothing: Array
    beta: Array
    squares: Array
    smooth: Array

    @property
    def value(self) -> float:
        """Return the smoothed norm."""
        return float(self.active.weights @ self.smooth)

    @property
    def rates(self) -> Array:
        """Return the sums of d_v / s_v over the ancestors of every node."""
        return self.active.relation.T @ (self.active.weights / self.smooth)

    def curvature(self, *, above: bool = False) -> Array:
        """Return the Hessian of half the squared norm, (n_columns, n_columns).

        With `above` it is that of the quadratic function that touches from above.
        """
        active, omega = self.active, self.value
        rates = self.rates[active.owner]
        slope = rates * self.beta
        hessian = np.outer(slope, slope)
        hessian[np.diag_indices_from(hessian)] += omega * rates
        if above:
            return hessian
        # The cube of a small s_v would underflow.
        root = np.sqrt(omega * active.weights / self.smooth) / self.smooth
        spread = (root[:, None] * active.relation)[:, active.owner] * self.beta
        hessian -= spread.T @ spread
        return hessian

    def dual_bound(self, products: Array, slack: Array) -> float:
        r"""Return an upper bound on the squared dual norm on the active set.

        The split :math:`\xi^v = \Omega d_v \beta_{D(v)} / s_v` of the correlations,
        with what is missing added to each node's own coordinate, is feasible: so the
        dual norm is at most the largest :math:`\|\xi^v\| / d_v`. `products` are the
        features times the dual vector, and `slack` bounds the norm of what features
        leave out of a node's kernel.
        """
        active, omega = self.active, self.value
        missing = products - omega * self.rates[active.owner] * self.beta
        own = omega * active.weights / self.smooth
        m = len(active)
        crossed = np.bincount(active.owner, missing * self.beta, minlength=m)
        errors = np.bincount(active.owner, missing * missing, minlength=m)
        split = own**2 * self.squares + 2.0 * own * crossed + errors + slack**2
        return float(np.max(split / active.weights**2, initial=0.0))


def smoothed_norm(active: ActiveSet, beta: Array, smoothing: Array) -> SmoothedNorm:
    """Return the smoothed norm at a point; the smoothing are the numbers epsilon_v."""
    squares = squared_norms(active, beta)
    return SmoothedNorm(
        active, smoothing, beta, squares, np.sqrt(squares + smoothing**2)
    )


def norm_value(active: ActiveSet, beta: Array) -> float:
    """Return the norm itself."""
    return float(active.weights @ np.sqrt(squared_norms(active, beta)))


def squared_norms(active: ActiveSet, beta: Array) -> Array:
    """Return ||beta_{D(v)}||^2 of every node."""
    own = np.bincount(active.owner, beta * beta, minlength=len(active))
    return np.asarray(active.relation @ own)


@dataclass(frozen=True, eq=False)
class SmoothRisk:
    """A loss with a smooth conjugate, by its values on all samples."""

    loss: SmoothConjugateLoss
    y: Array

    def value(self, f: Array) -> float:
        """Return the sum of the losses."""
        return float(self.loss.value(self.y, f).sum())

    def gradient(self, f: Array) -> Array:
        """Return the slopes."""
        return self.loss.gradient(self.y, f)

    def curvature(self, f: Array) -> Array:
        """Return second derivatives, one over those of the conjugate."""
        with np.errstate(divide="ignore", over="ignore"):
            second = self.loss.conjugate_hessian(self.y, self.gradient(f))
            return np.asarray(1.0 / second)


@dataclass(frozen=True, eq=False)
class RoundedRisk:
    r"""A piecewise linear loss whose corners are rounded by a barrier.

    .. math:: \max_{0 < p < u} (s f - c) p + \mu \log p + \mu \log (u - p)

    in place of :math:`u \max(0, s f - c)` for every piece. Its slopes lie in the domain
    of the loss's own conjugate, so a dual point of it is one of the loss. Quadratic
    corners do as well, but Newton's method then crawls from kink to kink: 11 700 steps
    along a path of nine strengths on 600 samples, and gaps of 0.02.

    Parameters
    ----------
    loss : PolyhedralLoss
        The loss.
    y : ndarray of shape (n_samples,)
        Targets.
    mu : float
        The weight of the barrier, positive.
    """

    loss: PolyhedralLoss
    y: Array
    mu: float

    def _parts(self, f: Array) -> tuple[Array, Array, Array, Array]:
        """Return signs, excesses, and the distances of p from both ends."""
        signs, costs, sizes = self.loss.dual_pieces(self.y)
        excess = signs * f - costs
        # The roots of a quadratic equation, without a difference of close numbers.
        reach = np.abs(excess) * sizes
        root = np.sqrt(reach**2 + 4.0 * self.mu**2)
        small = self.mu + 2.0 * self.mu**2 / (root + reach)
        small *= sizes / (root + 2.0 * self.mu)
        large = sizes - small
        above = excess > 0.0
        return (
            signs,
            excess,
            np.where(above, large, small),
            np.where(above, small, large),
        )

    def value(self, f: Array) -> float:
        """Return the sum of the rounded losses, up to a constant."""
        _, excess, p, q = self._parts(f)
        sizes = p + q
        barrier = np.log(2.0 * p / sizes) + np.log(2.0 * q / sizes)
        return float((excess * p + self.mu * barrier).sum())

    def gradient(self, f: Array) -> Array:
        """Return the slopes."""
        signs, _, p, _ = self._parts(f)
        return np.asarray((signs * p).sum(axis=0))

    def curvature(self, f: Array) -> Array:
        """Return second derivatives, of at most size^2 / (8 mu)."""
        _, _, p, q = self._parts(f)
        bends = p**2 * q**2 / (self.mu * (p**2 + q**2))
        return np.asarray(bends.sum(axis=0))


Risk = SmoothRisk | RoundedRisk


def rounded(loss: Loss, y: Array, mu: float) -> Risk:
    """Return a loss for Newton's method; `mu` says how far corners are rounded."""
    if hasattr(loss, "dual_pieces"):
        return RoundedRisk(cast(PolyhedralLoss, loss), y, mu)
    return SmoothRisk(cast(SmoothConjugateLoss, loss), y)


def is_quadratic(loss: Loss) -> bool:
    """Return whether the loss is half the squared error, with weights or without."""
    return isinstance(getattr(loss, "loss", loss), SquaredLoss)
