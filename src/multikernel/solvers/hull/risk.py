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
    r"""A piecewise linear loss whose pieces bend over a width mu.

    .. math:: \max_{0 \le p \le u} (s f - c) p - \frac{\mu}{2} p^2

    in place of :math:`u \max(0, s f - c)` for every piece. Its slopes lie in the domain
    of the loss's own conjugate, so a dual point of it is one of the loss.

    Parameters
    ----------
    loss : PolyhedralLoss
        The loss.
    y : ndarray of shape (n_samples,)
        Targets.
    mu : float
        The width, positive.
    """

    loss: PolyhedralLoss
    y: Array
    mu: float

    def _parts(self, f: Array) -> tuple[Array, Array, Array, Array]:
        signs, costs, sizes = self.loss.dual_pieces(self.y)
        excess = signs * f - costs
        return signs, excess, np.clip(excess / self.mu, 0.0, sizes), sizes

    def value(self, f: Array) -> float:
        """Return the sum of the rounded losses."""
        _, excess, p, _ = self._parts(f)
        return float((excess * p - 0.5 * self.mu * p * p).sum())

    def gradient(self, f: Array) -> Array:
        """Return the slopes."""
        signs, _, p, _ = self._parts(f)
        return np.asarray((signs * p).sum(axis=0))

    def curvature(self, f: Array) -> Array:
        """Return one over mu for every piece that bends here."""
        _, _, p, sizes = self._parts(f)
        return np.asarray(((p > 0.0) & (p < sizes)).sum(axis=0) / self.mu)


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
