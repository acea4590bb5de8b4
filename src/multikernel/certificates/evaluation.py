r"""What a model is worth: norms, objective and gap, from its own expansions.

Whatever a solver has updated on its way carries rounding errors, and cheap quadratic
forms may belong to another model than the one that is published. So a model is
evaluated once more at the end: from the products :math:`K_m c_m` of its terms come its
decision values and its norms, and from these objective and gap.

Products round as well. With :math:`u = (4 + \sqrt n) \epsilon`, the error of a product
is taken to be at most

.. math::
    |\delta (K c)_i| \le u \, |c| \sqrt{K_{ii} \operatorname{tr} K}, \qquad
    |\delta (c^\top K c)| \le u \, |c|^2 \operatorname{tr} K,

the rule of thumb that n rounding errors of random sign add up to the root of n
(Higham, Mary 2019, SIAM J. Sci. Comput. 41), with room for the rounding of the entries
themselves, and :math:`|K_{ij}| \le \sqrt{K_{ii} K_{jj}}`. What these errors could hide
of the gap is added to it where it is more than `ORDINARY` of the objective.
"""

import math
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates.centring import centred
from multikernel.certificates.forms import check_forms, factor_norms
from multikernel.certificates.gap import (
    DualCertificate,
    DualDomain,
    certify,
    check_gap,
    primal_value,
    project_dual,
    prove_over_full_kernels,
    relative_gap,
    scaled_dual_value,
)
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING
from multikernel.gram.matrix import TermProducts
from multikernel.linalg import EPS, TINY
from multikernel.losses.coupled import is_coupled
from multikernel.problem import Problem, Solution

ORDINARY = 1e-9
"""Share of the objective that rounding may hide without the gap being enlarged.

In ordinary scaling errors stay below it: on the 24-sample problems of the conformance
suite at gaps of 1e-8 the bounds are between 1e-14 and 1e-11."""

SHARE = 0.1
"""What the matrices of a stack leave of the kernels may add this share of the gap over
them without being looked at."""

IMAGE_BYTES = 2**26
"""Bytes of products that an evaluation keeps at a time."""


def rounding_unit(n_samples: int) -> float:
    """Return u, the relative rounding error of a product of so many terms."""
    return float((4.0 + np.sqrt(n_samples)) * EPS)


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a model, evaluated.

    Parameters
    ----------
    norms : ndarray of shape (n_terms,)
        Block norms; zero for a term that is no more than the rounding of itself.
    rounding : ndarray of shape (n_terms,)
        By how much their squares may be off.
    f : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Decision values without intercept, of the terms with a norm.
    spread : ndarray of the shape of `f`
        By how much these may be off.
    """

    norms: Array
    rounding: Array
    f: Array
    spread: Array


def evaluate_terms(
    gram: GramStack,
    kernels: Indices,
    expansions: Array,
    weights: Array,
    held: GramStack | None = None,
) -> Terms:
    """Multiply every kernel of a model by its expansion.

    Parameters
    ----------
    gram : GramStack
        All kernels.
    kernels : ndarray of shape (n_terms,)
        Those of the model.
    expansions : ndarray of shape (n_terms or 1, n_samples[, n_outputs])
        Their expansions, or one for all; of another length where the stack takes
        them so (`GramStack.expansion_length`).
    weights : ndarray of shape (n_terms,)
        By what these are multiplied.
    held : GramStack, optional
        The stack of the model's kernels, where it is at hand.

    Raises
    ------
    IndefiniteKernelError
        If a quadratic form is negative beyond rounding.
    """
    squares, rounding = np.zeros(kernels.size), np.zeros(kernels.size)
    f, spread = np.zeros((2, gram.shape[1], *expansions.shape[2:]))
    columns = (-1,) + (1,) * f.ndim
    each = 8 * math.prod(expansions.shape[1:])
    step = max(1, kernels.size if held is not None else IMAGE_BYTES // each)
    for start in range(0, kernels.size, step):
        part = slice(start, start + step)
        chosen = kernels[part]
        own = expansions if len(expansions) == 1 else expansions[part]
        c = weights[part].reshape(columns) * own
        part_of_model = gram.once(chosen) if held is None else held
        products = part_of_model.term_products(c)
        squares[part], rounding[part] = _squared_norms(gram, chosen, c, products)
        used = squares[part] > 0.0
        # |c| sqrt(K_ii tr K) u = sqrt(u |c|^2 tr K) sqrt(u K_ii)
        units = np.sqrt(rounding[part] * rounding_unit(f.shape[0]))
        total, sizes = products.sums(used, units)
        f += total
        spread += sizes.reshape(columns[:-1])
    return Terms(np.sqrt(squares), rounding, f, spread)


def _squared_norms(
    gram: GramStack, kernels: Indices, coefs: Array, products: TermProducts
) -> tuple[Array, Array]:
    """Return squared norms of some terms, and by how much they may be off."""
    forms, lengths, traces = products.forms, products.lengths, products.traces
    flat = coefs.reshape(len(kernels), -1)
    sizes = np.einsum("mi,mi->m", flat, flat)
    unit = rounding_unit(coefs.shape[1])
    rounding = unit * sizes * np.abs(traces)
    worst = int(np.argmin(forms))
    if forms[worst] < 0.0 or not np.isfinite(forms).all():
        one = kernels[[worst]]
        check_forms(gram.take(one), forms[[worst]], coefs[worst], one)
    # |K c|^2 / tr K is never more than c^T K c, and no digit of it cancels.
    least = lengths / np.maximum(traces, TINY)
    squares = np.where(forms > rounding, forms, np.maximum(forms, least))
    # A product that is no more than its own rounding is zero, as far as one can tell.
    negligible = lengths <= unit * np.abs(traces) * rounding
    return np.where(negligible, 0.0, squares), rounding


@dataclass(frozen=True, eq=False)
class Worth:
    """What a model is worth.

    Parameters
    ----------
    objective : float
        Primal objective.
    excess : float
        By how much rounding may hide a larger one.
    in_single : float
        The same, if its kernels are only known to single precision.
    """

    objective: float
    excess: float
    in_single: float


def evaluate(
    problem: Problem, kernels: Indices, terms: Terms, intercept: Array
) -> Worth:
    """Return the objective of a model, and what rounding may hide of it.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernels : ndarray of shape (n_terms,)
        The kernels of the model.
    terms : Terms
        Its terms, see `evaluate_terms`.
    intercept : ndarray of shape (n_outputs,)
        Its intercept, for the problem's targets as they are.
    """
    f = terms.f + intercept
    spread = terms.spread + EPS * np.abs(np.where(terms.f != 0.0, f, 0.0))
    norms = np.zeros(problem.gram.shape[0])
    norms[kernels] = terms.norms
    used = terms.norms > 0.0
    objective = primal_value(problem, norms, f)

    def hidden(factor: float) -> float:
        """Return what errors so many times as large may hide."""
        largest = np.zeros_like(norms)
        squares = terms.norms[used] ** 2 + factor * terms.rounding[used]
        largest[kernels[used]] = np.sqrt(squares)
        losses = largest_losses(problem, f, factor * spread)
        excess = float(losses.sum()) + problem.regularizer.value(largest) - objective
        return max(excess, 0.0)

    single = ROUNDING / rounding_unit(f.shape[0])
    return Worth(objective, hidden(1.0), hidden(single))


def largest_losses(problem: DualDomain, f: Array, spread: Array) -> Array:
    """Return bounds on the losses between f - spread and f + spread.

    Parameters
    ----------
    problem : Problem or HullProblem
        Gives loss and targets.
    f, spread : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Decision values, and by how much they may be off.

    Returns
    -------
    losses : ndarray of shape (n_samples,) or that of `f`
        As the loss returns its values.
    """
    loss, y = problem.loss, problem.y
    if is_coupled(loss):
        # A slope p - e_y has a sum of absolute values of two times the mass at most.
        most = 2.0 * loss.masses(y) * spread.max(axis=1)
        return np.asarray(loss.value(y, f) + most)
    # Losses are convex: between two points none exceeds the larger value at an end.
    ends = (loss.value(y, f + sign * spread) for sign in (-1.0, 1.0))
    return np.asarray(np.maximum(*ends))


def largest_dual_norms(
    problem: Problem, certificate: DualCertificate, unit: float
) -> Array:
    """Return what the dual norms of a certificate may be, rounding included."""
    rho = certificate.dual
    rounding = unit * float(np.sum(rho * rho))
    squares = certificate.dual_norms**2 + rounding * np.abs(problem.gram.traces())
    return np.asarray(np.sqrt(squares))


def safely_feasible(problem: Problem, certificate: DualCertificate) -> Array:
    """Return the dual point, so far inside the dual ball that rounding does no harm.

    Parameters
    ----------
    problem : Problem
        The problem.
    certificate : DualCertificate
        A feasible dual point with its dual norms.

    Returns
    -------
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    """
    rho = certificate.dual
    largest = largest_dual_norms(problem, certificate, rounding_unit(rho.shape[0]))
    return problem.regularizer.feasible_scale(largest) * rho


def hidden_by_dual_norms(
    problem: Problem, certificate: DualCertificate, norms: Array, unit: float
) -> float:
    """Return by how much rounding of the dual norms may raise a dual value.

    `norms` are the block norms of the primal point, and `unit` is the relative rounding
    error of a product, see `rounding_unit`.
    """
    rho = certificate.dual
    largest = largest_dual_norms(problem, certificate, unit)
    _, value = scaled_dual_value(problem, rho, norms, largest)
    sums = 4.0 * EPS * float(np.abs(problem.loss.conjugate(problem.y, -rho)).sum())
    return max(certificate.value - value, 0.0) + sums


def enlarged_gap(
    problem: Problem, worth: Worth, certificate: DualCertificate, norms: Array
) -> float:
    """Return the relative gap of a model and a dual point, rounding included.

    Parameters
    ----------
    problem : Problem
        The problem.
    worth : Worth
        Of the model.
    certificate : DualCertificate
        A feasible dual point with its dual norms.
    norms : ndarray of shape (n_kernels,)
        Block norms of the model.

    Returns
    -------
    gap : float
        By at most `ORDINARY` below the gap in exact arithmetic.
    """
    gap = relative_gap(worth.objective, certificate.value)
    hidden = worth.excess, rounding_unit(certificate.dual.shape[0])
    if gap < -ORDINARY:
        # No kernels do this, so these are less exact than what they are computed with.
        hidden = worth.in_single, ROUNDING
    excess = hidden[0] + hidden_by_dual_norms(problem, certificate, norms, hidden[1])
    return with_rounding(gap, excess, worth.objective)


def with_rounding(gap: float, excess: float, objective: float) -> float:
    """Return a relative gap, enlarged by what rounding may hide of it.

    Parameters
    ----------
    gap : float
        The relative gap.
    excess : float
        By how much rounding may hide a larger one, not negative.
    objective : float
        The objective that the gap is relative to.

    Returns
    -------
    gap : float
        By at most `ORDINARY` below the gap in exact arithmetic.
    """
    return gap + max(excess / max(abs(objective), TINY) - ORDINARY, 0.0)


def duality_gap(problem: Problem, solution: Solution) -> float:
    """Return the relative duality gap of a solution, computed from scratch.

    Nothing but the expansions, the intercept and the dual point are trusted: norms
    and decision values are recomputed, and the dual point is projected and scaled.

    Parameters
    ----------
    problem : Problem
        The problem.
    solution : Solution
        Any solution of it.

    Returns
    -------
    gap : float
        Not negative; infinite if the dual point is not finite.

    Raises
    ------
    IndefiniteKernelError
        If the dual value exceeds the objective beyond rounding.
    """
    problem = centred(problem)
    if not np.isfinite(solution.dual).all():
        return np.inf
    kernels = solution.active
    ones = np.ones(kernels.size)
    terms = evaluate_terms(problem.gram, kernels, solution.coefs, ones)
    norms = np.zeros(problem.gram.shape[0])
    norms[kernels] = terms.norms
    rho = project_dual(problem, solution.dual)
    worth = evaluate(problem, kernels, terms, solution.intercept - problem.offset)
    sizes = factor_norms(problem.gram, rho)
    certificate = certify(problem, rho, norms, sizes)
    gap = enlarged_gap(problem, worth, certificate, norms)
    if problem.gram.residual_bounds(rho).any():
        excess = SHARE * max(gap, ORDINARY) * abs(worth.objective)
        proof = prove_over_full_kernels(problem, rho, sizes**2, norms, excess)
        gap = enlarged_gap(problem, worth, proof.certificate, norms)
    check_gap(gap)
    return max(gap, 0.0)
