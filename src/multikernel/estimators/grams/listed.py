"""Fits with very many kernels: solved on a short list, certified for all kernels.

The list contains the kernels with the largest dual norms. After each solve, one pass
evaluates all kernels at the dual point. Kernels above the threshold join the list, and
the gap includes the largest quadratic form of all others. Kernels that are not on the
list have the weight zero.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import constant_model
from multikernel.certificates.gap import scaled_dual_value
from multikernel.estimators.grams.recipe import GramFit, Recipe, problems_of
from multikernel.estimators.grams.shortlist import renumbered
from multikernel.estimators.grams.solving import solve_held
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.gram import BuiltStack, GramStack
from multikernel.gram.factors.products import FactoredProducts
from multikernel.gram.projected import ProjectedStack
from multikernel.kernels.terms import MANY
from multikernel.linalg import TINY
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem, Solution, centred
from multikernel.regularizers import BlockL1
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.base import continued, tolerance_of

FIRST, MOST = 100, 1000
"""Initial number of listed kernels for each problem, and maximum that join per pass."""

ROUNDS = 50
"""Maximum number of passes over all kernels; two sufficed for planted pairs among two
million kernels."""


def solve_outputs(
    recipe: Recipe,
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
) -> GramFit:
    """Return the solutions of all problems, each from a warm start.

    If kernels are very many, the returned fit has only the kernels of a short list.
    """
    if not _is_listed(recipe, training):
        return solve_held(recipe, training, watch, starts)
    stack, tol = training.stack, tolerance_of(recipe.solver)
    n_kernels = stack.shape[0]
    one_kernel = problems_of(recipe, _among(training, np.arange(1)))[0]
    columns = training.least_squares
    if columns is not None and is_squared(one_kernel[0].loss):
        stack = ProjectedStack(stack, columns.projection)
    duals = [constant_model(problem).dual for problem in one_kernel]
    nearest = [stack.largest_forms(v, -np.inf, FIRST)[0] for v in duals]
    listed = np.unique(np.concatenate(nearest))
    solutions, starts = list[Solution](), []
    for _ in range(ROUNDS):
        shorter = _among(training, listed)
        share = listed.size / n_kernels
        fit = solve_held(recipe, shorter, watch, starts)
        ends = [_in_passes(one, share) for one in fit.solutions]
        if solutions:
            ends = [continued(*pair) for pair in zip(solutions, ends, strict=True)]
        problems = map(centred, problems_of(recipe, shorter)[0])
        looks = [
            _proved(stack, problem, solution, listed)
            for problem, solution in zip(problems, ends, strict=True)
        ]
        solutions = [solution for solution, _ in looks]
        wider = np.unique(np.concatenate([listed, *(new for _, new in looks)]))
        proved = all(solution.duality_gap <= tol for solution in solutions)
        if proved or wider.size == listed.size:
            break
        places = np.searchsorted(wider, listed)
        starts = [renumbered(one, places, wider.size) for one in solutions]
        listed = wider
    return GramFit(recipe, shorter, solutions)


def _is_listed(recipe: Recipe, training: Training) -> bool:
    """Return whether a fit uses a short list: exact products and a positive threshold.

    Approximate factors might have to be refined. Parts, in searches and resamples,
    start from solutions over all kernels.
    """
    stack, penalty = training.stack, recipe.penalties[0]
    return (
        stack.shape[0] > MANY
        and isinstance(stack, FactoredProducts)
        and stack.leaves_nothing
        and not training.is_part
        and isinstance(penalty, ProximableRegularizer)
        and penalty.threshold > 0.0
    )


def _among(training: Training, kernels: Indices) -> Training:
    """Return the data restricted to some kernels of a stack of products."""
    built = training.built
    assert isinstance(built.stack, FactoredProducts)
    stack = built.stack.among(kernels)
    degenerate = np.flatnonzero(np.isin(kernels, built.degenerate))
    assert stack.landmarks is not None
    return replace(
        training,
        built=BuiltStack(stack, built.normalization.take(kernels), degenerate),
        dictionary=stack.landmarks.dictionary,
    )


def _proved(
    stack: GramStack, problem: Problem, solution: Solution, listed: Indices
) -> tuple[Solution, Indices]:
    """Return a solution with its gap over all kernels, and kernels for the list."""
    # Kernels below the threshold of the penalty do not change the dual value.
    penalty, dual = problem.regularizer, solution.dual
    assert isinstance(penalty, ProximableRegularizer)
    level, max_above = penalty.threshold**2, MOST + listed.size
    above, forms, largest_other = stack.largest_forms(dual, level, max_above)
    new = ~np.isin(above, listed)
    own_forms = problem.gram.quadratic_forms(dual)

    def value(others: Array) -> float:
        sizes = np.sqrt(np.maximum(np.append(own_forms, others), 0.0))
        norms = np.append(solution.norms, np.zeros(others.size))
        return scaled_dual_value(problem, dual, norms, sizes)[1]

    lost = value(np.empty(0)) - value(np.append(forms[new], largest_other))
    gap = solution.duality_gap + max(lost, 0.0) / max(abs(solution.objective), TINY)
    if largest_other > level and not isinstance(penalty, BlockL1):
        gap = np.inf  # with other penalties, each kernel above the threshold counts
    last = solution.history[-1]
    last = replace(last, duality_gap=gap, passes=last.passes + 1.0)
    history = (*solution.history[:-1], last)
    return replace(solution, duality_gap=gap, history=history), above[new]


def _in_passes(solution: Solution, share: float) -> Solution:
    """Convert passes in the history from a `share` of the kernels to all kernels."""
    lines = [replace(line, passes=share * line.passes) for line in solution.history]
    return replace(solution, history=tuple(lines))
