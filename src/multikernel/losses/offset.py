"""Offsets by composition: a loss at f + offset is a loss, too."""

from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from scipy.special import xlogy

from multikernel._typing import Array, Indices
from multikernel.exceptions import UnsupportedProblemError, warn_user
from multikernel.losses.base import (
    Loss,
    PolyhedralLoss,
    SmoothConjugateLoss,
    is_coupled,
    is_shift_equivariant,
)


@runtime_checkable
class AbsorbingLoss(Loss, Protocol):
    """A loss for which an offset is equivalent to other targets and weights."""

    def absorbed(self, y: Array, offset: Array) -> tuple[Array, Array]:
        """Return targets y' and weights w with l(y, f + offset) = w l(y', f)."""


@dataclass(frozen=True, eq=False)
class OffsetLoss:
    """A loss at decision values plus an offset, with conjugate l*(y, u) - u offset."""

    loss: Loss  # separable over outputs; for optional methods see `_offset_loss`
    offset: Array  # if one-dimensional, the same for all outputs

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle a function and its arguments, because the class is made on demand."""
        return _offset_loss, (self.loss, self.offset)

    def _broadcast_offset(self, y: Array) -> Array:
        """Return the offsets in a shape that broadcasts against y."""
        missing = y.ndim > self.offset.ndim
        return self.offset[:, None] if missing else self.offset

    def part(self, samples: Indices) -> "OffsetLoss":
        """Return the loss for some of the samples."""
        return _offset_loss(self.loss, self.offset[samples])

    def output(self, k: int) -> "OffsetLoss":
        """Return the loss of one output."""
        if self.offset.ndim == 1:
            return self
        return _offset_loss(self.loss, self.offset[:, k])

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        return self.loss.value(y, f + self._broadcast_offset(y))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the gradient of the loss, evaluated at f + offset."""
        return self.loss.gradient(y, f + self._broadcast_offset(y))

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return l*(y, u) minus u times the offset."""
        return self.loss.conjugate(y, u) - u * self._broadcast_offset(y)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the domain, which does not depend on the offset."""
        return self.loss.dual_bounds(y)


class _SmoothOffset(OffsetLoss):
    """A loss with an offset and with the derivatives of the conjugate."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the derivative of l*(y, u) - u offset with respect to u."""
        loss = cast(SmoothConjugateLoss, self.loss)
        return loss.conjugate_gradient(y, u) - self._broadcast_offset(y)

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the second derivative of l*(y, u) with respect to u."""
        return cast(SmoothConjugateLoss, self.loss).conjugate_hessian(y, u)


class _PolyhedralOffset(OffsetLoss):
    """A loss with an offset, whose conjugate is piecewise linear."""

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return signs, costs and bounds of the loss; the offset changes the costs."""
        signs, costs, sizes = cast(PolyhedralLoss, self.loss).dual_pieces(y)
        return signs, costs - signs * self._broadcast_offset(y), sizes


MIXINS = (
    (SmoothConjugateLoss, _SmoothOffset),
    (PolyhedralLoss, _PolyhedralOffset),
)
"""Protocols, and the classes that add their methods to an `OffsetLoss`."""

Wrapper = TypeVar("Wrapper")


@cache
def with_capabilities(
    wrapper: type[Wrapper],
    mixins: tuple[tuple[type, type[Wrapper]], ...],
    loss_class: type[Loss],
) -> type[Wrapper]:
    """Return a subclass of `wrapper` with the same optional methods as a loss."""
    # `mixins` are pairs: a protocol, and the class that adds the protocol's methods.
    bases = tuple(
        mixin for capability, mixin in mixins if issubclass(loss_class, capability)
    )
    if not bases:
        return wrapper
    name = wrapper.__name__.replace("Loss", loss_class.__name__)
    return cast(type[Wrapper], type(name, bases, {"__doc__": loss_class.__doc__}))


def _offset_loss(loss: Loss, offset: Array) -> OffsetLoss:
    """Return the loss with an offset, with the same optional methods as `loss`."""
    capable: type[OffsetLoss] = with_capabilities(OffsetLoss, MIXINS, type(loss))
    return capable(loss, offset)


def with_offset(
    loss: Loss, y: Array, offset: Array
) -> tuple[Loss, Array, Array | None]:
    """Return a loss, targets and weights (or None) equivalent to a loss with offset."""
    if is_coupled(loss):
        raise UnsupportedProblemError(
            f"{type(loss).__name__} does not support offsets, because it couples all "
            "classes: use selection='separate', which fits each class against the "
            "others."
        )
    # Losses of y - f shift the targets, and losses with a log link change targets and
    # weights.
    if is_shift_equivariant(loss):
        return loss, y - offset, None
    if isinstance(loss, AbsorbingLoss):
        return loss, *_absorb_offset(loss, y, offset)
    return _offset_loss(loss, offset), y, None


def _absorb_offset(loss: AbsorbingLoss, y: Array, offset: Array) -> tuple[Array, Array]:
    """Return targets and weights that replace an offset; check the offset's scale."""
    with np.errstate(all="ignore"):
        targets, weights = loss.absorbed(y, offset)
        squares = np.concatenate([weights.ravel(), targets[y != 0.0]]) ** 2
    # Solvers multiply weights by gradients, which contain the weights and targets. So
    # the squares of weights and targets must not overflow or underflow.
    if not (np.isfinite(squares).all() and squares.all()):
        raise ValueError(
            f"The offset ranges from {offset.min():.3g} to {offset.max():.3g}, and "
            "squares of exp(offset) or of y / exp(offset) overflow or underflow. Pass "
            "the offset on the logarithmic scale, such as np.log(exposure), and "
            "rescale y if it has extreme values."
        )
    if _looks_like_exposures(y, offset):
        warn_user(
            f"The offset ranges from {offset.min():.3g} to {offset.max():.3g}, and y "
            "looks proportional to it rather than to its exponential. If the offset "
            "contains exposures, pass np.log(exposure).",
            UserWarning,
        )
    weight_columns = weights.reshape(len(weights), -1)
    if np.any(weight_columns != weight_columns[:, :1]):
        raise UnsupportedProblemError(
            f"{type(loss).__name__} requires the same offset for all outputs of a "
            "sample, but the offsets differ: use selection='separate'."
        )
    return targets, weight_columns[:, 0]


def _looks_like_exposures(y: Array, offset: Array) -> bool:
    """Return whether counts y fit exposures `offset` better than exp(offset)."""
    if offset.min() <= 0.0 or not y.any():
        return False
    exact = np.sum(xlogy(y, y / y.sum()))
    exposures = (offset, np.exp(offset), np.ones(offset.shape))
    as_exposure, *other_deviances = (
        exact - np.sum(y * np.log(exposure / exposure.sum())) for exposure in exposures
    )
    return bool(as_exposure < 0.8 * min(other_deviances))
