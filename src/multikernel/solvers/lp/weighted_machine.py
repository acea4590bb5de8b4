"""Machines inside solvers over kernel weights: as exact as the gap asks for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import check_forms, project_dual
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.gram.matrix import GramMatrix
from multikernel.linalg.spectra import lowest_direction
from multikernel.machines import (
    SMO,
    CrammerSinger,
    KernelMachine,
    MachineFit,
    Multinomial,
    Newton,
    machine_for,
    support_product,
)
from multikernel.problem import Problem
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm

SHARE = 0.1
"""SMO may leave this share of the gap, by a bound that is pessimistic by far."""

FIRST_GAP = 0.1
"""Gap that a first, cold run of a machine is solved for."""

SMALLEST_GAP = 1e-12
"""No machine is asked for less, as rounding rules there."""

CACHE_BYTES = 1_000_000_000
"""Memory for rows of a combined kernel that is not held, as the default."""


def machine_within(
    problem: Problem, gap: float, objective: float, cache_bytes: int = CACHE_BYTES
) -> KernelMachine:
    """Return a machine for the problem's loss that stops early enough for a gap.

    A violation v of SMO costs at most v times the distance that the dual variables
    can still go. Hardly one of them goes from bound to bound, so stopping where that
    bound is a share of the gap leaves an error far below it.

    Parameters
    ----------
    problem : Problem
        Gives the loss.
    gap : float
        Relative duality gap that the solver is at.
    objective : float
        Primal objective.
    cache_bytes : int, default=1_000_000_000
        Memory of SMO for rows of a matrix that is not held.

    Returns
    -------
    machine : KernelMachine

    Raises
    ------
    UnsupportedProblemError
        If no machine can treat the loss.
    """
    machine = machine_for(problem.loss)
    if isinstance(machine, SMO):
        lower, upper = problem.loss.dual_bounds(problem.y)
        room = float(np.sum(upper - lower))
        tol = SHARE * max(gap, SMALLEST_GAP) * abs(objective) / room
        return replace(machine, tol=tol, cache_bytes=cache_bytes)
    if isinstance(machine, CrammerSinger):
        tol = SHARE * max(gap, SMALLEST_GAP)
        return replace(machine, tol=tol, cache_bytes=cache_bytes)
    if isinstance(machine, Newton | Multinomial):
        return replace(machine, tol=float(np.clip(1e-2 * gap, 1e-9, 1e-3)))
    return machine


def reason_against(problem: Problem, name: str) -> str | None:
    """Return why a solver for lp-norm learning cannot treat a problem, or None.

    Parameters
    ----------
    problem : Problem
        The problem.
    name : str
        What to call the solver.

    Returns
    -------
    reason : str or None
        A sentence.
    """
    if not isinstance(problem.regularizer, SquaredBlockNorm):
        kind = type(problem.regularizer).__name__
        return f"{name} needs the regulariser SquaredBlockNorm, got {kind}."
    if problem.y.ndim != 1:
        return (
            f"{name} solves for one output at a time, and the targets have "
            f"{problem.y.shape[1]} columns: solve for each column, or use Alternating."
        )
    return reason_against_loss(problem)


def reason_against_loss(problem: Problem) -> str | None:
    """Return why no machine can treat the problem's loss, or None if one can."""
    try:
        machine_for(problem.loss)
    except UnsupportedProblemError as error:
        return str(error)
    return None


def fit_machine(
    machine: KernelMachine,
    problem: Problem,
    gram: GramMatrix,
    init: MachineFit | None = None,
) -> MachineFit:
    """Fit on a combination of the problem's kernels.

    Raises
    ------
    IndefiniteKernelError
        Naming the kernel, if the combination is not positive semidefinite.
    """
    with _naming_the_kernel(problem.gram):
        return machine.fit(
            gram,
            problem.y,
            problem.loss,
            fit_intercept=problem.fit_intercept,
            init=init,
        )


def feasible(
    problem: Problem, gram: GramMatrix, fit: MachineFit
) -> tuple[Array, Array]:
    """Return a dual feasible point of a fit, and its image under the Gram matrix.

    Only machines for smooth losses that stopped early leave the domain of the loss
    by more than rounding; then the image is computed anew.
    """
    rho = project_dual(problem, fit.dual)
    moved = float(np.abs(rho - fit.dual).max())
    if moved <= 1e-13 * float(np.abs(rho).max()):
        return rho, fit.f - fit.intercept
    return rho, support_product(gram, rho)


@contextmanager
def _naming_the_kernel(gram: GramStack) -> Iterator[None]:
    """Turn a machine's complaint about the sum into one about a kernel."""
    try:
        yield
    except IndefiniteKernelError:
        # The search costs far more than a pass, but there will be no fit anyway.
        for m in range(gram.shape[0]):
            kernels = np.array([m])
            one = gram.take(kernels)
            K = one.combine(np.ones(1))
            size = float(np.abs(K.diagonal()).sum())
            vector = lowest_direction(K.matvec, K.shape[0], size)
            check_forms(one, one.quadratic_forms(vector), vector, kernels)
        raise
