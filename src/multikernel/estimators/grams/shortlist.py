"""Regularization paths of folds on a short list of kernels, if there are very many.

The dual norms of all pairwise products of d kernels are cheap, because they cost one
matrix product with these d kernels, but each active product requires its own matrix.
Scores on a fold need no certificate over all kernels. So a path uses listed kernels
only: those with the largest dual norms at the current dual point. The list is updated a
few times, from dual norms of all kernels on the fold's training samples.
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
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import Solver, follow_problems
from multikernel.solvers.fixed_weights import on_all_kernels, on_some_kernels

# With this value, default searches on targets with six classes took 1.5 to 2.4 times as
# long as without products of kernels; with 32, at least 2.5 times as long.
N_LISTED = 24
"""Number of listed kernels in addition to the active kernels."""

# With 8 kernels instead of 2, a search of seven classes took 1.3 times as long, and had
# the same scores.
N_PER_PROBLEM = 2
"""Number of additional listed kernels for each further problem that shares the list."""

MAX_SHARING = 10
"""Maximum number of problems, such as one-vs-rest classes, that share a list."""

# With this value, a search on 400 rows of 30 columns took 7 s; with all 469 kernels it
# took 30 s. Both searches chose 12 kernels.
N_GREEDY = 64
"""Number of kernels from which greedy paths of a fold select."""

# With a smaller ratio, a path requires more passes. After each pass, it restarts on
# another list, where the first solve needs two factorizations per target, not one.
STRENGTH_RATIO = 10.0
"""Ratio of the strengths at two successive passes over all kernels."""


def is_shortened(training: Training) -> bool:
    """Return whether a path on a fold should use only a short list of the kernels."""
    # A short list saves time if two conditions hold: there are many kernels, and the
    # dual norms of all kernels cost less than their matrices.
    stack = training.stack
    return stack.shares_work() and stack.shape[0] > 2 * N_LISTED


def follow_shortlist(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch,
    starts: Sequence[Solution | None] = (),
) -> Iterator[GramFit]:
    """Yield the solutions for each recipe, computed on short lists of kernels."""
    # Recipes differ only in their penalties. `_follow_block` chooses one list for each
    # block of similar strengths and each group of at most `MAX_SHARING` problems. A
    # callback may end a path early.
    problems, solver = problems_of(recipes[0], training)
    latest: Sequence[Solution | None] = starts or [None] * len(problems)
    starts_of_groups = range(0, len(problems), MAX_SHARING)
    groups = [slice(first, first + MAX_SHARING) for first in starts_of_groups]
    remaining = iter(recipes)
    for block in _penalty_blocks([recipe.penalties for recipe in recipes]):
        paths: list[Iterable[list[Solution]]] = []
        for group in groups:
            penalties = [step_penalties[group] for step_penalties in block]
            parts = problems[group], penalties, latest[group]
            path = _follow_block(solver, *parts, watch)
            # Finish one path before the next, so that only one list's matrices are
            # stored.
            paths.append(path if len(groups) == 1 else list(path))
        for group_solutions in zip(*paths, strict=False):
            latest = list(chain.from_iterable(group_solutions))
            # Solutions and gaps refer to the listed kernels only, by their indices in
            # the complete dictionary.
            yield GramFit(next(remaining), training, latest)
            if was_stopped(latest):
                return


def _penalty_blocks(
    penalties: Sequence[Sequence[BlockRegularizer]],
) -> Iterator[list[Sequence[BlockRegularizer]]]:
    """Yield blocks of successive penalties, each with one short list of kernels."""
    # Strengths within a block are similar, so that one list suits all of them.
    block: list[Sequence[BlockRegularizer]] = []
    for step_penalties in penalties:
        if block and STRENGTH_RATIO * step_penalties[0].alpha < block[0][0].alpha:
            yield block
            block = []
        block.append(step_penalties)
    yield block


def _follow_block(
    solver: Solver,
    problems: Sequence[Problem],
    penalties: Sequence[Sequence[BlockRegularizer]],
    starts: Sequence[Solution | None],
    watch: Watch,
) -> Iterator[list[Solution]]:
    """Yield the solutions for successive penalties, all on the same list of kernels."""
    stack = problems[0].gram
    listed = _shared_list(problems, [penalty.alpha for penalty in penalties[0]], starts)
    # Solvers solve several problems side by side only if they share one stack.
    listed_stack = stack.take(listed)
    short = [replace(problem, gram=listed_stack) for problem in problems]
    begin = [start and on_some_kernels(start, listed) for start in starts]
    n_kernels = stack.shape[0]
    for solutions in follow_problems(solver, short, penalties, begin, watch):
        # Every problem has a penalty in each step, so no solution is None.
        yield [on_all_kernels(s, listed, n_kernels) for s in solutions if s]


def _shared_list(
    problems: Sequence[Problem],
    alphas: Sequence[float],
    starts: Sequence[Solution | None],
) -> Indices:
    """Return a short list of kernels for several problems on the same matrices."""
    # One pass serves all problems: it computes the sum of their quadratic forms, each
    # divided by its squared strength.
    duals = [
        (constant_model(problem).dual if start is None else start.dual) / alpha
        for problem, alpha, start in zip(problems, alphas, starts, strict=True)
    ]
    columns = np.column_stack([dual.reshape(len(dual), -1) for dual in duals])
    n_kernels = N_LISTED + N_PER_PROBLEM * (len(problems) - 1)
    return shortlist(problems[0].gram, columns, starts, n_kernels)


def greedy_list(problem: Problem) -> Indices:
    """Return a short list of kernels from which the greedy paths of a fold select."""
    dual = constant_model(problem).dual
    return shortlist(problem.gram, dual, (), N_GREEDY)


def shortlist(
    stack: GramStack, dual: Array, starts: Sequence[Solution | None], n_largest: int
) -> Indices:
    """Return ascending indices of kernels active in `starts` or of large dual norm."""
    # The list has the `n_largest` kernels with the largest dual norms at `dual`,
    # and every kernel that is active in at least one solution in `starts`.
    forms = stack.quadratic_forms(dual)
    n_largest = min(n_largest, forms.size)
    largest = np.argpartition(-forms, n_largest - 1)[:n_largest]
    active = [start.active for start in starts if start is not None]
    return np.unique(np.concatenate([largest, *active])).astype(np.intp)
