"""Newton's method for smooth losses on one Gram matrix: kernel logistic regression."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from multikernel._typing import Array
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.checks import ROUNDING
from multikernel.gram.matrix import GramMatrix
from multikernel.linalg import TINY
from multikernel.losses.base import Loss, SmoothConjugateLoss, is_smooth
from multikernel.machines.base import (
    NOT_A_KERNEL,
    NOT_FINITE,
    MachineFit,
    breakdown,
    check_problem,
    fit_outputs,
)


@dataclass(frozen=True)
class Settings:
    """What tunes Newton's method."""

    largest_shift: float = 1e12
    """Where the loss is flatter than the inverse of this, relative to the flattest
    sample that matters, the sample has no say in a Newton step anyway."""

    halvings: int = 50

    armijo: float = 1e-4

    stalled: float = 1e-6
    """A violation below this that does not fall any more is at its rounding level."""

    outside: float = 1e-13
    """Relative distance of a dual variable from its domain that is rounding."""


SETTINGS = Settings()


EPS = 16.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Newton:
    r"""Newton's method in function space, for losses that are smooth and curved.

    With the expansion f = K rho + b a Newton step solves

    .. math::
        (K + H) \rho + b 1 = f - H \ell'(f), \quad 1^\top \rho = 0,
        \qquad H = \operatorname{diag}(1 / \ell''(f))

    (iteratively reweighted least squares [1]_; H is the Hessian of the conjugate at
    l'(f), which is how it is computed). Steps are halved until the objective falls;
    along a step it needs only the losses and two numbers.

    Parameters
    ----------
    tol : float, default=1e-9
        Stop when the largest entry of rho + l'(f), divided by that of rho, is at
        most this. It bounds the error of the dual variable.
    max_steps : int, default=100
        Newton steps at most.

    References
    ----------
    .. [1] Rasmussen, Williams (2006). Gaussian Processes for Machine Learning,
       section 3.4. MIT Press.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseMatrix
    >>> from multikernel.losses import LogisticLoss
    >>> gram = DenseMatrix(np.eye(2))
    >>> y = np.array([1.0, -1.0])
    >>> fit = Newton().fit(gram, y, LogisticLoss(), fit_intercept=False)
    >>> bool(np.allclose(fit.dual, 1.0 / (1.0 + np.exp(y * fit.f)) * y))
    True
    """

    tol: float = 1e-9
    max_steps: int = 100

    def unsupported(self, loss: Loss) -> str | None:
        """Return why this machine cannot treat the loss, or None if it can."""
        if is_smooth(loss):
            return None
        return (
            "Newton needs a loss whose conjugate is twice differentiable (logistic, "
            "squared)."
        )

    def fit(
        self,
        gram: GramMatrix,
        y: Array,
        loss: Loss,
        *,
        fit_intercept: bool,
        init: MachineFit | None = None,
    ) -> MachineFit:
        """Solve the problem; see `KernelMachine.fit`.

        The loss is a `SmoothConjugateLoss`, and a start is any expansion: it need not
        be dual feasible.

        Raises
        ------
        UnsupportedProblemError
            If the loss has no smooth conjugate.
        ValueError
            If shapes disagree, a target is not finite, or there is no optimum: an
            intercept and one class only.
        IndefiniteKernelError
            If a negative quadratic form or an indefinite system is met.
        """
        check_problem(self, gram, y, loss, init)
        smooth = cast(SmoothConjugateLoss, loss)

        def fit_one(targets: Array, start: MachineFit | None) -> MachineFit:
            task = _Task(gram, targets, smooth, fit_intercept)
            _check_bounded(task)
            return self._fit_one(task, _better_start(task, start))

        return fit_outputs(fit_one, y, init)

    def _fit_one(self, task: "_Task", point: "_Point") -> MachineFit:
        steps = 0
        violation = _violation(task, point)
        while steps < self.max_steps:
            if violation <= self.tol and _rise_by_clipping(task, point) <= self.tol:
                break
            point = _line_search(task, point, _newton_direction(task, point))
            steps += 1
            previous, violation = violation, _violation(task, point)
            if violation >= previous and violation <= SETTINGS.stalled:
                break
        return _fit_at(task, point, steps, violation <= self.tol)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is minimised."""

    gram: GramMatrix
    y: Array
    loss: SmoothConjugateLoss
    fit_intercept: bool


@dataclass(frozen=True, eq=False)
class _Point:
    """An expansion and its decision values f = K rho + b; also a direction."""

    rho: Array
    b: float
    f: Array

    def moved(self, step: float, direction: "_Point") -> "_Point":
        """Return the point a step further."""
        return _Point(
            self.rho + step * direction.rho,
            self.b + step * direction.b,
            self.f + step * direction.f,
        )


def _better_start(task: _Task, start: MachineFit | None) -> _Point:
    """Return the start, or zero where that is better."""
    zero = _Point(np.zeros_like(task.y), 0.0, np.zeros_like(task.y))
    if start is None:
        return zero
    # Far away from the optimum all losses may be saturated: no slope leads back.
    point = _Point(start.dual, float(start.intercept[0]), start.f)
    return point if _objective(task, point) <= _objective(task, zero) else zero


def _objective(task: _Task, point: _Point) -> float:
    losses = float(task.loss.value(task.y, point.f).sum())
    return losses + 0.5 * float(point.rho @ (point.f - point.b))


def _check_bounded(task: _Task) -> None:
    """Raise if the intercept runs away: every sample pulls to the same side."""
    lower, upper = task.loss.dual_bounds(task.y)
    if task.fit_intercept and (np.all(lower >= 0.0) or np.all(upper <= 0.0)):
        raise ValueError(
            "The targets hold one class only: the best intercept is infinite."
        )


def _violation(task: _Task, point: _Point) -> float:
    """Return the largest abs(rho + l'(f)), relative to the largest entry of either."""
    gradient = task.loss.gradient(task.y, point.f)
    if not np.isfinite(gradient).all():
        raise ValueError(NOT_FINITE)
    size = max(float(np.abs(gradient).max()), float(np.abs(point.rho).max()), TINY)
    return float(np.abs(point.rho + gradient).max()) / size


def _rise_by_clipping(task: _Task, point: _Point) -> float:
    """Return by what share the objective rises where rho is clipped to its domain.

    A coefficient may lie a tolerance beyond a bound, and next to kernels of a large
    scale that is no small change of f: without this a problem of 40 samples ended at
    an objective of 1766 where the optimum is 0.023.
    """
    lower, upper = task.loss.dual_bounds(task.y)
    move = np.clip(point.rho, -upper, -lower) - point.rho
    if float(np.abs(move).max()) <= SETTINGS.outside * float(np.abs(point.rho).max()):
        return 0.0
    clipped = point.moved(1.0, _Point(move, 0.0, task.gram.matvec(move)))
    before = _objective(task, point)
    return (_objective(task, clipped) - before) / max(abs(before), TINY)


def _newton_direction(task: _Task, point: _Point) -> _Point:
    """Return the way to the minimum of the quadratic model (class docstring)."""
    gradient = task.loss.gradient(task.y, point.f)
    with np.errstate(divide="ignore", over="ignore"):
        hessian = task.loss.conjugate_hessian(task.y, gradient)
    if np.isinf(hessian).all():
        # Every sample is saturated, and none says how far to go back.
        slopes = task.loss.gradient(task.y, np.zeros_like(task.y))
        hessian = task.loss.conjugate_hessian(task.y, slopes)
    # Only the step depends on the cap: the fixed point is rho = -l'(f) for any H.
    hessian = np.minimum(hessian, SETTINGS.largest_shift * float(hessian.min()))
    target = point.f - hessian * gradient
    try:
        solved = task.gram.solve(
            np.column_stack([target, np.ones_like(target)]), shift=hessian
        )
    except np.linalg.LinAlgError as error:
        raise breakdown(task.gram) from error
    rho, b = solved[:, 0], 0.0
    if task.fit_intercept:
        b = float(rho.sum() / solved[:, 1].sum())
        rho = rho - b * solved[:, 1]
    step = rho - point.rho
    return _Point(step, b - point.b, task.gram.matvec(step) + (b - point.b))


def _line_search(task: _Task, point: _Point, direction: _Point) -> _Point:
    """Return the first point along halved steps at which the objective has fallen."""
    image, moved_image = point.f - point.b, direction.f - direction.b
    curvature = float(direction.rho @ moved_image)
    diagonal = float(np.abs(task.gram.diagonal()).sum())
    if curvature < -ROUNDING * float(direction.rho @ direction.rho) * diagonal:
        raise IndefiniteKernelError(NOT_A_KERNEL)
    linear = float(direction.rho @ image)
    losses = float(task.loss.value(task.y, point.f).sum())
    slope = linear + float(task.loss.gradient(task.y, point.f) @ direction.f)
    step = 1.0
    for _ in range(SETTINGS.halvings):
        value = float(task.loss.value(task.y, point.f + step * direction.f).sum())
        change = value - losses + step * linear + 0.5 * step * step * curvature
        # Near the optimum the change drowns in rounding, and the full step is right.
        if change <= SETTINGS.armijo * step * slope + EPS * abs(losses):
            break
        step *= 0.5
    return point.moved(step, direction)


def _fit_at(task: _Task, point: _Point, steps: int, converged: bool) -> MachineFit:
    """Put the fit together; a point outside the dual domain proves nothing."""
    lower, upper = task.loss.dual_bounds(task.y)
    # At the tolerance a coefficient next to a bound may lie a rounding beyond it.
    dual = np.clip(point.rho, -upper, -lower) if converged else point.rho
    form = float(point.rho @ (point.f - point.b))
    objective = -float(task.loss.conjugate(task.y, -dual).sum()) - 0.5 * form
    return MachineFit(
        point.rho, np.array([point.b]), point.f, objective, steps, converged
    )
