"""Paths of folds over the kernels that a pass ranks first, where all are too many.

One pass over all products of d kernels costs a matrix product over these, and a product
that is in use costs a matrix. The score of a model on a fold needs no proof that no
other product would help, so that its path is solved on a short list: every few
strengths one pass, at the dual point there, says which kernels are nearest to entering.
The dual point is that of the fold's training samples alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import constant_model
from multikernel.estimators.grams.method import follow_outputs
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.progress import Watch
from multikernel.gram import GramStack
from multikernel.problem import Solution, Status

LISTED = 32
"""Kernels on the list beside those in use."""

STRENGTHS = 4
"""Strengths between two passes over all kernels."""


def is_shortened(training: Training) -> bool:
    """Return whether a pass over all kernels costs much less than to hold them."""
    stack = training.stack
    held = 2.0 * stack.pass_numbers() <= float(stack.held_numbers().sum())
    return bool(stack.in_memory and held and stack.shape[0] > 2 * LISTED)


def follow_shortlist(
    recipes: Sequence[Recipe], training: Training, watch: Watch
) -> Iterator[list[Solution]]:
    """Yield the solutions of all problems for recipes in turn, see `follow_outputs`.

    They are optimal among the kernels on the list, and numbered among all. Gaps are
    those on the list.
    """
    stack, problems = training.stack, training.problems(recipes[0])
    duals = [constant_model(problem).dual for problem in problems]
    models: list[Solution] = []
    for first in range(0, len(recipes), STRENGTHS):
        block = recipes[first : first + STRENGTHS]
        listed = shortlist(stack, duals, [model.active for model in models])
        part = replace(training.built, stack=stack.take(listed))
        starts = [_among(model, listed) for model in models]
        short = replace(training, built=part)
        for solutions in follow_outputs(block, short, watch, starts):
            models = [_of_all(s, listed, stack.shape[0]) for s in solutions]
            yield models
            if any(model.status is Status.STOPPED for model in models):
                return
        duals = [model.dual for model in models]


def follow_proved(
    recipes: Sequence[Recipe], training: Training, watch: Watch
) -> Iterator[list[Solution]]:
    """Yield what `follow_shortlist` does, solved on from there with all kernels."""
    listed = follow_shortlist(recipes, training, watch)
    for recipe, starts in zip(recipes, listed, strict=False):
        yield next(follow_outputs([recipe], training, watch, starts))


def shortlist(
    stack: GramStack, duals: Sequence[Array], active: Sequence[Indices]
) -> Indices:
    """Return the kernels in use, and those of the largest dual norms, ascending.

    Dual points of several problems are compared in units of the largest norm of each.
    """
    forms = np.array([stack.quadratic_forms(dual) for dual in duals])
    largest = np.maximum(forms.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    ranks = -(forms / largest).max(axis=0)
    nearest = np.argpartition(ranks, LISTED - 1)[:LISTED]
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
