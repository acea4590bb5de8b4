"""Paths of folds over the kernels that a pass ranks first, where all are too many.

One pass over all products of d kernels costs a matrix product over these, and a product
that is in use costs a matrix. The score of a model on a fold needs no proof that no
other product would help, so that its path is solved on a short list: every few
strengths one pass, at the dual point there, says which kernels are nearest to entering.
The dual point is that of the fold's training samples alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import constant_model
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.progress import Watch
from multikernel.gram import GramStack
from multikernel.gram.capabilities import pass_numbers
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import Solver, follow_each

LISTED = 32
"""Kernels on the list beside those in use."""

GREEDY = 64
"""Kernels that greedy paths of a fold select from. On 400 rows and 30 columns a search
took 7 s with 64, 16 s with 128 and 30 s with all 469, and chose 12 kernels with each;
on pumadyn-32nm it took 5 s and 27 s, and chose the same two."""

STRENGTHS = 4
"""Strengths between two passes over all kernels."""


def is_shortened(training: Training) -> bool:
    """Return whether a pass over all kernels costs much less than to hold them."""
    stack = training.stack
    held = 2.0 * pass_numbers(stack) <= float(stack.held_numbers().sum())
    return bool(held and stack.shape[0] > 2 * LISTED)


def follow_shortlist(
    recipes: Sequence[Recipe], training: Training, watch: Watch
) -> Iterator[list[Solution]]:
    """Yield the solutions of all problems for recipes in turn, see `follow_outputs`.

    They are optimal among the kernels on the list of their problem, and numbered among
    all. Gaps are those on the list.
    """
    stated = training.problems(recipes[0])
    problems, solver = stated.each, stated.solver
    models: list[Solution] | None = None
    for first in range(0, len(recipes), STRENGTHS):
        block = [recipe.penalties for recipe in recipes[first : first + STRENGTHS]]
        starts: Sequence[Solution | None] = models or [None] * len(problems)
        paths: list[Iterable[Solution]] = [
            _follow_block(solver, problem, penalties, start, watch)
            for problem, penalties, start in zip(
                problems, zip(*block, strict=True), starts, strict=True
            )
        ]
        if len(paths) > 1:
            # One after the other, so that the matrices of one list are held.
            paths = [list(path) for path in paths]
        for solutions in zip(*paths, strict=False):
            models = list(solutions)
            yield models
            if any(model.status is Status.STOPPED for model in models):
                return


def _follow_block(
    solver: Solver,
    problem: Problem,
    penalties: Sequence[BlockRegularizer],
    start: Solution | None,
    watch: Watch,
) -> Iterator[Solution]:
    """Yield the solutions for some penalties in turn, on one list of kernels."""
    dual = constant_model(problem).dual if start is None else start.dual
    listed = shortlist(problem.gram, dual, start, LISTED)
    short = replace(problem, gram=problem.gram.take(listed))
    begin = None if start is None else _among(start, listed)
    each = [[penalty] for penalty in penalties]
    for (solution,) in follow_each(solver, [short], each, [begin], watch):
        yield _of_all(solution, listed, problem.gram.shape[0])


def follow_unproved(
    recipes: Sequence[Recipe], training: Training, watch: Watch
) -> Iterator[list[Solution]]:
    """Yield what `follow_shortlist` does, with gaps of nan: these are on the list."""
    for solutions in follow_shortlist(recipes, training, watch):
        yield [replace(solution, duality_gap=np.nan) for solution in solutions]


def greedy_list(problem: Problem) -> Indices:
    """Return the kernels that greedy paths of a fold select from."""
    dual = constant_model(problem).dual
    return shortlist(problem.gram, dual, None, GREEDY)


def shortlist(
    stack: GramStack, dual: Array, model: Solution | None, most: int
) -> Indices:
    """Return the kernels of a model, and those of the largest dual norms, ascending."""
    forms = stack.quadratic_forms(dual)
    most = min(most, forms.size)
    nearest = np.argpartition(-forms, most - 1)[:most]
    active = () if model is None else (model.active,)
    return np.unique(np.concatenate([nearest, *active])).astype(np.intp)


def _among(model: Solution, listed: Indices) -> Solution:
    """Return a solution whose kernels are numbered on the list."""
    return replace(
        model,
        kernel_weights=model.kernel_weights[listed],
        norms=model.norms[listed],
        active=np.searchsorted(listed, model.active),
    )


def _of_all(model: Solution, listed: Indices, n_kernels: int) -> Solution:
    """Return a solution of kernels on the list, numbered among all."""
    weights, norms = np.zeros((2, n_kernels))
    weights[listed], norms[listed] = model.kernel_weights, model.norms
    return replace(
        model, kernel_weights=weights, norms=norms, active=listed[model.active]
    )
