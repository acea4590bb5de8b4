"""What a fit publishes of its solutions: expansions, shares, endings, histories."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.linalg.tall import covariances_with_sum
from multikernel.problem import Solution, Status
from multikernel.solvers.hkl.problem import HullSolution

FINISHED = (Status.CONVERGED, Status.SELECTED, Status.PRECISE, Status.STATIONARY)
"""Ends that a solver was asked for; any other one deserves a warning."""


# From best to worst: the worst of several problems is what a fit reports.
_SEVERITY = (
    *FINISHED,
    Status.LIMITED,
    Status.STOPPED,
    Status.MAX_ITER,
    Status.STALLED,
)


@dataclass(frozen=True, eq=False)
class Expansion:
    """The block functions of all outputs over the training samples.

    Parameters
    ----------
    active : ndarray of shape (n_active,)
        Kernels with a non-zero norm in at least one output, ascending.
    coefs : ndarray of shape (n_active, n_samples, n_outputs)
        f_m of output k is ``K_m @ coefs[j, :, k]`` for m = active[j]; or of another
        length, as `GramStack.expansion_length` has it.
    intercept : ndarray of shape (n_outputs,)
        The intercepts.
    """

    active: Indices
    coefs: Array
    intercept: Array


def merge(solutions: Sequence[Solution]) -> Expansion:
    """Return the expansions of several solutions over the union of their kernels.

    They are on the same stack, one per output, or each with several outputs.
    """
    active = np.unique(np.concatenate([solution.active for solution in solutions]))
    intercept = np.concatenate([solution.intercept for solution in solutions])
    lengths = {s.coefs.shape[1] for s in solutions if s.active.size}
    length = lengths.pop() if lengths else solutions[0].dual.shape[0]
    coefs = np.zeros((active.size, length, intercept.size))
    first = 0
    for solution in solutions:
        last = first + solution.intercept.size
        shape = (solution.active.size, length, last - first)
        places = np.searchsorted(active, solution.active)
        coefs[places, :, first:last] = solution.coefs.reshape(shape)
        first = last
    return Expansion(active.astype(np.intp), coefs, intercept)


def told(status: Enum) -> dict[str, str]:
    """Return why a solver stopped: ``status_``, a code, and ``status_message_``."""
    return {"status_": status.name.lower(), "status_message_": str(status.value)}


def worst_status(solutions: Sequence[Solution]) -> Status:
    """Return the status of the solution that went worst."""
    return max((solution.status for solution in solutions), key=_SEVERITY.index)


def single(values: Any) -> Any:
    """Return values per output, (n_outputs, ...), as an array; of one its own."""
    values = np.asarray(values)
    return values[0] if values.shape[0] == 1 else values


def variance_shares(terms: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    r"""Return the share of each term in the variance of their sum.

    With :math:`f = \sum_m f_m` the share of term m is

    .. math:: \operatorname{Cov}(f_m, f) / \operatorname{Var}(f)

    over the samples. Shares sum to one. A negative one belongs to a term that works
    against the others. Unlike kernel weights they do not depend on how a method scales
    its kernels, and so compare models of different methods.

    Parameters
    ----------
    terms : array-like of shape (n_samples, n_active)
        The terms of a model, as `contributions` of an estimator returns them; of
        several outputs of shape (n_samples, n_outputs, n_active).
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    shares : ndarray of shape (n_active,) or (n_outputs, n_active)
        Zeros where the sum is constant.

    Examples
    --------
    >>> from multikernel.estimators import variance_shares
    >>> variance_shares([[0.0, 1.0], [3.0, 1.0], [0.0, 2.0], [3.0, 2.0]])
    array([0.9, 0.1])
    """
    values = np.asarray(terms, dtype=np.float64)
    weights = np.ones(values.shape[0])
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=np.float64)
    return shares_of(covariances_with_sum(values, weights))


def shares_of(products: Array) -> Array:
    """Return products, (..., n_terms), with the sum of all terms over their own sum.

    They are zeros where their sum is none.
    """
    totals = products.sum(axis=-1, keepdims=True)
    shares = np.zeros(products.shape)
    np.divide(products, totals, out=shares, where=totals > 0.0)
    return shares


def described_terms(
    stack: GramStack, active: Indices, coefs: Array, sample_weight: Array | None
) -> dict[str, Array]:
    """Return ``block_norms_`` and ``variance_shares_`` of a model, see `spread_terms`.

    The `coefs`, (n_active, n_samples, n_outputs), are the expansions of its kernels.
    """
    weights = np.ones(stack.shape[1]) if sample_weight is None else sample_weight
    squares, products = stack.term_covariances(active, coefs, weights)
    norms = np.sqrt(np.maximum(squares, 0.0))
    return spread_terms(norms, shares_of(products), active, stack.shape[0])


def spread_terms(
    norms: Array, shares: Array, active: Indices, n_kernels: int
) -> dict[str, Any]:
    """Return ``block_norms_`` and ``variance_shares_`` from norms and shares of terms.

    Those of the terms have shape (n_outputs, n_active), where `active` are their
    kernels; of all kernels (n_kernels,) for one output, otherwise (n_outputs,
    n_kernels).
    """
    named = {"block_norms_": norms, "variance_shares_": shares}
    full = {name: np.zeros((len(norms), n_kernels)) for name in named}
    for name, values in named.items():
        full[name][:, active] = values
    return {name: single(array) for name, array in full.items()}


HISTORY_DTYPE = np.dtype(
    [
        ("output", np.intp),
        ("iteration", np.intp),
        ("seconds", np.float64),
        ("objective", np.float64),
        ("duality_gap", np.float64),
        ("n_active", np.intp),
        ("passes", np.float64),
        ("inner_steps", np.intp),
    ]
)


def iterations(paths: Iterable[Iterable[Solution | HullSolution]]) -> Any:
    """Return the iterations of every output over its solutions, one at least.

    Where the start is the optimum, the look that proves it counts as one: scikit-learn
    asks of every estimator with a limit that it has made some.
    """
    return single([max(1, sum(s.n_iter for s in path)) for path in paths])


def history_array(
    solutions: Sequence[Solution | HullSolution], scale: float | Array
) -> NDArray[np.void]:
    """Return the histories of the problems of one fit as one structured array.

    The `scale`, of shape (n_solutions,) or one for all, turns objectives of problems
    into those of the estimator.
    """
    scales = np.broadcast_to(scale, len(solutions))
    lines = [
        (
            output,
            line.iteration,
            line.seconds,
            line.objective * factor,
            line.duality_gap,
            line.n_active,
            line.passes,
            line.inner_steps,
        )
        for output, (solution, factor) in enumerate(zip(solutions, scales, strict=True))
        for line in solution.history
    ]
    return np.array(lines, dtype=HISTORY_DTYPE)
