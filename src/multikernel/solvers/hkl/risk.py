"""Losses as Newton's method takes them, piecewise linear ones with rounded corners."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from multikernel._typing import Array
from multikernel.losses import Loss, SquaredLoss
from multikernel.losses.base import PolyhedralLoss, SmoothConjugateLoss


@dataclass(frozen=True, eq=False)
class SmoothRisk:
    """A loss with a smooth conjugate, by its values on all samples.

    Parameters
    ----------
    loss : SmoothConjugateLoss
        The loss.
    y : ndarray of shape (n_samples,)
        Targets.
    """

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
    """Return a loss for Newton's method.

    Parameters
    ----------
    loss : Loss
        A `SmoothConjugateLoss` or a `PolyhedralLoss`.
    y : ndarray of shape (n_samples,)
        Targets.
    mu : float
        How far corners are rounded.

    Returns
    -------
    risk : Risk
    """
    if hasattr(loss, "dual_pieces"):
        return RoundedRisk(cast(PolyhedralLoss, loss), y, mu)
    return SmoothRisk(cast(SmoothConjugateLoss, loss), y)


def is_quadratic(loss: Loss) -> bool:
    """Return whether the loss is half the squared error, with weights or without."""
    return isinstance(getattr(loss, "loss", loss), SquaredLoss)
