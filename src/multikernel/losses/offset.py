"""Offsets of decision values by composition: a loss at f + o is a loss."""

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
    """A loss that is itself at an offset, for other targets and weights."""

    def absorbed(self, y: Array, offset: Array) -> tuple[Array, Array]:
        """Return targets y' and weights w with l(y, f + offset) = w l(y', f)."""


@dataclass(frozen=True, eq=False)
class OffsetLoss:
    r"""A loss at decision values that have an offset, :math:`\ell(y_i, f_i + o_i)`.

    Its conjugate is :math:`\ell^*(y, u) - u o`. Use `with_offset` to build one:
    it gives back an object with exactly the capabilities of `loss`.

    Parameters
    ----------
    loss : Loss
        The loss of one sample, separable over outputs.
    offset : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The offsets; in the first shape the same for all outputs.
    """

    loss: Loss
    offset: Array

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the recipe: the class is made on demand."""
        return _offset_loss, (self.loss, self.offset)

    def _like(self, y: Array) -> Array:
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
        """Return the losses."""
        return self.loss.value(y, f + self._like(y))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the gradient."""
        return self.loss.gradient(y, f + self._like(y))

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return l*(y, u) - u o."""
        return self.loss.conjugate(y, u) - u * self._like(y)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the domain, which an offset does not move."""
        return self.loss.dual_bounds(y)


class _SmoothOffset(OffsetLoss):
    """Adds the derivatives of the conjugate."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the derivative of l*(y, u), less the offset."""
        loss = cast(SmoothConjugateLoss, self.loss)
        return loss.conjugate_gradient(y, u) - self._like(y)

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the second derivative of l*(y, u)."""
        return cast(SmoothConjugateLoss, self.loss).conjugate_hessian(y, u)


class _PolyhedralOffset(OffsetLoss):
    """Adds the boxes of the conjugate."""

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return the pieces of the loss, whose costs the offset changes."""
        signs, costs, sizes = cast(PolyhedralLoss, self.loss).dual_pieces(y)
        return signs, costs - signs * self._like(y), sizes


MIXINS = (
    (SmoothConjugateLoss, _SmoothOffset),
    (PolyhedralLoss, _PolyhedralOffset),
)
"""What makes a loss at an offset as capable as the loss."""

Wrapper = TypeVar("Wrapper")


@cache
def as_capable(
    wrapper: type[Wrapper],
    mixins: tuple[tuple[type, type[Wrapper]], ...],
    loss_class: type[Loss],
) -> type[Wrapper]:
    """Return the class of a loss around another with exactly its capabilities.

    Parameters
    ----------
    wrapper : type
        The class around losses without any.
    mixins : tuple of (protocol, type)
        For each capability the class that adds it.
    loss_class : type
        The class of the loss inside.
    """
    bases = tuple(
        mixin for capability, mixin in mixins if issubclass(loss_class, capability)
    )
    if not bases:
        return wrapper
    name = wrapper.__name__.replace("Loss", loss_class.__name__)
    return cast(type[Wrapper], type(name, bases, {"__doc__": loss_class.__doc__}))


def _offset_loss(loss: Loss, offset: Array) -> OffsetLoss:
    capable: type[OffsetLoss] = as_capable(OffsetLoss, MIXINS, type(loss))
    return capable(loss, offset)


def with_offset(
    loss: Loss, y: Array, offset: Array
) -> tuple[Loss, Array, Array | None]:
    """Return loss, targets and weights of samples that an offset leads to.

    A loss of y - f alone has the offset in its targets, and one with a logarithmic link
    in targets and weights; any other one is an `OffsetLoss`.

    Parameters
    ----------
    loss : Loss
        The loss of one sample, without weights.
    y, offset : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets, and what is added to decision values.

    Returns
    -------
    loss : Loss
    y : ndarray
    weights : ndarray of shape (n_samples,) or None

    Raises
    ------
    UnsupportedProblemError
        If the loss is one of all classes at once, or outputs would need weights of
        their own.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import PoissonLoss
    >>> from multikernel.losses.offset import with_offset
    >>> with_offset(PoissonLoss(), np.array([2.0, 8.0]), np.log([1.0, 4.0]))[1:]
    (array([2., 2.]), array([1., 4.]))
    """
    if is_coupled(loss):
        raise UnsupportedProblemError(
            f"{type(loss).__name__} does not support offsets, because it is a loss "
            "for all classes: use selection='separate'."
        )
    if is_shift_equivariant(loss):
        return loss, y - offset, None
    if not isinstance(loss, AbsorbingLoss):
        return _offset_loss(loss, offset), y, None
    with np.errstate(all="ignore"):
        targets, weights = loss.absorbed(y, offset)
        sizes = np.concatenate([weights.ravel(), targets[y != 0.0]]) ** 2
    # Squares, because products of weights and slopes must be finite.
    if not (np.isfinite(sizes).all() and sizes.all()):
        raise ValueError(
            f"The offset ranges from {offset.min():.3g} to {offset.max():.3g}, and its "
            "exponential overflows or underflows: pass the offset on the logarithmic "
            "scale, such as np.log(exposure)."
        )
    if _looks_like_exposures(y, offset):
        warn_user(
            f"The offset ranges from {offset.min():.3g} to {offset.max():.3g}, and y "
            "is closer to proportional to it than to its exponential. If the offset "
            "holds exposures, pass np.log(exposure).",
            UserWarning,
        )
    columns = weights.reshape(len(weights), -1)
    if np.any(columns != columns[:, :1]):
        raise UnsupportedProblemError(
            f"{type(loss).__name__} supports one offset for all outputs of a sample: "
            "use selection='separate' for several."
        )
    return loss, targets, columns[:, 0]


def _looks_like_exposures(y: Array, offset: Array) -> bool:
    """Return whether y fits the offsets as exposures clearly better than as given.

    Compares Poisson deviances of models with one rate. A right offset was never taken
    for an exposure in 1200 simulated samples of 100 rows.
    """
    if offset.min() <= 0.0 or not y.any():
        return False
    exact = np.sum(xlogy(y, y / y.sum()))
    exposures = (offset, np.exp(offset), np.ones(offset.shape))
    as_exposure, *others = (
        exact - np.sum(y * np.log(each / each.sum())) for each in exposures
    )
    return bool(as_exposure < 0.8 * min(others))
