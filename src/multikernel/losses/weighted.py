"""Sample weights by composition: a weighted loss is a loss."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.losses.base import (
    CoupledLoss,
    Loss,
    PolyhedralCoupledLoss,
    PolyhedralLoss,
    SmoothConjugateLoss,
    SmoothCoupledLoss,
)
from multikernel.losses.offset import OffsetLoss, with_capabilities
from multikernel.losses.squared import SquaredLoss


@dataclass(frozen=True, eq=False)
class WeightedLoss:
    """A loss times a positive weight per sample, with conjugate w l*(y, u / w).

    Use `weighted` to create it: the result has the optional methods of `loss`.
    `weights` has shape (n_samples,).
    """

    loss: Loss
    weights: Array

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle a function and its arguments, because the class is made on demand."""
        return weighted, (self.loss, self.weights)

    def _broadcast_weights(self, y: Array) -> Array:
        """Return the weights in a shape that broadcasts against y."""
        return self.weights if y.ndim == 1 else self.weights[:, None]

    def value(self, y: Array, f: Array) -> Array:
        """Return the weighted losses."""
        values = self.loss.value(y, f)
        return self._broadcast_weights(values) * values

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the weighted gradient of each sample's loss."""
        return self._broadcast_weights(y) * self.loss.gradient(y, f)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return w l*(y, u / w), the conjugate of a loss l times weights w."""
        values = self.loss.conjugate(y, self._unweighted_slopes(y, u))
        return self._broadcast_weights(values) * values

    def _unweighted_slopes(self, y: Array, u: Array) -> Array:
        """Return u / w; entries outside the domain by rounding are clipped to it."""
        w = self._broadcast_weights(y)
        lower, upper = self.loss.dual_bounds(y)
        slopes, is_inside = u / w, (u >= w * lower) & (u <= w * upper)
        # `np.clip` would take three times as long for a few hundred samples.
        clipped = np.minimum(np.maximum(slopes, lower), upper)
        return np.where(is_inside, clipped, slopes)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the bounds of the conjugate's domain, times the sample weights."""
        lower, upper = self.loss.dual_bounds(y)
        w = self._broadcast_weights(y)
        return w * lower, w * upper


class _WeightedSmoothConjugate(WeightedLoss):
    """A weighted loss with the derivatives of the conjugate."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the derivative of w l*(y, u / w) with respect to u."""
        loss = cast(SmoothConjugateLoss, self.loss)
        return loss.conjugate_gradient(y, self._unweighted_slopes(y, u))

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the second derivative of w l*(y, u / w) with respect to u."""
        loss = cast(SmoothConjugateLoss, self.loss)
        # u / w is not clipped to the domain as in `_unweighted_slopes`: the curvature
        # may be infinite at its ends.
        w = self._broadcast_weights(y)
        return loss.conjugate_hessian(y, u / w) / w


class _WeightedPolyhedral(WeightedLoss):
    """A weighted loss with a piecewise linear conjugate (see `PolyhedralLoss`)."""

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return signs, costs and bounds of the loss, with weighted bounds."""
        signs, costs, sizes = cast(PolyhedralLoss, self.loss).dual_pieces(y)
        return signs, costs, sizes * self._broadcast_weights(y)


class _WeightedCoupled(WeightedLoss):
    """A weighted coupled loss, whose simplices are multiplied by the weights."""

    @property
    def _coupled(self) -> CoupledLoss:
        """The loss without weights."""
        return cast(CoupledLoss, self.loss)

    def project_rows(self, y: Array, u: Array) -> Array:
        """Return the nearest point of the domain to every row of u."""
        w = self._broadcast_weights(y)
        return w * self._coupled.project_rows(y, u / w)

    def support(self, y: Array, u: Array) -> Mask:
        """Return a mask of positive class shares, (n_samples, n_classes)."""
        return self._coupled.support(y, u / self._broadcast_weights(y))

    def masses(self, y: Array) -> Array:
        """Return the sample weights, the sum of each sample's shares of the classes."""
        return self.weights

    def best_intercept(
        self, y: Array, f: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return best constants and a dual point; `weights` multiply the loss's own."""
        return self._coupled.best_intercept(y, f, self._combined_weights(weights))

    def constant_model(
        self, y: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the result of `best_intercept` for f = 0, in closed form."""
        return self._coupled.constant_model(y, self._combined_weights(weights))

    def _combined_weights(self, weights: Array | None) -> Array:
        """Return the loss's weights, multiplied by `weights` if these are given."""
        return self.weights if weights is None else self.weights * weights


class _WeightedSmoothCoupled(_WeightedCoupled):
    """A weighted coupled loss with the derivative of the conjugate."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the derivative of w l*(y, u / w) with respect to u."""
        loss = cast(SmoothCoupledLoss, self.loss)
        return loss.conjugate_gradient(y, u / self._broadcast_weights(y))


class _WeightedPolyhedralCoupled(_WeightedCoupled):
    """A weighted coupled loss whose conjugate is linear on the simplices."""

    def corner_costs(self, y: Array) -> Array:
        """Return the conjugate at each class's vertex, in y's shape, for weight 1."""
        return cast(PolyhedralCoupledLoss, self.loss).corner_costs(y)


MIXINS = (
    (SmoothConjugateLoss, _WeightedSmoothConjugate),
    (PolyhedralLoss, _WeightedPolyhedral),
    (SmoothCoupledLoss, _WeightedSmoothCoupled),
    (PolyhedralCoupledLoss, _WeightedPolyhedralCoupled),
    (CoupledLoss, _WeightedCoupled),
)
"""Protocols, and the classes that add their methods to a `WeightedLoss`."""


def weighted(loss: Loss, weights: Array | None) -> Loss:
    """Return a loss times sample weights, with the same optional methods as `loss`.

    `weights` has shape (n_samples,) and must be positive and finite; None or all ones
    return `loss` itself.
    """
    if weights is None or bool(np.all(weights == 1.0)):
        return loss
    is_invalid = ~(np.isfinite(weights) & (weights > 0.0))
    if is_invalid.any():
        i = int(np.argmax(is_invalid))
        raise ValueError(
            f"weights must be positive and finite, got {weights[i]:g} at sample {i}: "
            "correct this weight, or remove the sample."
        )
    capable: type[WeightedLoss] = with_capabilities(WeightedLoss, MIXINS, type(loss))
    return capable(loss, weights)


def part_of(loss: Loss, samples: Indices) -> Loss:
    """Return the loss for a subset of its samples."""
    if isinstance(loss, WeightedLoss):
        return weighted(part_of(loss.loss, samples), loss.weights[samples])
    return loss.part(samples) if isinstance(loss, OffsetLoss) else loss


def without_weights(loss: Loss) -> Loss:
    """Return the loss without sample weights."""
    return loss.loss if isinstance(loss, WeightedLoss) else loss


def weights_of(loss: Loss, n_samples: int) -> Array:
    """Return the sample weights of a loss, (n_samples,); ones if it has none."""
    return loss.weights if isinstance(loss, WeightedLoss) else np.ones(n_samples)


def is_squared(loss: Loss) -> bool:
    """Return whether a loss is the squared loss, weighted or not."""
    # The type must be exact: a subclass of `SquaredLoss` may define another loss.
    return type(without_weights(loss)) is SquaredLoss


def finite_ends(loss: SmoothConjugateLoss, y: Array) -> tuple[Array, Array]:
    """Return the ends of rho's domain, infinite if l* has an infinite slope there."""
    # rho is minus the argument u of the conjugate.
    lower, upper = loss.dual_bounds(y)
    # A conjugate's gradient that diverges at a bound is infinite at the bound of the
    # unweighted loss. At the weighted bound, which is rounded, it could be finite.
    unweighted = cast(SmoothConjugateLoss, without_weights(loss))
    lowest, highest = unweighted.dual_bounds(y)
    with np.errstate(all="ignore"):
        at_upper = np.isfinite(unweighted.conjugate_gradient(y, highest))
        at_lower = np.isfinite(unweighted.conjugate_gradient(y, lowest))
    return np.where(at_upper, -upper, -np.inf), np.where(at_lower, -lower, np.inf)


def output_loss(loss: Loss, k: int) -> Loss:
    """Return the loss of output k; outputs may have different offsets."""
    if isinstance(loss, WeightedLoss):
        return weighted(output_loss(loss.loss, k), loss.weights)
    return loss.output(k) if isinstance(loss, OffsetLoss) else loss
