"""Validation of users' losses before a fit; `check_loss` is the complete check."""

from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.losses.base import Loss, is_smooth
from multikernel.losses.coupled import is_coupled

OWN_PACKAGE = __name__.partition(".")[0] + "."


def check_answers(owner: str, loss: Loss, y: Array) -> None:
    """Raise if targets do not suit a loss, or a user's loss is wrong near zero."""
    refuse_unsuitable(owner, loss, y)
    if type(loss).__module__.startswith(OWN_PACKAGE):
        return
    # Wrong shapes and NaN would raise unrelated errors in a solver.
    name = f"{owner}: {type(loss).__name__}"
    rows = y.shape[:1] if is_coupled(loss) else y.shape
    _check_bounds(name, loss, y)
    # Losses may overflow for large decision values.
    for level in (0.0, -1.0, 1.0):
        f = np.full_like(y, level)
        _check(f"{name}.value", loss.value(y, f), rows)
        slope = loss.gradient(y, f.copy())
        _check(f"{name}.gradient", slope, y.shape)
        _check(f"{name}.conjugate", loss.conjugate(y, slope), rows)
        if is_smooth(loss):
            for method in ("conjugate_gradient", "conjugate_hessian"):
                answer = getattr(loss, method)(y, 0.5 * slope)
                _check(f"{name}.{method}", answer, y.shape)


def refuse_unsuitable(owner: str, loss: Loss, y: Array) -> None:
    """Raise if the targets do not suit a loss; see `unsuitable`."""
    reason = unsuitable(loss, y)
    if reason is not None:
        raise ValueError(f"{owner}: {reason}.")


def unsuitable(loss: Loss, y: Array) -> str | None:
    """Return why targets do not suit a loss, or None; losses may define the check."""
    inner: Any = getattr(loss, "loss", loss)
    has_check = hasattr(inner, "unsuitable")
    reason: str | None = inner.unsuitable(y) if has_check else None
    return reason


def refuse_nan(loss: Loss, method: str, answer: Array | float, at: Array) -> None:
    """Raise if a loss returned NaN for finite numbers; solvers would not stop."""
    if np.isnan(np.sum(answer)) and np.isfinite(at).all():
        inner = getattr(loss, "loss", loss)
        raise ValueError(
            f"{type(inner).__name__}.{method} returned nan for finite arguments of up "
            f"to {np.abs(at).max():.3g}: it must return numbers for all of them, see "
            "multikernel.testing.check_loss."
        )


def _check_bounds(name: str, loss: Loss, y: Array) -> None:
    """Raise unless the domain of every target is an interval that contains zero."""
    bounds: Any = loss.dual_bounds(y)
    try:
        lower, upper = (np.broadcast_to(each, y.shape) for each in bounds)
        around = bool(np.all((lower <= 0.0) & (upper >= 0.0)))
    except (TypeError, ValueError):
        around = False
    if not around:
        raise ValueError(
            f"{name}.dual_bounds must return (lower, upper), two arrays of shape "
            f"{y.shape} with lower <= 0 <= upper."
        )


def _check(name: str, answer: object, shape: tuple[int, ...]) -> None:
    """Raise unless a result is an array of the given shape without NaN."""
    if not isinstance(answer, np.ndarray) or answer.shape != shape:
        kind = type(answer).__name__
        if isinstance(answer, np.ndarray):
            kind = f"an array of shape {answer.shape}"
        raise ValueError(
            f"{name} returned {kind}; expected an array of shape {shape}: see "
            "multikernel.testing.check_loss."
        )
    wrong = np.argwhere(np.isnan(answer))
    if wrong.size:
        raise ValueError(
            f"{name} returned nan, first for sample {int(wrong[0][0])}: it must return "
            "numbers for every target and decision value."
        )
