"""The polynomial grid."""

from dataclasses import dataclass

from multikernel._typing import Array
from multikernel._validation import Number, check_parameter
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.levels import Levels, PolynomialLevels


@dataclass(frozen=True)
class PolynomialGrid(DirectedGrid):
    r"""Monomials: the kernel :math:`\prod_i (1 + x_i x'_i)^q`, one node per monomial.

    Parameters
    ----------
    degree : int, default=4
        Largest power q of an input.
    weight_base : float, default=4.0
        Factor of the weight of a node per degree.
    root_weight : float, default=0.1
        Weight of the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> grid = PolynomialGrid(degree=4).bind(np.zeros((1, 32)))
    >>> grid.n_nodes == 5**32
    True
    >>> grid.name(((2, 2), (6, 1)))
    'x3^2 * x7'
    """

    degree: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter(
            "PolynomialGrid", "degree", self.degree, Number(1, 20, integer=True)
        )

    def _levels(self, x: Array) -> Levels:
        return PolynomialLevels(self.degree)

    def _style(self) -> str:
        return "{name}^{level}"
