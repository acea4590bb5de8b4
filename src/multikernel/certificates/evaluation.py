"""Norms, objective and gap of a model, computed anew from its coefficients.

Rounding errors that accumulated in a solver do not affect these numbers.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates.forms import (
    check_forms,
    factor_norms,
    prove_over_full_kernels,
)
from multikernel.certificates.gap import (
    DualCertificate,
    Number,
    certify,
    check_gap,
    primal_value,
    project_dual,
    sum_of_samples,
)
from multikernel.certificates.null_model import best_intercepts
from multikernel.certificates.rounding import (
    ORDINARY,
    Worth,
    diagonal_factors,
    largest_losses,
    prove,
    rounding_safe,
    rounding_unit,
)
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING
from multikernel.gram.matrix import TermProducts
from multikernel.linalg import EPS, TINY
from multikernel.linalg.tables import CHUNK_BYTES, per_kernel
from multikernel.problem import Problem, Solution, center_targets, published_intercept

# Rounding errors of products, with u = (4 + sqrt(n)) eps, are assumed to be at most
#     u |c| sqrt(K_ii tr K) for (K c)_i, and u |c|^2 tr K for c^T K c:
# the sum of n rounding errors of random sign grows with the root of n (Higham, Mary
# 2019, SIAM J. Sci. Comput. 41), the entries themselves are rounded, and |K_ij| is at
# most sqrt(K_ii K_jj). The part of the gap that these errors could hide is added to the
# gap if it exceeds `ORDINARY` times the objective.

SUMMED = 4.0 * EPS
"""Relative rounding error of the sum of a few unpenalized columns."""


@dataclass(frozen=True, eq=False)
class Terms:
    """Norms and decision values of a model's terms, with bounds on rounding errors."""

    norms: Array  # zero for a term that does not exceed its rounding error
    rounding: Array  # bounds on the errors of the squared norms
    f: Array  # decision values without intercept, from the terms with a nonzero norm
    spread: Array  # bounds on the errors of f


def evaluate_terms(
    gram: GramStack,
    kernels: Indices,
    expansions: Array,
    weights: Array,
    loaded: GramStack | None = None,
) -> Terms:
    """Return norms and decision values of the terms weights[m] K_m expansions[m]."""
    # `expansions` has one row of coefficients for all terms, or one per term, of length
    # `GramStack.expansion_length`. `loaded` is the stack of `kernels` if it is already
    # in memory.
    squares, rounding = np.zeros(kernels.size), np.zeros(kernels.size)
    # Error bounds use `products.traces` plus `entry_rounding`, which accounts for
    # kernel entries that are small differences of large numbers. The numbers in
    # `products.traces` may differ from the kernels' traces (see `BlockedTerms`).
    entry_rounding = (gram.rounded_traces() - np.abs(gram.traces()))[kernels]
    f, spread = np.zeros((2, gram.shape[1], *expansions.shape[2:]))
    n_bytes = 8 * math.prod(expansions.shape[1:])
    step = max(1, kernels.size if loaded is not None else CHUNK_BYTES // n_bytes)
    for start in range(0, kernels.size, step):
        block = slice(start, start + step)
        subset = kernels[block]
        part_coefs = expansions if len(expansions) == 1 else expansions[block]
        c = per_kernel(weights[block], part_coefs)
        stack = gram.once(subset) if loaded is None else loaded
        products = stack.term_products(c)
        rounded_traces = np.abs(products.traces) + entry_rounding[block]
        squares[block], rounding[block] = _squared_norms(
            gram, subset, c, products, rounded_traces
        )
        is_used = squares[block] > 0.0  # other terms are only rounding
        # A kernel's term has a rounding error of at most |c| sqrt(K_ii tr K) u at
        # sample i, with the rounding unit u. `error_units` are the factors of
        # sqrt(K_ii) in this bound, since `rounding` is u |c|^2 tr K. `larger` enlarges
        # K_ii for entries that are small differences of large numbers.
        larger = diagonal_factors(gram.shape[1], rounded_traces, products.traces)
        error_units = np.sqrt(rounding[block] * rounding_unit(f.shape[0]) * larger)
        total, sizes = products.sums(is_used, error_units)
        f += total
        spread += sizes.reshape((-1,) + (1,) * (f.ndim - 1))
    return Terms(np.sqrt(squares), rounding, f, spread)


def _squared_norms(
    gram: GramStack,
    kernels: Indices,
    coefs: Array,
    products: TermProducts,
    rounded_traces: Array,
) -> tuple[Array, Array]:
    """Return c_m^T K_m c_m for rows c_m of `coefs`, and bounds on rounding errors."""
    # `products` contains the products K_m c_m. `rounded_traces` are the traces of the
    # kernels, enlarged for rounding errors of the entries.
    forms, lengths, traces = products.forms, products.lengths, products.traces
    flat = coefs.reshape(len(kernels), -1)
    squared_lengths = np.einsum("mi,mi->m", flat, flat)
    unit = rounding_unit(coefs.shape[1])
    rounding = unit * squared_lengths * rounded_traces
    lowest = int(np.argmin(forms))
    if forms[lowest] < 0.0 or not np.isfinite(forms).all():
        kernel = kernels[[lowest]]
        check_forms(gram.take(kernel), forms[[lowest]], coefs[lowest], kernel)
    # |K c|^2 / tr K is a lower bound on c^T K c without cancellation.
    lower_bounds = lengths / np.maximum(traces, TINY)
    squares = np.where(forms > rounding, forms, np.maximum(forms, lower_bounds))
    # A product that does not exceed its rounding error counts as zero.
    negligible = lengths <= unit * rounded_traces * rounding
    return np.where(negligible, 0.0, squares), rounding


def evaluate(
    problem: Problem,
    kernels: Indices,
    terms: Terms,
    intercept: Array,
    column_sizes: Array | float = 0.0,
) -> Worth:
    """Return norms and objective of a model, with bounds on rounding errors."""
    # `terms` has a term of the model for each index in `kernels`. `intercept` is for
    # the targets of `problem`. It may include the terms of unpenalized columns, beta_j
    # times column j; `column_sizes` then is the sum of their absolute values at each
    # sample. For many targets, norms in `terms` have a column for each target.
    f = terms.f + intercept
    spread = terms.spread + EPS * np.abs(np.where(terms.f != 0.0, f, 0.0))
    spread = spread + SUMMED * column_sizes
    norms = np.zeros((problem.gram.shape[0], *terms.norms.shape[1:]))
    norms[kernels] = terms.norms
    objective = primal_value(problem, norms, f)

    def largest_increase(factor: float) -> Number:
        """Return how much rounding errors times `factor` may raise the objective."""
        # `largest` bounds the norms of all kernels: the errors of squared norms are at
        # most `factor * terms.rounding`. `losses` bounds the losses: the errors of
        # decision values are at most `factor * spread`. The shape of `norms` says
        # whether losses are summed for each target.
        largest = np.zeros_like(norms)
        squares = terms.norms**2 + factor * terms.rounding
        largest[kernels] = np.where(terms.norms > 0.0, np.sqrt(squares), 0.0)
        losses = largest_losses(problem.loss, problem.y, f, factor * spread)
        total = sum_of_samples(losses, norms) + problem.regularizer.value(largest)
        return np.maximum(total - objective, 0.0)

    return Worth(norms, objective, largest_increase(1.0), largest_increase)


def evaluate_multiples(
    problem: Problem, rho: Array, weights: Array, forms: Array, f: Array, b: Array
) -> tuple[Worth, DualCertificate, Mask]:
    """Evaluate models with terms weights[m] K_m rho, and dual points near rho.

    There is one model per target, with a column of rho, weights, f = sum_m weights[m]
    K_m rho and forms = rho^T K_m rho, and with an entry of the intercepts b. With an
    intercept, columns of rho must sum to zero up to rounding. The mask is False for
    targets with unreliable forms, which have no valid gap.
    """
    gram, unit = problem.gram, rounding_unit(len(rho))
    traces = gram.rounded_traces()
    sizes = np.einsum("it,it->t", rho, rho) * traces[:, None]
    # If a form of an active kernel does not exceed its rounding error, norms are wrong.
    # If a form is clearly negative, the kernel is indefinite.
    is_reliable = forms >= np.where(weights > 0.0, unit, -ROUNDING) * sizes
    roots, errors = np.sqrt(np.maximum(forms, 0.0)), weights**2 * (unit * sizes)
    larger = diagonal_factors(len(rho), traces, gram.traces())
    diagonals = larger[:, None] * np.maximum(gram.diagonals(), 0.0)
    spread = np.sqrt(diagonals).T @ np.sqrt(unit * errors)
    terms = Terms(weights * roots, errors, f, spread)
    worth = evaluate(problem, np.arange(len(weights)), terms, b)
    # The projection changes a dual norm by at most the root of the kernel's trace times
    # the distance between rho and its projection. Projecting hundreds of points that
    # are inside the domain would cost more than their steps.
    lower, upper = problem.loss.dual_bounds(problem.y)
    is_inside = np.all((rho >= -upper) & (rho <= -lower))
    dual = rho if is_inside else project_dual(problem, rho)
    moves = np.linalg.norm(dual - rho, axis=0)
    largest = roots + np.multiply.outer(np.sqrt(traces), moves)
    residuals = [gram.residual_bounds(point) for point in dual.T]
    dual_norms = np.sqrt(largest**2 + np.array(residuals).T)
    certificate = rounding_safe(problem, dual, worth.norms, dual_norms)
    return worth, certificate, is_reliable.all(axis=0)


@dataclass(frozen=True, eq=False)
class Model:
    """A primal point: kernels, expansions, intercept, and its objective."""

    kernels: Indices  # of the terms, ascending
    norms: Array  # of all kernels
    intercept: Array  # without the problem's offset
    objective: float
    weights: Array  # numbers that multiply the expansions
    expansions: Array  # coefficients, one row for each term, or one for all terms
    terms: Terms | None = None  # from `evaluate_terms`
    worth: Worth | None = None  # from `evaluate`; contains the same norms and objective

    @property
    def active(self) -> Indices:
        """Indices of the kernels with a nonzero norm."""
        return np.flatnonzero(self.norms)

    @property
    def coefs(self) -> Array:
        """Coefficients of the active kernels, (n_active, n_samples[, n_outputs])."""
        is_active, expansions = self.norms[self.kernels] > 0.0, self.expansions
        expansions = expansions if len(expansions) == 1 else expansions[is_active]
        return per_kernel(self.weights[is_active], expansions)

    def products(self, gram: GramStack) -> Array:
        """Return the product of every active kernel with its own row of `coefs`."""
        coefs = self.coefs  # one row may serve all kernels
        all_coefs = np.broadcast_to(coefs, (self.active.size, *coefs.shape[1:]))
        return gram.once(self.active).block_matvec(all_coefs)


def evaluated(problem: Problem, model: Model) -> Model:
    """Return the model with norms and objective computed from its expansions."""
    if model.worth is not None:
        return model
    # The `Terms` of a model do not depend on the penalty. If they were computed for
    # another penalty, they are still valid.
    terms = model.terms
    if terms is None:
        terms = evaluate_terms(
            problem.gram, model.kernels, model.expansions, model.weights
        )
    b = published_intercept(problem, model.intercept)
    worth = evaluate(problem, model.kernels, terms, b)
    return replace(
        model,
        norms=worth.norms,
        intercept=b,
        terms=terms,
        worth=worth,
        objective=worth.objective,
    )


def model_of_expansions(
    problem: Problem, kernels: Indices, coefs: Array, loaded: GramStack | None = None
) -> Model:
    """Return the evaluated model of given expansions, with its best intercept."""
    weights = np.ones(kernels.size)
    terms = evaluate_terms(problem.gram, kernels, coefs, weights, loaded)
    b = best_published_intercept(problem, terms.f)
    model = Model(kernels, np.zeros(0), b, np.nan, weights, coefs, terms)
    return evaluated(problem, model)


def model_of_multiples(
    problem: Problem, rho: Array, weights: Array, forms: Array, f: Array
) -> Model:
    """Return the model with terms weights[m] K_m rho, and its best intercept."""
    # Weights below this limit are set to zero: their squares would underflow, so the
    # block norms of these kernels could not be checked.
    weights = np.where(weights > 1e-100 * weights.max(initial=0.0), weights, 0.0)
    # `forms` are rho^T K_m rho. `evaluated` recomputes and certifies the block norms.
    norms = weights * np.sqrt(forms)
    b = best_published_intercept(problem, f)
    objective = primal_value(problem, norms, f + b)
    # Kernels with a norm of zero by rounding still contribute to f.
    kernels = np.flatnonzero(weights)
    return Model(kernels, norms, b, objective, weights[kernels], rho[None])


def best_published_intercept(problem: Problem, f: Array) -> Array:
    """Return the rounded best intercepts; zeros if the problem has no intercept."""
    y = problem.y
    if not problem.fit_intercept:
        return np.zeros(1 if y.ndim == 1 else y.shape[1])
    return published_intercept(problem, best_intercepts(problem.loss, y, f)[0])


def decision_values(problem: Problem, solution: Solution) -> Array:
    """Return the decision values on the training samples, without the offset."""
    f = np.zeros_like(problem.y)
    if solution.active.size:
        f = problem.gram.take(solution.active).block_matvec(solution.coefs).sum(axis=0)
    return np.asarray(f + (solution.intercept - problem.offset))


def duality_gap(problem: Problem, solution: Solution) -> float:
    """Return the relative duality gap of a solution, computed from scratch.

    Only the solution's expansions, intercept and dual point are used; the dual point is
    projected and scaled. The gap is nonnegative, and infinite if the dual point is not
    finite. A dual value that exceeds the objective by more than rounding raises
    `IndefiniteKernelError`.
    """
    problem = center_targets(problem)
    if not np.isfinite(solution.dual).all():
        return np.inf
    kernels = solution.active
    ones = np.ones(kernels.size)
    terms = evaluate_terms(problem.gram, kernels, solution.coefs, ones)
    rho = project_dual(problem, solution.dual)
    worth = evaluate(problem, kernels, terms, solution.intercept - problem.offset)
    sizes = factor_norms(problem.gram, rho)
    certificate = certify(problem, rho, worth.norms, sizes)
    gap, _ = prove(problem, worth, certificate)
    if problem.gram.residual_bounds(rho).any():
        excess = 0.1 * max(gap, ORDINARY) * abs(worth.objective)
        full = prove_over_full_kernels(problem, rho, sizes**2, worth.norms, excess)
        gap, _ = prove(problem, worth, full.certificate)
    check_gap(gap)
    return max(float(gap), 0.0)
