"""Unpenalized columns with the squared loss: projected out, and fitted at the end.

At the optimal coefficients of the columns, the squared loss depends on residuals only.
So the kernels solve a problem of projected kernels, see `multikernel.gram.projected`.
Its optimum, gap and norms are those of the complete problem.
"""

from dataclasses import replace

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram import GramStack
from multikernel.gram.projected import LeastSquares, ProjectedStack
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem, centred


def residual_problems(
    fit: LeastSquares | None, problems: list[Problem]
) -> list[Problem]:
    """Return the problems with unpenalized columns projected out, on one shared stack.

    Raises
    ------
    UnsupportedProblemError
        If a loss is not the squared one.
    """
    if fit is None:
        return problems
    gram, left_over = ProjectedStack(problems[0].gram, fit.projection), []
    for problem in problems:
        if not is_squared(problem.loss):
            raise UnsupportedProblemError(
                "Unpenalized columns require loss='squared_error' here, got "
                f"{getattr(problem.loss, 'loss', problem.loss)!r}."
            )
        y = centred(problem).y
        # Project twice: the first projection has rounding errors of a large trend.
        for _ in range(2):
            y = fit.projection.residual(y)
        left_over.append(
            replace(problem, gram=gram, y=y, fit_intercept=False, offset=0.0)
        )
    return left_over


def completed(
    fit: LeastSquares, expansion: BlockFunctions, gram: GramStack, targets: Array
) -> BlockFunctions:
    """Convert a model of projected kernels to a model of the kernels themselves.

    `gram` contains the kernels; `targets` has shape (n_outputs, n_samples).
    """
    coefs = fit.projection.of_each(expansion.coefs, transposed=True)
    f = np.zeros(targets.shape[::-1])
    if expansion.active.size:
        f = gram.once(expansion.active).block_matvec(coefs).sum(axis=0)
    intercept, effects = fitted(fit, targets, f)
    return replace(expansion, coefs=coefs, intercept=intercept, effects=effects)


def fitted(fit: LeastSquares, targets: Array, f: Array) -> tuple[Array, Array]:
    """Return intercepts and coefficients, given the decision values of the kernels.

    `targets` has shape (n_outputs, n_samples), `f` has shape (n_samples, n_outputs).
    """
    # Subtract the level, so that targets far from zero lose no digits.
    level = np.average(targets, axis=1, weights=fit.weights)
    level = np.rint(level) if fit.fit_intercept else np.zeros_like(level)
    intercept, effects = fit.coefficients((targets - level[:, None]).T - f)
    return intercept + level, effects
