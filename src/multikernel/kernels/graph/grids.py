"""Grids of powers, Hermite functions, subsets and principal components."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel._validation import POSITIVE, Number, OneOf, check_parameter
from multikernel.kernels.base import check_kernel
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.levels import (
    FactorLevels,
    HermiteLevels,
    HermiteRest,
    Levels,
    PolynomialLevels,
    known_by_landmarks,
)


@dataclass(frozen=True)
class PolynomialGrid(DirectedGrid):
    r"""Monomials: the kernel :math:`\prod_i (1 + x_i x'_i)^q`, one node per monomial.

    Parameters
    ----------
    degree : int, default=4
        Largest power q of an input, 1 to 20.
    weight_base, root_weight : float, default=4.0, 0.1
        Factor of a node's weight per degree, and weight of the constant.
    extrapolation : {"constant", "continue"}, default="constant"
        Values of monomials outside the range of the training inputs. Continued powers
        of distant values can make predictions arbitrarily large.

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

    _style: ClassVar[str] = "{name}^{level}"

    degree: int = 4
    extrapolation: str = field(default="constant", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter(
            "PolynomialGrid", "degree", self.degree, Number(1, 20, integer=True)
        )
        ways = OneOf(("constant", "continue"))
        check_parameter("PolynomialGrid", "extrapolation", self.extrapolation, ways)

    def _levels(self, x: Array) -> Levels:
        """Return powers; "constant" clips new values to the range of x."""
        if self.extrapolation == "continue" or not x.size:
            return PolynomialLevels(self.degree)
        return PolynomialLevels(self.degree, float(x.min()), float(x.max()))


@dataclass(frozen=True)
class HermiteGrid(DirectedGrid):
    r"""Grid of Hermite functions of the kernel :math:`e^{-b \|x - x'\|^2}`.

    Each level of an input has one Hermite function, except for the last level. The last
    level is the remainder: the input's Gaussian kernel minus all its other levels.

    Parameters
    ----------
    n_components : int, default=9
        Number of levels of an input, including the remainder, 2 to 50.
    sigma : float, default=1.0
        Standard deviation of the inputs.
    bandwidth : float, default=0.05
        Factor b in the exponent of the kernel.
    weight_base, root_weight : float, default=0.5, 0.1
        Factor of a node's weight per level, and weight of the root.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels.graph import HermiteGrid
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> HermiteGrid(5, bandwidth=0.3).bind(X).name(((0, 2), (2, 4)))
    'x1[2] * x3[rest]'
    """

    n_components: int = 9
    sigma: float = 1.0
    bandwidth: float = 0.05
    weight_base: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = Number(2, 50, integer=True)
        check_parameter("HermiteGrid", "n_components", self.n_components, count)
        check_parameter("HermiteGrid", "sigma", self.sigma, POSITIVE)
        check_parameter("HermiteGrid", "bandwidth", self.bandwidth, POSITIVE)

    def _levels(self, x: Array) -> Levels:
        """Return Hermite functions, and a factor of the remainder by landmarks in x."""
        rest = HermiteRest(self.n_components - 1, self.sigma, self.bandwidth)
        _, landmarks, mixing = known_by_landmarks(rest, x[:, None], scale=1.0)
        return HermiteLevels(
            self.n_components, self.sigma, self.bandwidth, landmarks, mixing
        )


@dataclass(frozen=True)
class AnovaGrid(DirectedGrid):
    r"""All subsets of inputs: the kernel :math:`\prod_i (1 + k(x_i, x'_i))`.

    `kernel` is k, a kernel on one input; None means a Gaussian kernel of width one.
    """

    _style: ClassVar[str] = "{name}"

    kernel: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel is not None:
            check_kernel(self.kernel, "AnovaGrid: kernel")

    def _levels(self, x: Array) -> Levels:
        """Return two levels, a constant and a factor of the kernel on one input."""
        kernel = GaussianKernel(1.0) if self.kernel is None else self.kernel
        _, landmarks, mixing = known_by_landmarks(kernel, x[:, None])
        return FactorLevels(kernel, landmarks, mixing, (mixing.shape[1],), True)


@dataclass(frozen=True)
class EmpiricalGrid(DirectedGrid):
    """Grid of the kernel principal components of each input.

    Each input has `n_components` levels, 2 to 50. A level is one eigenvector of the
    input's kernel matrix on the samples, by decreasing eigenvalue. The last level is
    the remainder: all other eigenvectors. `kernel` is a kernel on one input; None means
    ``exp(-0.05 (x - x')^2)``. For Gaussian inputs, `HermiteGrid` has closed forms.
    """

    kernel: Any = None
    n_components: int = 9
    weight_base: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = Number(2, 50, integer=True)
        check_parameter("EmpiricalGrid", "n_components", self.n_components, count)
        if self.kernel is not None:
            check_kernel(self.kernel, "EmpiricalGrid: kernel")

    def _levels(self, x: Array) -> Levels:
        """Return the principal components of one input, as features of its kernel."""
        # With K = factor factor^T, column j of `features` is eigenvector j of K, times
        # the root of its eigenvalue. The first `single` columns are one level each, and
        # the `rest` of the columns are the last level.
        kernel = GaussianKernel(np.sqrt(10.0)) if self.kernel is None else self.kernel
        factor, landmarks, mixing = known_by_landmarks(kernel, x[:, None])
        sizes, directions = np.linalg.eigh(factor.T @ factor)
        order = np.argsort(-sizes, kind="stable")
        directions = directions[:, order]
        features = factor @ directions
        # A fixed sign makes fits reproducible.
        rows = np.abs(features).argmax(axis=0)
        directions = directions * np.sign(features[rows, np.arange(rows.size)])
        single = min(self.n_components - 1, max(1, order.size))
        rest = order.size - single
        blocks = (1,) * single + ((rest,) if rest > 0 else ())
        return FactorLevels(kernel, landmarks, mixing @ directions, blocks, False)
