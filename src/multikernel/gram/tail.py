"""Normalisation by the tail of the spectrum: local Rademacher complexity."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import check_shapes
from multikernel.gram.base import GramStack
from multikernel.gram.low_rank import LowRankMatrix
from multikernel.gram.normalization import Moments, ScaleStep, Step
from multikernel.gram.spectra import VANISHES, leading_spectrum, tail_sums


@dataclass(frozen=True)
class TailNormalizer:
    r"""Scale kernels so that their eigenvalues beyond the first theta sum to n.

    .. math:: K_m \leftarrow n K_m \Big/ \sum_{j > \theta} \lambda_j(K_m)

    That is the algorithm "conv" of Cortes, Kloft and Mohri [1]_, whose local Rademacher
    complexity depends on a kernel by its tail alone. ``theta=0`` is "trace". It goes
    where the name of a step goes, ``normalize=TailNormalizer(4)`` or
    ``normalize=["center", TailNormalizer(4)]``, with every estimator.

    A kernel of rank theta or less has no tail: 1e-6 of its trace stands for it, and a
    `DegenerateKernelWarning` names it.

    Parameters
    ----------
    theta : int, default=1
        How many leading eigenvalues are free, not negative.

    Raises
    ------
    ValueError
        If theta is no whole number of at least 0.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import TailNormalizer, build_stack
    >>> from multikernel.kernels import LinearKernel, ListDictionary
    >>> X = np.array([[3.0, 0.0], [0.0, 1.0]])
    >>> normalize = TailNormalizer(1)
    >>> built = build_stack(ListDictionary([LinearKernel()]), X, normalize=normalize)
    >>> built.stack.diagonals()
    array([[18.,  2.]])
    """

    theta: int = 1

    def __post_init__(self) -> None:
        whole = isinstance(self.theta, int | np.integer)
        if not whole or isinstance(self.theta, bool) or self.theta < 0:
            raise ValueError(
                f"theta must be a whole number of at least 0, got {self.theta!r}."
            )

    def empty(self, weights: Array, n_kernels: int) -> Step:
        """Return a step with room for what it will learn; see `Normalizer`."""
        short = np.zeros(n_kernels, dtype=bool)
        return TailStep(weights, np.zeros(n_kernels), int(self.theta), short)


@dataclass(frozen=True, eq=False)
class TailStep(ScaleStep):
    """A factor for every kernel, one over the tail of its spectrum.

    Parameters
    ----------
    weights : ndarray of shape (n_train,)
        Sample weights that sum to one.
    factors : ndarray of shape (n_kernels,)
        The factors; zero for a kernel that has no size.
    theta : int
        How many leading eigenvalues are free.
    short : ndarray of bool of shape (n_kernels,)
        Which kernels have rank theta or less.
    """

    theta: int
    short: NDArray[np.bool_]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shapes(
            "TailStep",
            factors=(self.factors, ("n_kernels",)),
            short=(self.short, ("n_kernels",)),
        )

    def learn(
        self, kernels: slice, stack: GramStack, forms: Array | None = None
    ) -> None:
        """Store the factors of some kernels; see `Step.learn`."""
        sums = tail_sums(stack, self.theta, self.weights)
        self.store(kernels, sums.bounded(self.theta))
        self.short[kernels] = sums.short

    def learn_moments(self, m: int, moments: Moments) -> None:
        """Store the factor of a kernel, and multiply; see `Step.learn_moments`."""
        factor = moments.rows.T
        ones = np.ones(factor.shape[1])
        pairs = leading_spectrum(LowRankMatrix(factor, ones), self.theta, self.weights)
        # What the factor leaves of the kernel has a trace, and that may all be tail.
        tail = moments.size - float(pairs.values.sum())
        least = VANISHES * moments.size
        self.store(slice(m, m + 1), np.array([max(tail, least)]))
        self.short[m] = tail <= least and moments.size > 0.0
        moments.multiply(float(self.factors[m]))

    def take(self, kernels: Indices) -> Self:
        """Return the step of the chosen kernels."""
        return replace(self, factors=self.factors[kernels], short=self.short[kernels])
