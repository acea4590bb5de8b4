"""Several solutions of one stack as one model: one-vs-rest composition."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.problem import Solution, Status

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

    Parameters
    ----------
    solutions : sequence of Solution
        On the same stack, one per output, or each with several outputs.

    Returns
    -------
    expansion : Expansion
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
    """Return why a solver stopped, as a short code and as a sentence.

    Parameters
    ----------
    status : Enum
        Its name is the code, its value the sentence.

    Returns
    -------
    attributes : dict
        ``status_`` and ``status_message_``.
    """
    return {"status_": status.name.lower(), "status_message_": str(status.value)}


def worst_status(solutions: Sequence[Solution]) -> Status:
    """Return the status of the solution that went worst."""
    return max((solution.status for solution in solutions), key=_SEVERITY.index)


def single(values: Any) -> Any:
    """Return values per output as an array, or the value of a single output.

    Parameters
    ----------
    values : array-like of shape (n_outputs, ...)
        The values.

    Returns
    -------
    values : ndarray of shape (n_outputs, ...), or its only entry
    """
    values = np.asarray(values)
    return values[0] if values.shape[0] == 1 else values
