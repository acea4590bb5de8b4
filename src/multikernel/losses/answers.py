"""Validation of users' losses before a fit; `testing.check_loss` checks more."""

import numpy as np

from multikernel._typing import Array
from multikernel.losses.base import Loss, is_smooth
from multikernel.losses.coupled import is_coupled

OWN_PACKAGE = __name__.partition(".")[0] + "."


def validate_loss(owner: str, loss: Loss, y: Array) -> None:
    """Raise if targets do not suit a loss, or a user's loss fails at f = 0, -1 or 1."""
    raise_if_unsuitable(owner, loss, y)
    if type(loss).__module__.startswith(OWN_PACKAGE):
        return
    # Wrong shapes and NaN would raise unrelated errors in a solver.
    name = f"{owner}: {type(loss).__name__}"
    value_shape = y.shape[:1] if is_coupled(loss) else y.shape
    _check_bounds(name, loss, y)
    # Losses may overflow for large decision values.
    for level in (0.0, -1.0, 1.0):
        f = np.full_like(y, level)
        _check_result(f"{name}.value", loss.value(y, f), value_shape)
        slope = loss.gradient(y, f.copy())
        _check_result(f"{name}.gradient", slope, y.shape)
        _check_result(f"{name}.conjugate", loss.conjugate(y, slope), value_shape)
        if is_smooth(loss):
            for method in ("conjugate_gradient", "conjugate_hessian"):
                result = getattr(loss, method)(y, 0.5 * slope)
                _check_result(f"{name}.{method}", result, y.shape)


def raise_if_unsuitable(owner: str, loss: Loss, y: Array) -> None:
    """Raise if the targets do not suit a loss; the message begins with `owner`."""
    reason = unsuitable(loss, y)
    if reason is not None:
        raise ValueError(f"{owner}: {reason}.")


def unsuitable(loss: Loss, y: Array) -> str | None:
    """Return why a loss's own check rejects the targets, or None if it does not."""
    inner = getattr(loss, "loss", loss)  # the wrapped loss, if any
    return inner.unsuitable(y) if hasattr(inner, "unsuitable") else None


def refuse_nan(loss: Loss, method: str, result: Array | float, points: Array) -> None:
    """Raise if a loss returned NaN for finite numbers: solvers would never stop."""
    # The sum of inf and -inf is nan. `np.sum` of a float would take ten times as long.
    total = result if isinstance(result, float) else np.sum(result)
    if np.isnan(total) and np.isfinite(points).all():
        inner = getattr(loss, "loss", loss)
        returned = "nan" if np.isnan(result).any() else "inf and -inf"
        raise ValueError(
            f"{type(inner).__name__}.{method} returned {returned} for finite arguments "
            f"of up to {np.abs(points).max():.3g}: it must return numbers for all "
            "finite arguments. Test the loss with multikernel.testing.check_loss."
        )


def _description(result: object) -> str:
    """Return the shape of an array, or the type of another object, for a message."""
    if isinstance(result, tuple):
        return f"({', '.join(_description(each) for each in result)})"
    if isinstance(result, np.ndarray):
        return f"an array of shape {result.shape}"
    return type(result).__name__


def _check_bounds(name: str, loss: Loss, y: Array) -> None:
    """Raise unless each interval that `loss.dual_bounds` returns contains zero."""
    bounds = loss.dual_bounds(y)
    try:
        lower, upper = (np.broadcast_to(bound, y.shape) for bound in bounds)
        invalid = np.argwhere(~((lower <= 0.0) & (upper >= 0.0)))
        if not invalid.size:
            return
        first = tuple(invalid[0])
        returned = (
            f"lower = {lower[first]:.6g} and upper = {upper[first]:.6g} for sample "
            f"{int(first[0])}"
        )
    except (TypeError, ValueError):
        returned = _description(bounds)
    raise ValueError(
        f"{name}.dual_bounds must return (lower, upper), two arrays of shape {y.shape} "
        f"with lower <= 0 <= upper, but it returned {returned}. Test the loss with "
        "multikernel.testing.check_loss."
    )


def _check_result(name: str, result: object, shape: tuple[int, ...]) -> None:
    """Raise unless a result is an array of the given shape without NaN."""
    if not isinstance(result, np.ndarray) or result.shape != shape:
        raise ValueError(
            f"{name} returned {_description(result)}; expected an array of shape "
            f"{shape}. Test the loss with multikernel.testing.check_loss."
        )
    nans = np.argwhere(np.isnan(result))
    if nans.size:
        raise ValueError(
            f"{name} returned nan, first for sample {int(nans[0][0])}: it must return "
            "numbers for every target and decision value. Test the loss with "
            "multikernel.testing.check_loss."
        )
