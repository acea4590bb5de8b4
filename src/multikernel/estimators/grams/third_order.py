"""Fits that go on with products of three kernels, where these are asked for."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from multikernel.estimators.grams.solving import solve_outputs
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.progress import Watch
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.third_order import offer_of, with_third_factors
from multikernel.problem import Solution
from multikernel.solvers.base import continued


def solve_with_thirds(
    recipe: Recipe, training: Training, watch: Watch, solutions: Sequence[Solution]
) -> list[Solution]:
    """Return the solutions that go on from those over all pairs.

    Pairs in use are offered times third kernels, and all is solved again, until no pair
    comes into use that was not. `training` has the kernels in the end. Solutions are
    returned as they are where no products of three are asked for.
    """
    current = list(solutions)
    dictionary = training.dictionary
    if not isinstance(dictionary, InteractionDictionary) or dictionary.order < 3:
        return current
    while not watch.stopped:
        active = np.unique(np.concatenate([solution.active for solution in current]))
        larger = with_third_factors(dictionary, active)
        if larger is None:
            break
        training.rebuild(larger)
        starts = [among_more(solution, len(larger)) for solution in current]
        ends = solve_outputs(training.problems(recipe), training, watch, starts)
        current = [continued(*pair) for pair in zip(starts, ends, strict=True)]
        dictionary = larger
    training.stored = {**training.stored, "offered_": offer_of(dictionary)}
    return current


def among_more(solution: Solution, n_kernels: int) -> Solution:
    """Return a solution among more kernels, which come after those it has."""
    behind = np.zeros(n_kernels - solution.norms.size)
    return replace(
        solution,
        kernel_weights=np.concatenate([solution.kernel_weights, behind]),
        norms=np.concatenate([solution.norms, behind]),
        refinement=None,
    )
