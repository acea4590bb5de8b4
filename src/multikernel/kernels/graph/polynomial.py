"""The polynomial grid."""

from dataclasses import dataclass, field

from multikernel._typing import Array
from multikernel._validation import Number, OneOf, check_parameter
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
    extrapolation : {"continue", "constant"}, default="continue"
        What holds for inputs beyond those that the grid was bound to: the monomials
        go on, or stay as they are at the smallest and largest value of every input.
        Powers of a value that lies far out make a prediction of any size.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> grid = PolynomialGrid(degree=4).bind(np.zeros((1, 32)))
    >>> grid.n_nodes == 5**32
    True
    >>> grid.name(((2, 2), (6, 1)))
    'x3^2 * x7'

    Beyond the values that were seen the monomials may stay as they are:

    >>> seen = np.array([[-1.0], [2.0]])
    >>> grid = PolynomialGrid(2, extrapolation="constant").bind(seen)
    >>> grid.features(((0, 2),), np.array([[2.0], [100.0]])).ravel().tolist()
    [4.0, 4.0]
    """

    degree: int = 4
    extrapolation: str = field(default="continue", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter(
            "PolynomialGrid", "degree", self.degree, Number(1, 20, integer=True)
        )
        ways = OneOf(("continue", "constant"))
        check_parameter("PolynomialGrid", "extrapolation", self.extrapolation, ways)

    def _levels(self, x: Array) -> Levels:
        if self.extrapolation == "continue" or not x.size:
            return PolynomialLevels(self.degree)
        return PolynomialLevels(self.degree, float(x.min()), float(x.max()))

    def _style(self) -> str:
        return "{name}^{level}"
