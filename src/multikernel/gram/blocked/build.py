"""Factors of kernels at rows in blocks: landmarks of a sample, a pass over all rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from multikernel._typing import Array
from multikernel.gram.blocked.blocks import RowBlocks
from multikernel.gram.blocked.plan import indices_of, raw_block, renewed
from multikernel.gram.blocked.search import BlockedLandmarks, Search
from multikernel.gram.blocked.stack import BlockedStack
from multikernel.gram.factorise import check_order
from multikernel.gram.landmarks import LowRank, row_keys
from multikernel.gram.normalization import (
    BuiltStack,
    Normalizer,
    Steps,
    check_steps,
    empty_normalization,
)
from multikernel.kernels.base import KernelDictionary


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows in blocks, and a sample of them at hand.

    Parameters
    ----------
    blocks : RowBlocks
        Of arrays of shape (n_block, n_features), float64 and finite.
    sample : ndarray of shape (n_sampled, n_features)
        Some of the rows.
    """

    blocks: RowBlocks
    sample: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_features)."""
        return self.blocks.n_rows, int(self.sample.shape[1])

    @property
    def ndim(self) -> int:
        """Return 2."""
        return 2


def build_blocked(
    dictionary: KernelDictionary,
    rows: SampledRows,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
    options: LowRank | None = None,
    max_bytes: int | None = None,
) -> BuiltStack:
    """Factorise and normalise every kernel of a dictionary, in blocks of rows.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels, their columns given by indices.
    rows : SampledRows
        The training samples.
    normalize : {"trace", "variance", "cosine", "center"}, sequence of these, or None
        As in `build_low_rank`, over all rows.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the statistics that normalisation learns.
    options : LowRank, optional
        How many landmarks there may be.
    max_bytes : int, optional
        Limit on the bytes of the factors, wherever they are held.

    Returns
    -------
    built : BuiltStack
        Its stack is a `BlockedStack`.

    Raises
    ------
    StackTooLargeError
        If the factors would take more bytes.
    ValueError
        If a kernel has values that are not finite, or steps are asked for that need
        whole kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram.blocked import InProcess, RowBlocks
    >>> from multikernel.gram.blocked.build import SampledRows, build_blocked
    >>> from multikernel.kernels import LinearKernel, ParameterGrid
    >>> X = np.array([[1.0, 0.0], [3.0, 1.0]])
    >>> blocks = RowBlocks(InProcess(), (X[:1], X[1:]), np.array([0, 1, 2]))
    >>> kernels = ParameterGrid([LinearKernel()], [0, 1])
    >>> built = build_blocked(kernels, SampledRows(blocks, X))
    >>> built.stack.quadratic_forms(np.array([1.0, 1.0]))
    array([16.,  1.])
    """
    steps = check_steps(normalize)
    check_order(steps)
    _check_moments(steps)
    n_rows, n_sampled = rows.blocks.n_rows, rows.sample.shape[0]
    weights = np.ones(n_rows) if sample_weight is None else sample_weight
    search = Search(
        BlockedLandmarks(
            dictionary,
            rows.sample[np.argsort(row_keys(rows.sample), kind="stable")],
            np.arange(n_sampled),
            np.full(n_sampled, 1.0 / n_sampled),
            "cosine" in steps,
            LowRank() if options is None else options,
            blocks=rows.blocks,
            row_weights=tuple(rows.blocks.split(weights / weights.sum())),
        ),
        max_bytes,
    )
    search.begin()
    # In a list, out of which they are taken: else they would be held until the end.
    raw = [search.settle()]
    # One number a kernel is learnt of the rows, and none of these is looked at.
    learnt = empty_normalization(steps, len(dictionary), 0)
    return search.finish(raw, learnt)


def refine_blocked(
    stack: BlockedStack, v: Array, goals: Mapping[int, float], max_bytes: int | None
) -> BlockedStack:
    """Give some kernels more landmarks; scales stay as they are.

    Parameters
    ----------
    stack : BlockedStack
        From `build_blocked`.
    v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual point.
    goals : mapping of int to float
        The kernels, and what their bounds on ``v^T E_m v`` may be.
    max_bytes : int or None
        As in `build_blocked`.

    Returns
    -------
    finer : BlockedStack
        Kernels have half as many landmarks more at least, or `max_rank`; they may
        still be above their goals.
    """
    old = stack.landmarks
    assert old is not None
    assert old.blocks is not None
    sizes = np.abs(v) if v.ndim == 1 else np.linalg.norm(v, axis=1)
    search = Search(old, max_bytes, list(old.factors))
    kernels = sorted(goals)
    # What is left is looked at anew: blocks hold it normalised only.
    raw = old.blocks.made(raw_block, old.row_weights, plans=search.plans(kernels))
    joining = search.worst(raw, kernels, old.blocks.split(sizes**2))
    total = float(sizes.sum())
    # A sample stands for all rows: of these it is known what the mean root may be.
    search.join(
        joining,
        {m: float(np.sqrt(goals[m] / old.scales[m])) / total for m in kernels},
    )
    new = search.computed(kernels)
    ends = indices_of(stack.ranks)
    scalings = search.scalings(new, kernels, old)
    handles = stack.blocks.made(
        renewed,
        new.handles,
        scalings=scalings,
        parts=[slice(a, b) for a, b in pairwise(ends.tolist())],
    )
    return search.assembled(handles, scalings)[0]


def _check_moments(steps: Sequence[object]) -> None:
    """Raise where a step needs more of the rows than their mean."""
    for step in steps:
        if isinstance(step, Normalizer):
            raise ValueError(
                f"normalize={step!r} needs spectra, which are not computed for rows in "
                "blocks: take 'variance', 'trace', 'center' or 'cosine'."
            )
