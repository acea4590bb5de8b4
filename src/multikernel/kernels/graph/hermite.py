"""The grid of Hermite functions of a Gaussian kernel."""

from dataclasses import dataclass, field

from multikernel._typing import Array
from multikernel._validation import POSITIVE, Number, check_parameter
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.levels import (
    HermiteLevels,
    HermiteRest,
    Levels,
    known_by_landmarks,
)


@dataclass(frozen=True)
class HermiteGrid(DirectedGrid):
    r"""Hermite functions: the kernel :math:`e^{-b \|x - x'\|^2}`, and what they leave.

    The first levels of an input are one function each; the last is the rest of its
    Gaussian kernel, so that the sum over all levels is the kernel itself.

    Parameters
    ----------
    n_components : int, default=9
        Levels of an input, the rest included.
    sigma : float, default=1.0
        Standard deviation of the inputs.
    bandwidth : float, default=0.05
        The factor b.
    weight_base : float, default=0.5
        Factor of the weight of a node per level.
    root_weight : float, default=0.1
        Weight of the root.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels.graph import HermiteGrid
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> grid = HermiteGrid(5, bandwidth=0.3).bind(X)
    >>> full = grid.full_kernel()(X[:2])
    >>> bool(np.isclose(full[0, 1], np.exp(-0.3 * np.sum((X[0] - X[1]) ** 2))))
    True
    """

    n_components: int = 9
    sigma: float = 1.0
    bandwidth: float = 0.05
    weight_base: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = Number(2, 50, integer=True)
        check_parameter("HermiteGrid", "n_components", self.n_components, whole)
        check_parameter("HermiteGrid", "sigma", self.sigma, POSITIVE)
        check_parameter("HermiteGrid", "bandwidth", self.bandwidth, POSITIVE)

    def _levels(self, x: Array) -> Levels:
        rest = HermiteRest(self.n_components - 1, self.sigma, self.bandwidth)
        _, landmarks, mixing = known_by_landmarks(rest, x[:, None], scale=1.0)
        return HermiteLevels(
            self.n_components, self.sigma, self.bandwidth, landmarks, mixing
        )
