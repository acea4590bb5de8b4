"""Decompositions of a one-dimensional kernel into levels with features."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import binom

from multikernel._typing import Array
from multikernel._validation import Number, check_parameter, check_shapes
from multikernel.kernels.base import Kernel
from multikernel.linalg.landmarks import landmark_factor

DEGREE = Number(0, 1000, integer=True)
"""Degrees whose binomial coefficients do not overflow."""


class Levels(Protocol):
    """A decomposition of a one-dimensional kernel into levels 0, ..., q."""

    # The kernel of level l is z_l(x)^T z_l(x') with the features z_l: one for powers
    # and Hermite functions, several for remainders and users' kernels.

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of features of each level, from level 0."""

    def columns(self, x: Array) -> Array:
        """Return the features of all levels, shape (n_samples, sum(sizes))."""


@dataclass(frozen=True)
class PolynomialLevels:
    """Powers of an input, whose kernels sum to (1 + x x')^degree."""

    degree: int
    lowest: float = -np.inf  # inputs are clipped to [lowest, highest]
    highest: float = np.inf

    def __post_init__(self) -> None:
        check_parameter("PolynomialLevels", "degree", self.degree, DEGREE)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return 1 for every level, because each level is one power."""
        return (1,) * (self.degree + 1)

    def columns(self, x: Array) -> Array:
        """Return the powers x^j, times the square root of binom(degree, j)."""
        factors = np.sqrt(binom(self.degree, np.arange(self.degree + 1)))
        inside = np.clip(x, self.lowest, self.highest)
        powers: Array = np.vander(inside, self.degree + 1, increasing=True) * factors
        return powers


@dataclass(frozen=True)
class HermiteLevels:
    """Levels of a Gaussian kernel: its first Hermite functions, and the remainder."""

    n_components: int  # number of levels; the last is the remainder
    sigma: float  # standard deviation of the input
    bandwidth: float  # factor b of the kernel exp(-b (x - x')^2)
    landmarks: Array  # (n_landmarks, 1)
    # The features of the remainder at x are HermiteRest(...)(x, landmarks) @ mixing.
    mixing: Array

    def __post_init__(self) -> None:
        landmarks = (self.landmarks, ("n_landmarks", 1))
        mixing = (self.mixing, ("n_landmarks", "n_columns"))
        check_shapes("HermiteLevels", landmarks=landmarks, mixing=mixing)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of features of each level: 1, except for the last level."""
        return (1,) * (self.n_components - 1) + (self.mixing.shape[1],)

    def columns(self, x: Array) -> Array:
        """Return the Hermite functions at `x`, then the features of the remainder."""
        n_levels = self.n_components - 1
        functions = hermite_functions(x, n_levels, self.sigma, self.bandwidth)
        rest = HermiteRest(n_levels, self.sigma, self.bandwidth)
        return np.hstack([functions, rest(x[:, None], self.landmarks) @ self.mixing])


@dataclass(frozen=True)
class HermiteRest:
    """The remainder of a Gaussian kernel after its first Hermite functions."""

    n_functions: int
    sigma: float
    bandwidth: float

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gaussian kernel matrix minus that of the Hermite functions."""
        other = X if Y is None else Y
        gaussian = np.exp(-self.bandwidth * (X[:, :1] - other[:, :1].T) ** 2)
        parts = [
            hermite_functions(z[:, 0], self.n_functions, self.sigma, self.bandwidth)
            for z in (X, other)
        ]
        return np.asarray(gaussian - parts[0] @ parts[1].T)

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples,)."""
        functions = hermite_functions(
            X[:, 0], self.n_functions, self.sigma, self.bandwidth
        )
        return np.asarray(1.0 - np.einsum("ij,ij->i", functions, functions))


def hermite_functions(x: Array, number: int, sigma: float, b: float) -> Array:
    """Return the first Hermite functions of exp(-b (x - x')^2), (n_samples, number)."""
    # They are the eigenfunctions of the kernel for normally distributed x with standard
    # deviation `sigma`, by decreasing eigenvalue, times the roots of the eigenvalues.
    # With c = sqrt(a^2 + 2ab), A = a + b + c and Hermite polynomials H_j, the kernel is
    # sum_j (b/A)^j / (2^j j!) sqrt(1 - b^2/A^2) psi_j(x) psi_j(x'),
    # psi_j(x) = exp(-(b/A) (a + c) x^2) H_j(sqrt(2c) x).
    a = 0.25 / sigma**2
    c = np.sqrt(a * a + 2.0 * a * b)
    total = a + b + c
    ratio = b / total
    u = np.sqrt(2.0 * c) * x
    functions = np.empty((x.shape[0], number))
    # The recurrence is for H_j / sqrt(2^j j!) times (b/A)^(j/2), without overflow.
    functions[:, 0] = (1.0 - ratio**2) ** 0.25 * np.exp(-ratio * (a + c) * x * x)
    if number > 1:
        functions[:, 1] = np.sqrt(2.0 * ratio) * u * functions[:, 0]
    for j in range(1, number - 1):
        functions[:, j + 1] = (
            np.sqrt(2.0 * ratio / (j + 1)) * u * functions[:, j]
            - ratio * np.sqrt(j / (j + 1)) * functions[:, j - 1]
        )
    return functions


@dataclass(frozen=True, eq=False)
class FactorLevels:
    """Levels whose features are linear combinations of kernel values at landmarks."""

    kernel: Kernel  # accepts arrays of shape (n, 1)
    landmarks: Array
    mixing: Array  # kernel(x, landmarks) @ mixing are the features
    blocks: tuple[int, ...]  # numbers of features of the levels
    constant: bool  # whether a level of ones comes first

    def __post_init__(self) -> None:
        landmarks = (self.landmarks, ("n_landmarks", 1))
        mixing = (self.mixing, ("n_landmarks", sum(self.blocks)))
        check_shapes("FactorLevels", landmarks=landmarks, mixing=mixing)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of features of each level."""
        return (1, *self.blocks) if self.constant else self.blocks

    def columns(self, x: Array) -> Array:
        """Return the features of all levels, shape (n_samples, sum(sizes))."""
        values = np.asarray(self.kernel(x[:, None], self.landmarks)) @ self.mixing
        if not self.constant:
            return np.asarray(values)
        return np.hstack([np.ones((x.shape[0], 1)), values])


TOLERANCE = 1e-12
"""Share of a kernel's largest value that a factor may omit: rounding error."""


def known_by_landmarks(
    kernel: Any, X: Array, scale: float | None = None
) -> tuple[Array, Array, Array]:
    """Return F with F F^T = k(X, X), landmarks L, and M with k(X, L) M = F."""
    diagonal = np.asarray(kernel.diag(X))
    # The tolerance is relative to `scale`, by default the largest diagonal entry.
    largest = float(diagonal.max()) if scale is None else scale
    factor, pivots = landmark_factor(
        lambda pivot: np.asarray(kernel(X, X[[pivot]]))[:, 0],
        diagonal,
        TOLERANCE * largest,
    )
    # The factor's rows at the landmarks are the Cholesky factor of k(L, L).
    mixing = np.linalg.inv(factor[pivots]).T if pivots.size else np.zeros((0, 0))
    return factor, X[pivots], mixing
