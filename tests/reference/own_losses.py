"""Losses that are not the library's, as its users may write them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class HuberLoss:
    """Squared error up to delta, absolute error beyond."""

    delta: float = 1.0

    def value(self, y, f):
        size = np.abs(f - y)
        small = np.minimum(size, self.delta)
        return small * (size - 0.5 * small)

    def gradient(self, y, f):
        return np.clip(f - y, -self.delta, self.delta)

    def conjugate(self, y, u):
        return np.where(np.abs(u) <= self.delta, u * (0.5 * u + y), np.inf)

    def conjugate_gradient(self, y, u):
        return u + y

    def conjugate_hessian(self, y, u):
        return np.ones_like(u)

    def dual_bounds(self, y):
        return np.full_like(y, -self.delta), np.full_like(y, self.delta)


class QuarterSquare:
    """A quarter of the squared error: half the curvature of `SquaredLoss`.

    It does not say how it grows.
    """

    def value(self, y, f):
        return 0.25 * (y - f) ** 2

    def gradient(self, y, f):
        return 0.5 * (f - y)

    def conjugate(self, y, u):
        return u * (u + y)

    def conjugate_gradient(self, y, u):
        return 2.0 * u + y

    def conjugate_hessian(self, y, u):
        return np.full_like(u, 2.0)

    def dual_bounds(self, y):
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)


@dataclass(frozen=True)
class SquaredHingeLoss:
    """Half the squared margin violation: its domain ends on one side only."""

    def value(self, y, f):
        return 0.5 * np.maximum(0.0, 1.0 - y * f) ** 2

    def gradient(self, y, f):
        return -y * np.maximum(0.0, 1.0 - y * f)

    def conjugate(self, y, u):
        return np.where(y * u <= 0.0, 0.5 * u**2 + y * u, np.inf)

    def conjugate_gradient(self, y, u):
        return u + y

    def conjugate_hessian(self, y, u):
        return np.ones_like(u)

    def dual_bounds(self, y):
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)


@dataclass(frozen=True)
class PinballLoss:
    """The loss whose best constant is a quantile: two slopes, no power of two."""

    quantile: float = 0.8

    def value(self, y, f):
        return np.maximum(self.quantile * (y - f), (1.0 - self.quantile) * (f - y))

    def gradient(self, y, f):
        return np.where(f < y, -self.quantile, 1.0 - self.quantile)

    def conjugate(self, y, u):
        lower, upper = self.dual_bounds(y)
        return np.where((u >= lower) & (u <= upper), y * u, np.inf)

    def dual_bounds(self, y):
        return np.full_like(y, -self.quantile), np.full_like(y, 1.0 - self.quantile)

    def dual_pieces(self, y):
        one = np.ones_like(y)
        signs = np.stack([one, -one])
        return (
            signs,
            signs * y,
            np.stack([(1.0 - self.quantile) * one, self.quantile * one]),
        )
