"""Kernel ridge regression with weights and an unpenalized intercept, in closed form."""

from dataclasses import dataclass

import numpy as np

from multikernel.losses.base import Loss
from multikernel.losses.weighted import is_squared, weights_of
from multikernel.machines.base import (
    NOT_FINITE,
    KernelMachine,
    MachineFit,
    Task,
    factorization_error,
)


@dataclass(frozen=True)
class Ridge(KernelMachine):
    """Kernel ridge regression: the squared loss, by one linear system for all outputs.

    The system is (K + diag(1 / w)) rho + b 1 = y, with sum(rho) = 0 if there is an
    intercept b, and sample weights w (Saunders, Gammerman, Vovk 1998, Ridge regression
    learning algorithm in dual variables, ICML).
    """

    def unsupported(self, loss: Loss) -> str | None:
        """Return why this machine does not support a loss, or None if it does."""
        if is_squared(loss):
            return None
        return (
            "Ridge requires the squared loss, weighted or not: other losses do not "
            "lead to a linear system."
        )

    def _solve(self, task: Task[Loss], init: MachineFit | None) -> MachineFit:
        """Solve the problem in one step; the warm start is ignored."""
        gram, y, loss = task.gram, task.y, task.loss
        targets = y if y.ndim == 2 else y[:, None]
        weights = weights_of(loss, len(y))
        columns = np.column_stack([targets, np.ones(len(y))])
        try:
            solutions = gram.solve(columns, shift=1.0 / weights)
        except np.linalg.LinAlgError as error:
            raise factorization_error(gram) from error
        if not np.isfinite(solutions).all():
            raise ValueError(NOT_FINITE)
        rho, ones = solutions[:, :-1], solutions[:, -1]
        b = np.zeros(targets.shape[1])
        if task.fit_intercept:
            b = rho.sum(axis=0) / ones.sum()
            rho = rho - np.outer(ones, b)
        # K rho is computed as a product, because targets - rho / w - b is inaccurate if
        # the system is nearly singular.
        image = gram.matvec(rho)
        form = float(np.sum(rho * image))
        dual, f = rho.reshape(y.shape), (image + b).reshape(y.shape)
        objective = -float(loss.conjugate(y, -dual).sum()) - 0.5 * form
        return MachineFit(dual, b, f, objective, 1, True)
