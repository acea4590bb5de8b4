"""Points, starts and line search of Newton's methods on one Gram matrix."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.checks import ROUNDING
from multikernel.gram.matrix import GramMatrix
from multikernel.losses.answers import refuse_nan
from multikernel.machines.base import (
    NOT_A_KERNEL,
    NOT_FINITE,
    LossKind,
    MachineFit,
    Task,
)

STALLED = 1e-6
"""A violation below this value that no longer decreases is only a rounding error."""


@dataclass(frozen=True, eq=False)
class Point:
    """A model: rho, K rho and intercepts, (n_outputs,); or changes of these."""

    rho: Array
    image: Array
    b: Array

    @property
    def f(self) -> Array:
        """Decision values K rho plus intercepts."""
        return self.image + self.b

    @property
    def form(self) -> float:
        """Quadratic form tr(rho^T K rho)."""
        return float(np.vdot(self.rho, self.image))

    def moved(self, step: float, direction: "Point") -> "Point":
        """Return this point plus `step` times a direction."""
        return Point(
            self.rho + step * direction.rho,
            self.image + step * direction.image,
            self.b + step * direction.b,
        )


def objective(task: Task[LossKind], point: Point) -> float:
    """Return the objective at a point."""
    losses = float(task.loss.value(task.y, point.f).sum())
    refuse_nan(task.loss, "value", losses, point.f)
    return losses + 0.5 * point.form


def better_start(
    task: Task[LossKind], start: MachineFit | None, default: Point
) -> Point:
    """Return the warm start, or the default point if that has a lower objective."""
    if start is None:
        return default
    # If a start is far from the optimum, all losses may be linear there, and Newton's
    # method fails.
    point = Point(start.dual, start.f - start.intercept, start.intercept)
    return point if objective(task, point) <= objective(task, default) else default


def check_form(gram: GramMatrix, form: float, v: Array) -> None:
    """Raise if the quadratic form of v is not finite, or negative beyond rounding."""
    if not np.isfinite(form):
        raise ValueError(NOT_FINITE)
    size = float(np.vdot(v, v)) * float(np.abs(gram.diagonal()).sum())
    if form < -ROUNDING * size:
        raise IndefiniteKernelError(NOT_A_KERNEL)


def line_search(task: Task[LossKind], point: Point, direction: Point) -> Point:
    """Return the first point of halved steps that lowers the objective sufficiently."""
    form = direction.form
    check_form(task.gram, form, direction.rho)
    inner, value = float(np.vdot(direction.rho, point.image)), objective(task, point)
    losses = value - 0.5 * point.form
    slope = inner + float(np.vdot(task.loss.gradient(task.y, point.f), direction.f))
    # Near the optimum, changes are below rounding and the full step is accepted.
    # Shorter steps must decrease the objective.
    length, slack = 1.0, 1e-14 * abs(value)
    for _ in range(50):
        next_point = point.moved(length, direction)
        change = float(task.loss.value(task.y, next_point.f).sum()) - losses
        change += length * inner + 0.5 * length**2 * form
        if change <= 1e-4 * length * slope + slack:
            return next_point
        length, slack = 0.5 * length, 0.0
    return point  # rounding prevents any decrease
