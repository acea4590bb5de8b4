"""Paths of folds over the kernels that a pass ranks first, where all are too many.

One pass over all products of d kernels costs a matrix product over these, and a product
that is in use costs a matrix. The score of a model on a fold needs no proof that no
other product would help, so that its path is solved on a short list: as the strength
falls a pass now and then, at the dual point there, says which kernels are nearest to
entering. The dual point comes from the fold's training samples alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import constant_model
from multikernel.estimators.grams.recipe import GramFit, Recipe, problems_of
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import was_stopped
from multikernel.gram import GramStack
from multikernel.gram.capabilities import shares_work
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import Solver, follow_some

LISTED = 24
"""Kernels on the list beside the kernels in use: default searches of six classes took
1.5 to 2.4 times as long as with main kernels alone, and 2.5 times and more with 32."""

ANOTHER = 8
"""Kernels on the list for every further problem that shares it."""

TOGETHER = 10
"""Problems that share a list, as the classes of one-vs-rest do: one pass over all
kernels serves all of them, and the list's matrices are made and read once."""

GREEDY = 64
"""Kernels that greedy paths of a fold select from: a search on 400 rows and 30 columns
took 7 s, and 30 s with all 469, and chose 12 kernels with either."""

FALL = 5.0
"""How far strengths fall between two passes over all kernels."""


def is_shortened(training: Training) -> bool:
    """Return whether a pass over all kernels costs much less than to hold them."""
    stack = training.stack
    return shares_work(stack) and stack.shape[0] > 2 * LISTED


def follow_shortlist(
    recipes: Sequence[Recipe], training: Training, watch: Watch
) -> Iterator[GramFit]:
    """Yield the solutions of all problems for recipes in turn, see `follow_outputs`.

    They are optimal among the kernels on the list of their problem, and numbered among
    all. Gaps are those on the list.
    """
    problems, solver = problems_of(recipes[0], training)
    steps = iter(recipes)
    models: list[Solution | None] = [None] * len(problems)
    for block in _blocks([recipe.penalties for recipe in recipes]):
        paths: list[Iterable[list[Solution]]] = []
        for start in range(0, len(problems), TOGETHER):
            some = slice(start, start + TOGETHER)
            penalties = [each[some] for each in block]
            begin = models[some]
            path = _follow_block(solver, problems[some], penalties, begin, watch)
            paths.append(path)
        if len(paths) > 1:
            # One after the other, so that the matrices of one list are held.
            paths = [list(path) for path in paths]
        for groups in zip(*paths, strict=False):
            solutions = list(chain.from_iterable(groups))
            models = list(solutions)
            yield GramFit(next(steps), training, solutions)
            if was_stopped(solutions):
                return


def _blocks(
    penalties: Sequence[Sequence[BlockRegularizer]],
) -> Iterator[list[Sequence[BlockRegularizer]]]:
    """Yield the penalties of all problems, those in a row that share a list."""
    block: list[Sequence[BlockRegularizer]] = []
    for each in penalties:
        if block and FALL * each[0].alpha < block[0][0].alpha:
            yield block
            block = []
        block.append(each)
    yield block


def _follow_block(
    solver: Solver,
    problems: Sequence[Problem],
    penalties: Sequence[Sequence[BlockRegularizer]],
    starts: Sequence[Solution | None],
    watch: Watch,
) -> Iterator[list[Solution]]:
    """Yield the solutions for some penalties in turn, on one list of kernels."""
    stack = problems[0].gram
    listed = _listed(problems, [each.alpha for each in penalties[0]], starts)
    # One stack of all problems: solvers take those on one stack side by side.
    held = stack.take(listed)
    short = [replace(problem, gram=held) for problem in problems]
    begin = [None if start is None else _among(start, listed) for start in starts]
    n_kernels = stack.shape[0]
    for solutions in follow_some(solver, short, penalties, begin, watch):
        # Every problem has a penalty, and so it has a solution.
        yield [renumbered(each, listed, n_kernels) for each in solutions if each]


def _listed(
    problems: Sequence[Problem],
    alphas: Sequence[float],
    starts: Sequence[Solution | None],
) -> Indices:
    """Return the kernels on the list of some problems on the same matrices."""
    # One pass serves all problems: it adds up the forms over their thresholds.
    duals = [
        (constant_model(problem).dual if start is None else start.dual) / alpha
        for problem, alpha, start in zip(problems, alphas, starts, strict=True)
    ]
    columns = np.column_stack([dual.reshape(len(dual), -1) for dual in duals])
    most = LISTED + ANOTHER * (len(problems) - 1)
    return shortlist(problems[0].gram, columns, starts, most)


def greedy_list(problem: Problem) -> Indices:
    """Return the kernels that greedy paths of a fold select from."""
    dual = constant_model(problem).dual
    return shortlist(problem.gram, dual, (), GREEDY)


def shortlist(
    stack: GramStack, dual: Array, models: Sequence[Solution | None], most: int
) -> Indices:
    """Return the kernels of models, and the ones of largest dual norms, ascending."""
    forms = stack.quadratic_forms(dual)
    most = min(most, forms.size)
    nearest = np.argpartition(-forms, most - 1)[:most]
    active = [model.active for model in models if model is not None]
    return np.unique(np.concatenate([nearest, *active])).astype(np.intp)


def _among(model: Solution, listed: Indices) -> Solution:
    """Return a solution whose kernels are numbered on the list."""
    return replace(
        model,
        kernel_weights=model.kernel_weights[listed],
        norms=model.norms[listed],
        active=np.searchsorted(listed, model.active),
    )


def renumbered(solution: Solution, places: Indices, n_kernels: int) -> Solution:
    """Return a solution whose kernels have these places among more kernels."""
    weights, norms = np.zeros((2, n_kernels))
    weights[places], norms[places] = solution.kernel_weights, solution.norms
    return replace(
        solution, kernel_weights=weights, norms=norms, active=places[solution.active]
    )
