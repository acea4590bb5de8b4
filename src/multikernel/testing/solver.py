"""Conformance of solvers: certificates, warm starts, callbacks, symmetry."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from multikernel import certificates
from multikernel._typing import Array
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.kernels import GaussianKernel
from multikernel.linalg import TINY
from multikernel.losses import LOSSES
from multikernel.losses.answers import unsuitable
from multikernel.losses.base import is_shift_equivariant
from multikernel.problem import Problem, Progress, Solution, Status
from multikernel.regularizers import REGULARIZERS
from multikernel.solvers.base import Solver


def small_problems(n_samples: int = 24, n_kernels: int = 6) -> Iterator[Problem]:
    """Yield a small problem for every loss and penalty, with and without intercept.

    The `n_kernels` Gaussian kernels are on one or two of four columns. Targets are -1
    and +1, or 1 and 3 for losses that do not support -1. Losses that depend on y - f
    only have an offset of 0.5 with an intercept.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 4))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] > 0.3, 1.0, -1.0)
    y.flags.writeable = False
    # Each pair contains the columns of one kernel. Each of the first four pairs repeats
    # a column, so the first four kernels use one column each.
    pairs = [[m % 4, (m + m // 4) % 4] for m in range(n_kernels)]
    widths = np.sqrt(0.5 + 0.5 * np.arange(n_kernels))
    kernels = [GaussianKernel(w)(X[:, p]) for w, p in zip(widths, pairs, strict=True)]
    gram = DenseStack(np.stack(kernels))
    gram.array.flags.writeable = False
    for loss in LOSSES.values():
        for regularizer in REGULARIZERS:
            for fit_intercept in (True, False):
                targets = y if unsuitable(loss(), y) is None else y + 2.0
                is_centered = fit_intercept and is_shift_equivariant(loss())
                offset = 0.5 if is_centered else 0.0
                yield Problem(
                    gram, targets, loss(), regularizer(2.0), fit_intercept, offset
                )


def check_solver(
    solver: Solver, problems: Sequence[Problem] | None = None, tol: float | None = None
) -> None:
    """Check that a solver satisfies the contract of `Solver` and `Solution`.

    For every supported problem: the solution is certified (`check_solution`); solving
    again gives the same numbers; a warm start is at least as good; callbacks see every
    line of the history, can stop the solver, and their exceptions propagate; passes
    count all reads of Gram matrices; reordering the kernels reorders the solution; and
    unpenalized columns are refused or get coefficients. Otherwise an ``AssertionError``
    names the property and the problem. By default the problems are `small_problems`,
    and `tol` (relative duality gap) is the solver's.
    """
    assert isinstance(solver, Solver), (
        f"{solver!r} is not a Solver: define its methods solve and unsupported."
    )
    target_gap = float(getattr(solver, "tol", np.nan)) if tol is None else tol
    assert np.isfinite(target_gap), (
        f"{solver!r} has no tol: pass tol, the gap that it must reach."
    )
    before = repr(solver)
    supported = 0
    for problem in small_problems() if problems is None else problems:
        reason = solver.unsupported(problem)
        if reason is not None:
            assert reason.endswith("."), f"{reason!r} must be a sentence."
            continue
        supported += 1
        try:
            _check_problem(solver, problem, target_gap)
        except AssertionError as error:
            raise AssertionError(
                f"{error} Problem: {problem.loss!r}, {problem.regularizer!r}, "
                f"fit_intercept={problem.fit_intercept}."
            ) from error
    assert supported, f"{solver!r} supports none of the problems."
    assert repr(solver) == before, "solve must not change the solver's settings."


def _check_problem(solver: Solver, problem: Problem, tol: float) -> None:
    """Check all properties of `check_solver` on one problem."""
    solution = solver.solve(problem)
    check_solution(problem, solution, tol)
    assert solution.status is Status.CONVERGED, (
        f"The solver did not converge: {solution.status.value}"
    )
    repeated = solver.solve(problem)
    assert np.array_equal(repeated.dual, solution.dual), (
        "Solving the same problem again gives different numbers."
    )
    _check_warm_start(solver, problem, solution, tol)
    _check_callback(solver, problem, solution)
    _check_permutation(solver, problem, solution, tol)
    _check_columns(solver, problem)


def check_solution(problem: Problem, solution: Solution, tol: float) -> None:
    """Check that a solution is consistent and certified.

    The relative duality gap of a converged solution is recomputed from the expansions
    and the dual point, and must be at most `tol`. A violated property raises an
    ``AssertionError`` that names it.
    """
    _check_form(problem, solution)
    _check_values(problem, solution)
    _check_history(solution)
    if np.isnan(solution.duality_gap):
        return  # the solver is a heuristic and reports no gap
    _check_dual(problem, solution)
    gap = certificates.duality_gap(problem, solution)
    noise = 1e-8 + _gap_noise(problem, solution)
    assert abs(gap - solution.duality_gap) <= noise + 1e-5 * abs(gap), (
        f"The duality gap is {gap:.6g} when recomputed, and {solution.duality_gap:.6g} "
        "is reported."
    )
    assert gap >= -noise, f"The duality gap is {gap:.3g}, below zero."
    if solution.status is Status.CONVERGED:
        assert gap <= tol + noise, (
            f"The solver claims convergence, but its duality gap is {gap:.3g}, above "
            f"{tol:g}."
        )


def _check_form(problem: Problem, solution: Solution) -> None:
    """Check shapes and signs of a solution."""
    n_kernels = problem.gram.shape[0]
    outputs = 1 if problem.y.ndim == 1 else problem.y.shape[1]
    shapes = {
        "kernel_weights": (solution.kernel_weights, (n_kernels,)),
        "norms": (solution.norms, (n_kernels,)),
        "coefs": (solution.coefs, (solution.active.size, *problem.y.shape)),
        "intercept": (solution.intercept, (outputs,)),
        "dual": (solution.dual, problem.y.shape),
    }
    for name, (array, shape) in shapes.items():
        assert np.shape(array) == shape, (
            f"{name} has shape {np.shape(array)}, not {shape}."
        )
        assert bool(np.isfinite(array).all()), f"{name} is not finite."
    assert np.array_equal(solution.active, np.flatnonzero(solution.norms)), (
        "active must hold the indices of the nonzero norms, ascending."
    )
    assert bool(np.all(solution.norms >= 0.0)), "A norm is negative."
    assert bool(np.all(solution.kernel_weights >= 0.0)), "A kernel weight is negative."
    assert np.array_equal(solution.kernel_weights > 0.0, solution.norms > 0.0), (
        "kernel_weights must be positive exactly where the norms are."
    )
    assert problem.fit_intercept or not solution.intercept.any(), (
        "The intercept must be zero if fit_intercept is False."
    )


def _check_values(problem: Problem, solution: Solution) -> None:
    """Check that norms and the objective belong to the expansions."""
    norms = np.zeros(problem.gram.shape[0])
    rounding = np.zeros_like(norms)
    for m, coef in zip(solution.active, solution.coefs, strict=True):
        gram = problem.gram.take(np.array([m]))
        norms[m] = np.sqrt(max(float(np.sum(coef * gram.matvec(coef)[0])), 0.0))
        rounding[m] = _rounding(gram, coef)[0]
    errors = np.abs(norms**2 - solution.norms**2) - rounding
    assert bool(np.all(errors <= 2e-6 * solution.norms**2)), (
        "norms do not match the expansions in coefs: they differ by "
        f"{np.abs(norms - solution.norms).max():.3g}."
    )
    f = certificates.decision_values(problem, solution)
    objective = certificates.primal_value(problem, norms, f)
    tolerance = 1e-7 * abs(objective) + problem.regularizer.value(np.sqrt(rounding))
    assert abs(objective - solution.objective) <= tolerance, (
        f"The objective is {objective:.10g} when recomputed, but the solution reports "
        f"{solution.objective:.10g}."
    )


def _rounding(gram: GramStack, v: Array) -> Array:
    """Return bounds on the rounding errors of the quadratic forms v^T K_m v."""
    traces = np.abs(gram.diagonals()).sum(axis=1)
    return np.asarray(1e-14 * float(np.sum(v * v)) * traces)


def _gap_noise(problem: Problem, solution: Solution) -> float:
    """Return a bound on the rounding error of the relative gap."""
    # The dual value is computed twice: with the quadratic forms lowered, and raised, by
    # their rounding errors.
    forms = certificates.dual_norms(problem.gram, solution.dual) ** 2
    rounding = _rounding(problem.gram, solution.dual)
    values = [
        certificates.certify(problem, solution.dual, solution.norms, root).value
        for root in np.sqrt([np.maximum(forms - rounding, 0.0), forms + rounding])
    ]
    cancelled = float(np.abs(problem.y * solution.dual).sum())
    sums = 4.0 * np.finfo(float).eps * cancelled / max(abs(solution.objective), TINY)
    lost = float(values[0] - values[1])
    return sums + lost / max(abs(solution.objective), TINY)


def _check_dual(problem: Problem, solution: Solution) -> None:
    """Check that the dual point is feasible."""
    size = float(np.abs(solution.dual).max())
    projected = certificates.project_dual(problem, solution.dual)
    distance = float(np.abs(projected - solution.dual).max())
    assert distance <= 1e-9 * size, (
        "The dual point must be in the conjugate's domain and, with an intercept, sum "
        f"to zero, but is {distance:.3g} away from such points."
    )
    forms = certificates.dual_norms(problem.gram, solution.dual) ** 2
    forms = np.maximum(forms - _rounding(problem.gram, solution.dual), 0.0)
    scale = problem.regularizer.feasible_scale(np.sqrt(forms))
    assert scale >= 1.0 - 1e-9, (
        f"The dual point is infeasible: it must be scaled by {scale:.12g}."
    )


def _check_history(solution: Solution) -> None:
    """Check that the history's counters ascend and its last line fits the solution."""
    history = solution.history
    assert history, "The history is empty."
    for before, after in pairwise(history):
        assert after.iteration > before.iteration, (
            f"Iterations must ascend in the history, got {after.iteration} after "
            f"{before.iteration}."
        )
        for name in ("seconds", "passes", "inner_steps"):
            value, value_before = getattr(after, name), getattr(before, name)
            assert value >= value_before, (
                f"{name} must not decrease along the history, got {value} after "
                f"{value_before}."
            )
    last = history[-1]
    expected = (solution.objective, solution.duality_gap, solution.active.size)
    line = (last.objective, last.duality_gap, last.n_active)
    assert np.array_equal(line, expected, equal_nan=True), (
        f"The last line of the history is {line} (objective, gap, active kernels), but "
        f"the solution has {expected}."
    )
    assert last.iteration == solution.n_iter, (
        f"n_iter is {solution.n_iter}, but the history ends at {last.iteration}."
    )


def _check_warm_start(
    solver: Solver, problem: Problem, solution: Solution, tol: float
) -> None:
    """Check that a warm start from the solution takes at most one iteration."""
    warm = solver.solve(problem, init=solution)
    check_solution(problem, warm, tol)
    assert warm.n_iter <= min(1, solution.n_iter), (
        f"From its own solution, the solver must take at most one iteration, but took "
        f"{warm.n_iter}; without init it took {solution.n_iter}."
    )
    # Both solutions are certified, so their objectives differ at most by the gaps.
    size = max(abs(solution.objective), 1e-300)
    excess = (warm.objective - solution.objective) / size
    assert np.isnan(warm.duality_gap) or excess <= warm.duality_gap + 1e-8, (
        f"The warm start ends at an objective {excess:.3g} (relative) above that of "
        "its initial solution."
    )


def _check_columns(solver: Solver, problem: Problem) -> None:
    """Check that unpenalized columns are refused, or get coefficients."""
    columns = np.linspace(-1.0, 1.0, len(problem.y))[:, None]
    try:
        solution = solver.solve(replace(problem, columns=columns))
    except UnsupportedProblemError:
        return
    assert solution.effects is not None, (
        "The solver ignores unpenalized columns: raise an UnsupportedProblemError."
    )


def _check_callback(solver: Solver, problem: Problem, solution: Solution) -> None:
    """Check the progress that a callback receives, and that it can stop the solver."""
    lines: list[Progress] = []

    def collect(line: Progress) -> bool:
        lines.append(line)
        return False

    meter = Meter(math.prod(problem.gram.shape))
    counted = replace(problem, gram=MeteredStack(problem.gram, meter))
    watched = solver.solve(counted, callback=collect)
    history = watched.history
    # The solver may compute the last line again for the returned solution, so it may
    # differ by rounding.
    message = "The callback must receive exactly the lines of the history."
    assert tuple(lines[:-1]) == history[:-1], message
    assert _is_close_line(lines[-1:], history[-1]), message
    passes = history[-1].passes
    assert abs(passes - meter.passes) <= 1e-9 * (1.0 + passes), (
        f"The history counts {passes:.6g} passes, but there were {meter.passes:.6g}: "
        "count every read of a Gram matrix."
    )

    stopped = solver.solve(problem, callback=lambda _: True)
    check_solution(problem, stopped, np.inf)
    assert len(stopped.history) == 1, "The solver continued after the callback's stop."
    expected = Status.STOPPED if len(solution.history) > 1 else Status.CONVERGED
    assert stopped.status is expected, (
        f"The status after a callback's stop is {stopped.status.name}, expected "
        f"{expected.name}."
    )

    def interrupt(_: Progress) -> bool:
        raise KeyboardInterrupt

    try:
        solver.solve(problem, callback=interrupt)
    except KeyboardInterrupt:
        return
    raise AssertionError("A KeyboardInterrupt in the callback must propagate.")


def _is_close_line(lines: list[Progress], last: Progress) -> bool:
    """Return whether `lines` is a single line that equals `last` up to rounding."""
    if [line.iteration for line in lines] != [last.iteration]:
        return False
    values = lines[-1].objective, lines[-1].duality_gap
    expected = last.objective, last.duality_gap
    return bool(np.allclose(values, expected, rtol=1e-6, atol=1e-9, equal_nan=True))


def _check_permutation(
    solver: Solver, problem: Problem, solution: Solution, tol: float
) -> None:
    """Check that the order of kernels does not change the objective."""
    # A heuristic has no duality gap, and its runs may differ by any amount.
    if np.isnan(solution.duality_gap):
        return
    order = np.roll(np.arange(problem.gram.shape[0]), 2)
    permuted = solver.solve(replace(problem, gram=problem.gram.take(order)))
    difference = abs(permuted.objective - solution.objective)
    assert difference <= (tol + 1e-8) * abs(solution.objective), (
        f"Reordering the kernels changes the objective by {difference:.3g}."
    )
