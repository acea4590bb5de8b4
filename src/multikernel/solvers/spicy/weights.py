r"""Where a piecewise linear loss begins: a few machines on weighted sums of kernels.

A norm is a minimum over weights, :math:`\alpha \|f_m\| = \min_{\eta_m}
\|f_m\|^2 / 2 \eta_m + \alpha^2 \eta_m / 2`. For given weights one machine on
:math:`\sum_m \eta_m K_m` is left, whose answer is :math:`f_m = \eta_m K_m \rho`; and
where a weight is positive at the optimum, the dual norm :math:`\|\rho\|_{K_m}` is the
slope of the penalty. Weights are multiplied by a power of the ratio of the two.

A few rounds find most samples that are at corners of the domain, and most kernels that
stay out. What is left costs `CornerSide` the cube of the samples at no corner, where
every step of a barrier from far away factorises a matrix over all samples.
"""

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import half_range
from multikernel.losses.base import is_polyhedral
from multikernel.machines import SMO, warm_start
from multikernel.problem import Problem
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.spicy.settings import SETTINGS


def has_quick_machines(problem: Problem) -> bool:
    """Return whether machines on weighted sums cost less than a barrier from far away.

    They do where matrices are held whole, and are read in less time than one of them is
    factorised.
    """
    gram, y = problem.gram, problem.y
    n_kernels, n_samples, _ = gram.shape
    held = gram.in_memory and gram.tall_form() is None
    sizes = max(SETTINGS.quick_from, n_kernels) <= n_samples
    return held and sizes and y.ndim == 1 and is_polyhedral(problem.loss)


def weighted_sums(
    problem: Problem, regularizer: ProximableRegularizer
) -> tuple[Array, Array]:
    """Run a few machines, and move the weights between them.

    The problem is on a working set of kernels, none of them zero. What is returned is
    the dual point, in the domain of the loss and centred, and the weights: terms are
    these times K_m rho.
    """
    gram, y, unit = problem.gram, problem.y, half_range(problem.y)
    n_kernels, n_samples, _ = gram.shape
    level, alpha = regularizer.threshold, regularizer.alpha
    machine = SMO(tol=SETTINGS.rough * unit, max_steps=SETTINGS.rough_steps * n_samples)
    traces = gram.traces()
    # Together they are a kernel whose values have the size of the targets.
    weights = unit * n_samples / (n_kernels * traces)
    rho, b = np.zeros_like(y), np.zeros(1)
    for left in reversed(range(SETTINGS.rounds)):
        matrix = gram.combine(weights)
        fit = machine.fit(
            matrix,
            y,
            problem.loss,
            fit_intercept=problem.fit_intercept,
            init=warm_start(matrix, rho, intercept=b),
        )
        rho, b = fit.dual, fit.intercept
        if left:
            sizes = np.sqrt(np.maximum(gram.quadratic_forms(rho), 0.0))
            slopes = level + (alpha - level) * weights * sizes
            # Without a threshold the slope is zero where the norm is: such stay out.
            ratios = np.divide(
                sizes, slopes, out=np.zeros_like(sizes), where=slopes > 0.0
            )
            weights = weights * ratios**SETTINGS.power
            shares = weights * traces
            weights[shares < SETTINGS.vanishing * shares.max()] = 0.0
    return rho, weights
