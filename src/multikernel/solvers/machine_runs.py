"""Short runs of machines on weighted sums of kernels, to find the kernel weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import check_forms, project_dual
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.gram.matrix import DenseMatrix, GramMatrix
from multikernel.linalg.spectra import lowest_direction
from multikernel.losses.base import is_polyhedral, is_smooth
from multikernel.losses.weighted import part_of
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
from multikernel.solvers.base import reason_against_penalty

SHARE = 0.1
"""SMO stops when a pessimistic bound on its error is at most this share of the gap."""

FIRST_GAP = 0.1
"""Largest relative gap to which machines are solved, as in the first run."""

SMALLEST_GAP = 1e-12
"""Smallest relative gap to which machines are solved; smaller ones are rounding."""

CACHE_BYTES = 1_000_000_000
"""Default memory limit for the entries of a combined kernel that is not an array."""


FLOOR = 1e-3
"""Least share of a weight that an iteration preserves: zero weights would stay zero. In
inexact runs, quadratic forms may round to zero: without this rule, twelve kernels of
scales 1e8 to 6e13 had a gap of 0.18."""


def reason_against(problem: Problem, name: str) -> str | None:
    """Return why the solver `name` does not support a problem, or None if it does."""
    if problem.y.ndim != 1:
        return (
            f"{name} supports one output, got targets with {problem.y.shape[1]} "
            "columns: solve for each column, or use Alternating."
        )
    return reason_against_penalty(problem, name) or reason_against_loss(problem)


def reason_against_loss(problem: Problem) -> str | None:
    """Return why no machine supports the problem's loss, or None if one does."""
    try:
        machine_for(problem.loss)
    except UnsupportedProblemError as error:
        return str(error)
    return None


def machine_for_gap(
    problem: Problem,
    gap: float,
    objective: float,
    cache_bytes: int = CACHE_BYTES,
    max_steps: int | None = None,
) -> KernelMachine:
    """Return a machine for the problem's loss, with a tolerance for a relative gap."""
    machine = machine_for(problem.loss)
    if isinstance(machine, SMO):
        # A violation v of SMO costs at most v times the distance that the dual
        # variables can still move. SMO stops when v times the largest possible
        # distance, from bound to bound, is `SHARE` times the gap. The dual variables
        # rarely move that far, so the error is far smaller.
        lower, upper = problem.loss.dual_bounds(problem.y)
        room = float(np.sum(upper - lower))
        tol = SHARE * max(gap, SMALLEST_GAP) * abs(objective) / room
        return replace(machine, tol=tol, cache_bytes=cache_bytes, max_steps=max_steps)
    if isinstance(machine, CrammerSinger):
        tol = SHARE * max(gap, SMALLEST_GAP)
        return replace(machine, tol=tol, cache_bytes=cache_bytes)
    if isinstance(machine, Newton | Multinomial):
        return replace(machine, tol=float(np.clip(1e-2 * gap, 1e-9, 1e-3)))
    return machine


def fit_machine(
    machine: KernelMachine,
    problem: Problem,
    gram: GramMatrix,
    init: MachineFit | None = None,
    kernels: Indices | None = None,
) -> MachineFit:
    """Fit the machine on `gram`, a combination of the problem's kernels."""
    # An error about an indefinite combination names the kernel at fault, by its entry
    # of `kernels` if given, otherwise by its index.
    with naming_the_kernel(problem.gram, kernels):
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
    """Return a dual feasible point of a fit, and its product with the Gram matrix."""
    rho = project_dual(problem, fit.dual)
    moved = float(np.abs(rho - fit.dual).max())
    if moved <= 1e-13 * float(np.abs(rho).max()):
        return rho, fit.f - fit.intercept
    # The projection moved the point by more than rounding, so K rho is computed again.
    # This happens only if a machine for a smooth loss stopped early.
    return rho, support_product(gram, rho)


def changing_samples(problem: Problem, rho: Array, f: Array) -> Indices:
    """Return the sorted indices of samples that a short run is likely to change."""
    # A piecewise linear loss leaves most dual variables at zero. The result contains
    # the samples whose dual variable is not zero or would leave zero in a gradient
    # step, and half as many further samples, which are nearest to leaving zero. A sum
    # of kernels is read for these only; the next run includes samples that were missed.
    # The decision values f include the intercept.
    # `room` is the distance of f to the kink at which the dual variable leaves zero.
    loss, all_samples = problem.loss, np.arange(rho.size)
    if not (is_polyhedral(loss) and problem.gram.in_memory):
        return all_samples
    slopes, costs, sizes = loss.dual_pieces(problem.y)
    room = np.where(sizes > 0.0, costs - slopes * f, np.inf).min(axis=0)
    room[rho != 0.0] = -np.inf
    count = round(1.5 * np.count_nonzero(room <= 0.0))
    if not 0 < count < rho.size:
        return all_samples
    return np.sort(np.argpartition(room, count)[:count])


def problem_on(problem: Problem, samples: Indices) -> Problem:
    """Return the problem on some samples; only their kernel entries are read."""
    if samples.size == problem.y.size:
        return problem
    all_kernels = np.arange(problem.gram.shape[0])
    gram = problem.gram.once(all_kernels).restrict(samples)
    loss = part_of(problem.loss, samples)
    return replace(problem, gram=gram, y=problem.y[samples], loss=loss)


@contextmanager
def naming_the_kernel(gram: GramStack, names: Indices | None) -> Iterator[None]:
    """Replace an error about an indefinite sum by one about the kernel at fault."""
    try:
        yield
    except IndefiniteKernelError:
        # The search for the kernel at fault takes far longer than a pass. It runs only
        # after a fit has failed.
        for m in range(gram.shape[0]):
            kernel = gram.take(np.array([m]))
            K = kernel.combine(np.ones(1))
            size = float(np.abs(K.diagonal()).sum())
            vector = lowest_direction(K.matvec, K.shape[0], size)
            name = np.array([m if names is None else names[m]])
            check_forms(kernel, kernel.quadratic_forms(vector), vector, name)
        raise


def weight_hessian(
    problem: Problem, matrix: GramMatrix, rho: Array, images: Array
) -> Array:
    """Return the second derivatives of a machine's optimum in the kernel weights."""
    # H_mk = u_m^T P u_k with u_m = (K_m rho)_F. F are the samples that are free to
    # move, and P is the inverse of the curvature of the dual on F, projected on a sum
    # of zero if there is an intercept. This takes one factorization, and reads no
    # kernel: `matrix` is their weighted sum, and `images`, (n_kernels, n_samples), are
    # the K_m rho.
    free, curvature = _free_samples(problem, rho)
    if free.size == 0:
        return np.zeros((len(images), len(images)))
    images = images[:, free]
    system = DenseMatrix(matrix.columns(free)[free])
    # Combined kernels may lack full rank.
    jitter = 1e-10 * max(float(np.trace(system.array)), 1e-300)
    sides = np.column_stack([images.T, np.ones(free.size)])
    solved = system.solve(sides, shift=curvature + jitter)
    product = images @ solved[:, :-1]
    if problem.fit_intercept:
        sums = images @ solved[:, -1]
        product -= np.outer(sums, sums) / float(solved[:, -1].sum())
    return np.asarray(product)


def _free_samples(problem: Problem, rho: Array) -> tuple[Indices, Array]:
    """Return the samples at no bound or kink, and the curvatures of their conjugate."""
    lower, upper = problem.loss.dual_bounds(problem.y)
    u = -rho
    margin = 1e-9 * float(np.abs(rho).max(initial=0.0))
    inside = (u > lower + margin) & (u < upper - margin)
    if is_smooth(problem.loss):
        free = np.flatnonzero(inside)
        # The curvature of the conjugate may be undefined at the bounds of its domain.
        # For samples at a bound, evaluate it at the middle of the domain instead.
        ends = np.where(inside, u, lower), np.where(inside, u, upper)
        u = 0.5 * (ends[0] + ends[1])
        curvature = problem.loss.conjugate_hessian(problem.y, u)
        return free, curvature[free]
    free = np.flatnonzero(inside & (np.abs(rho) > margin))
    return free, np.zeros(free.size)
