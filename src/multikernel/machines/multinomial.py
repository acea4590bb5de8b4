"""Multinomial kernel logistic regression on one Gram matrix, by Newton's method.

Decision values are f = K rho + 1 b^T, with dual variables rho and intercepts b. A step
from f_old solves rho + W f = w (e_y - p) + W f_old, with sample weights w, one-hot
targets e_y and the class probabilities p at f_old; sample i has the curvature W_i = w_i
(diag(p_i) - p_i p_i^T). Conjugate gradients need a dozen products of K with n_classes
columns, which cost less than n_classes factorizations (Rasmussen, Williams 2006,
Gaussian Processes for Machine Learning, algorithm 3.3). In a step, a constant kernel
added to K represents the changes of the intercepts.
"""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.losses.base import Loss
from multikernel.losses.coupled import CoupledLoss, SoftmaxLoss
from multikernel.losses.weighted import without_weights
from multikernel.machines.base import NOT_FINITE, KernelMachine, MachineFit, Task
from multikernel.machines.descent import (
    STALLED,
    Point,
    better_start,
    check_form,
    line_search,
)

CoupledTask = Task[CoupledLoss]


@dataclass(frozen=True)
class Multinomial(KernelMachine):
    """Newton's method in function space for the softmax loss; targets are one-hot.

    `tol` limits the largest entry of rho - w (e_y - p), relative to the largest entry
    of w (e_y - p), with the dual variable rho, sample weights w, one-hot targets e_y
    and class probabilities p.
    """

    tol: float = 1e-9
    max_steps: int = 100

    def unsupported(self, loss: Loss) -> str | None:
        """Return why this machine does not support a loss, or None if it does."""
        # A subclass of SoftmaxLoss may be a different loss.
        if type(without_weights(loss)) is SoftmaxLoss:
            return None
        return "Multinomial supports the softmax loss only."

    def _solve(self, task: "CoupledTask", init: MachineFit | None) -> MachineFit:
        """Solve the problem from `init`, whose dual need not be feasible, or from 0."""
        y, loss = task.y, task.loss
        zeros, b = np.zeros_like(y), np.zeros(y.shape[1])
        if task.fit_intercept:
            b, _ = loss.constant_model(y)
        point, steps = better_start(task, init, Point(zeros, zeros, b)), 0
        violation = _violation(task, point)
        while steps < self.max_steps and violation > self.tol:
            direction = _newton_direction(task, point, 0.3 * min(violation, 1.0))
            last_point, point = point, line_search(task, point, direction)
            steps += 1
            if point is last_point:
                break
            last, violation = violation, _violation(task, point)
            if violation >= last and violation <= STALLED:
                break
        # Minus the loss gradient is dual feasible; rho is feasible only at the optimum.
        dual = -loss.gradient(y, point.f)
        objective = -float(loss.conjugate(y, -dual).sum()) - 0.5 * point.form
        converged = violation <= self.tol
        return MachineFit(dual, point.b, point.f, objective, steps, converged)


def _violation(task: CoupledTask, point: Point) -> float:
    """Return the relative deviation of rho from minus the gradient of the loss."""
    slope = -task.loss.gradient(task.y, point.f)
    # The square of a smaller number would underflow.
    largest = max(float(np.abs(slope).max()), 1e-150)
    deviation = float(np.abs(slope - point.rho).max())
    if not np.isfinite(deviation):
        raise ValueError(NOT_FINITE)
    # With an intercept, each column of rho should sum to zero. Its mean is compared
    # instead of its sum, because rounding errors add up in sums.
    imbalance = np.abs(point.rho.sum(axis=0)).max() / len(task.y)
    return max(deviation, float(imbalance) if task.fit_intercept else 0.0) / largest


def _newton_direction(task: CoupledTask, point: Point, tol: float) -> Point:
    """Return the Newton step, with a relative residual of at most `tol`."""
    # The change of rho is the x with (I + W K) x = slope - rho, where K includes the
    # constant kernel, and W is w_i (diag(p_i) - p_i p_i^T) for sample i with class
    # probabilities p_i. Conjugate gradients in the inner product of the function space:
    # each step decreases the quadratic model and requires one product with K.
    w, slope = task.loss.masses(task.y)[:, None], -task.loss.gradient(task.y, point.f)
    p = task.y - slope / w
    mean = float(np.abs(task.gram.diagonal()).mean())
    constant = 10.0 * mean if task.fit_intercept else 0.0

    def weigh(kernel_part: Array, rho_sums: Array) -> Array:
        """Return W z for z = kernel_part + constant * rho_sums."""
        # z is the change of the decision values for a change of rho. `kernel_part` is
        # the product of K with the change of rho. The product of the constant kernel
        # needs only `rho_sums`, the sum of the change of rho for each class.
        z = kernel_part + constant * rho_sums
        return np.asarray(w * p * (z - np.sum(p * z, axis=1, keepdims=True)))

    # Changes of rho and of K rho. `sums`, `r_sums` and `d_sums` are the sums over
    # samples of the change, the residual and the direction, for the constant kernel.
    change, image = np.zeros_like(p), np.zeros_like(p)
    sums = np.zeros(p.shape[1])
    residual, r_sums = slope - point.rho, slope.sum(axis=0)
    direction, d_sums, d_image, square, goal = residual, r_sums, image, 0.0, 0.0
    for k in range(1000):
        smooth_part = task.gram.matvec(residual)
        form = float(np.sum(residual * smooth_part) + constant * (r_sums @ r_sums))
        goal = tol**2 * form if k == 0 else goal
        check_form(task.gram, form, residual)
        if form <= goal:
            break
        ratio = form / square if k else 0.0
        direction = residual + ratio * direction
        d_sums = r_sums + ratio * d_sums
        d_image, square = smooth_part + ratio * d_image, form
        curved = weigh(d_image, d_sums)
        Hd, Hd_sums = direction + curved, d_sums + curved.sum(axis=0)
        curvature = float(np.sum(d_image * Hd))
        curvature += constant * float(d_sums @ Hd_sums)
        if not curvature > 0.0:
            break  # at rounding level
        length = square / curvature
        change, image = change + length * direction, image + length * d_image
        sums = sums + length * d_sums
        residual, r_sums = residual - length * Hd, r_sums - length * Hd_sums
    return Point(change, image, constant * sums)
