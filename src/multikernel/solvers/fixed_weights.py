"""Solver whose kernel weights come from a rule, and problems over scaled kernels.

`FixedWeights`, `TailConv` and `TailDC` solve problems with the scaled kernels K_m /
v_m, v_m > 0. If theta_m is the weight of K_m / v_m, their solutions contain the weight
of K_m, which is theta_m / v_m.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import shown
from multikernel.gram.base import GramStack
from multikernel.gram.refine import Refinement
from multikernel.gram.views import ScaledStack
from multikernel.linalg.tables import per_kernel
from multikernel.losses.weighted import weights_of
from multikernel.problem import Callback, Problem, Solution, center_targets
from multikernel.regularizers import BlockRegularizer
from multikernel.regularizers.squared_block_norm import p_norm
from multikernel.solvers.base import PathSolver, Solver, follow

WeightRule = Callable[[GramStack, Array, Array], Array]
"""A function of kernels, targets and sample weights that returns kernel weights."""


@dataclass(frozen=True, eq=False)
class FixedWeights(PathSolver):
    """Solver that chooses kernel weights by a rule and then solves for the functions.

    `rule` maps kernels, targets, (n_samples,), and sample weights, (n_samples,), to
    nonnegative kernel weights, (n_kernels,). `solver` must support `SquaredBlockNorm`
    with p = inf. The duality gap certifies the functions, but not the weights.
    """

    rule: WeightRule
    solver: Solver

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        return self.solver.unsupported(problem)

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for each regularizer; the weights are computed once."""
        problem = center_targets(problem)
        loss, n_samples = problem.loss, problem.gram.shape[1]
        shares = weights_of(loss, n_samples)
        weights = checked_weights(self.rule(problem.gram, problem.y, shares), problem)
        kernels = np.flatnonzero(weights > 0.0)
        if not kernels.size:
            # The rule gives all kernels the weight zero, for example because none is
            # aligned with the targets: use equal weights.
            kernels = np.arange(weights.size)
            weights = np.full(weights.size, 1.0 / weights.size)
        restricted = replace(problem, gram=problem.gram.take(kernels))
        scales = weights[kernels]
        inner = scaled_problem(restricted, scales)
        start = None
        if init is not None:
            start = to_scaled(on_some_kernels(init, kernels), scales, np.inf)
        for solution in follow(self.solver, inner, regularizers, start, callback):
            yield on_all_kernels(from_scaled(solution, scales), kernels, weights.size)


def checked_weights(weights: object, problem: Problem) -> Array:
    """Return the weights of a rule as floats; raise ValueError if they are invalid."""
    n_kernels = problem.gram.shape[0]
    array = np.asarray(weights)
    are_numbers = array.shape == (n_kernels,) and array.dtype.kind in "biuf"
    if not (are_numbers and np.isfinite(array).all() and (array >= 0.0).all()):
        raise ValueError(
            "kernel_weights must be finite, nonnegative numbers, one per kernel "
            f"(n_kernels={n_kernels}), or a function that returns such numbers, got "
            f"{shown(weights)}."
        )
    return array.astype(np.float64)


def on_some_kernels(solution: Solution, kernels: Indices) -> Solution:
    """Restrict a solution over all kernels to some `kernels`."""
    is_used = np.isin(solution.active, kernels)
    return replace(
        solution,
        active=np.searchsorted(kernels, solution.active[is_used]),
        coefs=solution.coefs[is_used],
        norms=solution.norms[kernels],
        kernel_weights=solution.kernel_weights[kernels],
    )


def on_all_kernels(solution: Solution, kernels: Indices, n_kernels: int) -> Solution:
    """Extend a solution over some `kernels` to all kernels, with zeros."""
    norms, weights = np.zeros((2, n_kernels))
    norms[kernels], weights[kernels] = solution.norms, solution.kernel_weights
    return replace(
        solution,
        active=kernels[solution.active],
        norms=norms,
        kernel_weights=weights,
        refinement=_refinement(solution, kernels, np.ones(kernels.size)),
    )


def _refinement(
    solution: Solution, kernels: Indices, scales: Array
) -> Refinement | None:
    """Convert `solution.refinement` to the full stack of kernels; None remains None."""
    # A refinement is the precision that low-rank kernels require. The solution's kernel
    # k is scales[k] times kernel kernels[k] of the full stack.
    refinement = solution.refinement
    return None if refinement is None else refinement.for_full_stack(kernels, scales)


def inverse_sizes(sizes: Array) -> Array:
    """Return 1 / sizes, and zero where a size is zero."""
    is_positive = sizes > 0.0
    return np.where(is_positive, 1.0 / np.where(is_positive, sizes, 1.0), 0.0)


def scaled_problem(problem: Problem, scales: Array) -> Problem:
    """Return the problem with the kernels scales[m] K_m."""
    return replace(problem, gram=ScaledStack(problem.gram, scales))


def to_scaled(solution: Solution, scales: Array, p: float) -> Solution:
    """Convert a solution for K_m to one for scales[m] K_m, with weights of p-norm 1."""
    inverse = inverse_sizes(scales)
    # Kernels of scale zero cannot represent a function, so their functions are removed.
    is_positive = scales[solution.active] > 0.0
    active = solution.active[is_positive]
    weights = solution.kernel_weights * inverse
    size = p_norm(weights, p)
    return replace(
        solution,
        active=active,
        coefs=per_kernel(inverse[active], solution.coefs[is_positive]),
        norms=solution.norms * np.sqrt(inverse),
        kernel_weights=weights / size if size > 0.0 else weights,
    )


def from_scaled(solution: Solution, scales: Array) -> Solution:
    """Convert a solution for the kernels scales[m] K_m to one for the kernels K_m."""
    return replace(
        solution,
        coefs=per_kernel(scales[solution.active], solution.coefs),
        norms=solution.norms * np.sqrt(scales),
        kernel_weights=solution.kernel_weights * scales,
        refinement=_refinement(solution, np.arange(scales.size), scales),
    )
