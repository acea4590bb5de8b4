"""Columns without a penalty beside the squared loss: taken out, and fitted at the end.

With the best coefficients of the columns the squared loss is one of residuals, so the
rest is a problem over projected kernels, see `multikernel.gram.projected`. Its optimum,
its gap and its norms hold for the whole problem.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram import GramStack
from multikernel.gram.projected import LeastSquares, ProjectedStack
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem, centred


def residual_problems(fit: LeastSquares, problems: Sequence[Problem]) -> list[Problem]:
    """Return problems over what the columns leave, on one stack of matrices.

    Raises
    ------
    UnsupportedProblemError
        If a loss is not the squared one.
    """
    gram = ProjectedStack(problems[0].gram, fit.projection)
    return [_residual_problem(fit, problem, gram) for problem in problems]


def _residual_problem(fit: LeastSquares, problem: Problem, gram: GramStack) -> Problem:
    if not is_squared(problem.loss):
        raise UnsupportedProblemError(
            "Unpenalized columns need loss='squared_error' here, got "
            f"{getattr(problem.loss, 'loss', problem.loss)!r}."
        )
    y = fit.projection.residual(centred(problem).y)
    return replace(problem, gram=gram, y=y, fit_intercept=False, offset=0.0)


def completed(
    fit: LeastSquares, expansion: BlockFunctions, gram: GramStack, targets: Array
) -> BlockFunctions:
    """Return a model over projected kernels as one over the kernels themselves.

    `gram` holds these, and the `targets` are of shape (n_outputs, n_samples).
    """
    coefs = fit.projection.of_each(expansion.coefs, transposed=True)
    f = np.zeros(targets.shape[::-1])
    if expansion.active.size:
        f = gram.once(expansion.active).block_matvec(coefs).sum(axis=0)
    intercept, effects = fitted(fit, targets, f)
    return replace(expansion, coefs=coefs, intercept=intercept, effects=effects)


def fitted(fit: LeastSquares, targets: Array, f: Array) -> tuple[Array, Array]:
    """Return intercepts and coefficients beside decision values of kernels.

    Targets are of shape (n_outputs, n_samples), f of (n_samples, n_outputs).
    """
    # Targets far from zero keep their digits.
    level = np.average(targets, axis=1, weights=fit.weights)
    level = np.rint(level) if fit.fit_intercept else np.zeros_like(level)
    intercept, effects = fit.coefficients((targets - level[:, None]).T - f)
    return intercept + level, effects
