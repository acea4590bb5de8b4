"""Checks and plumbing that all machines share: shapes, and one output at a time."""

from collections.abc import Callable

import numpy as np

from multikernel._typing import Array
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram.matrix import GramMatrix
from multikernel.losses.base import Loss
from multikernel.machines.base import KernelMachine, MachineFit

NOT_FINITE = "The Gram matrix holds NaN or infinite values."

NOT_A_KERNEL = (
    "The Gram matrix is not positive semidefinite: a direction of negative curvature "
    "was met. Shift its diagonal by minus its smallest eigenvalue, or clip its "
    "negative eigenvalues."
)

FitOne = Callable[[Array, MachineFit | None], MachineFit]


def check_problem(
    machine: KernelMachine,
    gram: GramMatrix,
    y: Array,
    loss: Loss,
    init: MachineFit | None,
) -> None:
    """Raise if a machine cannot treat the loss, or if shapes disagree.

    Parameters
    ----------
    machine : KernelMachine
        The machine that is asked.
    gram : GramMatrix
        Must be square, with a row per target.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets, finite.
    loss : Loss
        The loss.
    init : MachineFit or None
        The start.

    Raises
    ------
    UnsupportedProblemError
        With the machine's reason.
    ValueError
        If shapes disagree, or a target is not finite.
    """
    reason = machine.unsupported(loss)
    if reason is not None:
        raise UnsupportedProblemError(reason)
    if y.ndim not in (1, 2) or gram.shape != (y.shape[0], y.shape[0]):
        raise ValueError(
            f"The Gram matrix has shape {gram.shape} and the targets {y.shape}; "
            "expected a square matrix with one row per target."
        )
    if not np.isfinite(y).all():
        raise ValueError("The targets hold NaN or infinite values.")
    if init is not None and not init.dual.shape == init.f.shape == y.shape:
        raise ValueError(
            f"The start has a dual of shape {init.dual.shape} and an f of shape "
            f"{init.f.shape}, but the targets have shape {y.shape}."
        )


def fit_outputs(fit_one: FitOne, y: Array, init: MachineFit | None) -> MachineFit:
    """Fit every output on its own, and put the fits together.

    Parameters
    ----------
    fit_one : callable
        Fits one-dimensional targets from a start or None.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    init : MachineFit or None
        The start, with a dual of the shape of `y`.

    Returns
    -------
    fit : MachineFit
        Objectives and steps are summed.
    """
    if y.ndim == 1:
        return fit_one(y, init)
    fits = [
        fit_one(
            np.ascontiguousarray(y[:, k]), None if init is None else _output(init, k)
        )
        for k in range(y.shape[1])
    ]
    return MachineFit(
        np.stack([fit.dual for fit in fits], axis=1),
        np.concatenate([fit.intercept for fit in fits]),
        np.stack([fit.f for fit in fits], axis=1),
        sum(fit.objective for fit in fits),
        sum(fit.n_steps for fit in fits),
        all(fit.converged for fit in fits),
    )


def _output(fit: MachineFit, k: int) -> MachineFit:
    """Return one output of a fit; its objective is not known."""
    return MachineFit(
        fit.dual[:, k], fit.intercept[k : k + 1], fit.f[:, k], np.nan, 0, fit.converged
    )


def breakdown(gram: GramMatrix) -> ValueError:
    """Return the error for a system K + diag(shift) that has no Cholesky factor.

    Parameters
    ----------
    gram : GramMatrix
        The matrix K.

    Returns
    -------
    error : ValueError
        An `IndefiniteKernelError`, unless values of K are not finite.
    """
    if np.isfinite(gram.matvec(np.ones(gram.shape[1]))).all():
        return IndefiniteKernelError(NOT_A_KERNEL)
    return ValueError(NOT_FINITE)
