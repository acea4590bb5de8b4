"""Protocols of the regularisers: functions of the block norms, and of nothing else."""

import math
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeGuard, runtime_checkable

import numpy as np

from multikernel._typing import Array


@runtime_checkable
class BlockRegularizer(Protocol):
    """A convex Omega of the block norms (||f_1||, ..., ||f_M||).

    Arrays have shape (n_kernels,) and are non-negative.
    """

    @property
    def alpha(self) -> float:
        """Return the strength that multiplies the penalty."""

    def with_alpha(self, alpha: float) -> "BlockRegularizer":
        """Return the same penalty with another strength."""

    def value(self, norms: Array) -> float:
        """Return Omega(norms)."""

    def conjugate(self, dual_norms: Array, at: Array) -> float:
        """Return Omega*(dual_norms), or an upper bound tight at the optimum.

        Parameters
        ----------
        dual_norms : ndarray of shape (n_kernels,)
            sqrt(a^T K_m a) for a dual point a.
        at : ndarray of shape (n_kernels,)
            Block norms of the current primal point, for regularisers whose
            conjugate has no closed form.
        """

    def feasible_scale(self, dual_norms: Array) -> float:
        """Return s in (0, 1] such that s * dual_norms is dual feasible."""


@runtime_checkable
class ProximableRegularizer(BlockRegularizer, Protocol):
    """Adds the separable prox of the norms, on which SpicyMKL is built.

    It asks about the kernels of a working set, in any number and none at first: arrays
    of all methods have as many entries as that, so all kernels are treated alike. A
    weight w_m of a kernel is the scale 1 / w_m^2 of its matrix, see `ScaledStack`.
    """

    @property
    def threshold(self) -> float:
        """Return the dual norm up to which a block stays at zero, a share of alpha."""

    def prox(self, norms: Array, step: float) -> Array:
        """Return argmin_t step * Omega(t) + (t - norms)^2 / 2."""

    def prox_derivative(self, norms: Array, step: float) -> Array:
        """Return the derivative of `prox` with respect to `norms`."""


@runtime_checkable
class VariationalRegularizer(BlockRegularizer, Protocol):
    r"""Adds :math:`\Omega = \frac{\alpha}{2} \min_{d \in D} \sum_m t_m^2 / d_m`."""

    def kernel_weights(self, norms: Array) -> Array:
        """Return the minimising d, shape (n_kernels,)."""


def is_proximable(penalty: BlockRegularizer) -> TypeGuard[ProximableRegularizer]:
    """Return whether a penalty is a `ProximableRegularizer`.

    An `isinstance` of a protocol takes 20 times as long, and solvers ask often.
    """
    return hasattr(penalty, "prox_derivative")


def treats_kernels_alike(penalty: ProximableRegularizer) -> bool:
    """Return whether a penalty takes norms of working sets, here of one and of none."""
    try:
        shapes = [np.shape(penalty.prox(np.ones(n), 1.0)) for n in (0, 1)]
        penalty.value(np.empty(0))
    except (ValueError, IndexError):  # arrays of its own have another length
        return False
    return shapes == [(0,), (1,)]


def is_variational(penalty: BlockRegularizer) -> TypeGuard[VariationalRegularizer]:
    """Return whether a penalty is a `VariationalRegularizer`; see above."""
    return hasattr(penalty, "kernel_weights")


@dataclass(frozen=True)
class Strength:
    """What every penalty of this library has: a positive factor.

    Parameters
    ----------
    alpha : float
        The factor.

    Raises
    ------
    ValueError
        If it is not positive and finite.
    """

    alpha: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha > 0.0):
            raise ValueError(f"alpha must be positive and finite, got {self.alpha}.")

    def with_alpha(self, alpha: float) -> Self:
        """Return the same penalty with another strength."""
        return replace(self, alpha=alpha)


@dataclass(frozen=True)
class SharedStrength(Strength):
    """The strength of a block l1 norm beside a squared norm.

    Parameters
    ----------
    alpha : float
        The strength of both.
    l1_ratio : float, default=0.5
        The share of the block l1 norm, at least 0 and below 1.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.l1_ratio < 1.0:
            raise ValueError(
                f"l1_ratio must be at least 0 and below 1, got {self.l1_ratio}; for "
                "the block l1-norm only, use BlockL1."
            )

    @property
    def threshold(self) -> float:
        """Return alpha r: blocks with a smaller dual norm are zero."""
        return self.alpha * self.l1_ratio

    def feasible_scale(self, dual_norms: Array) -> float:
        """Return 1: the conjugate is finite everywhere."""
        return 1.0


def kernel_weights(regularizer: BlockRegularizer, norms: Array) -> Array:
    """Return weights in closed form of the norms: shares where no other is known."""
    if is_variational(regularizer):
        return regularizer.kernel_weights(norms)
    total = float(norms.sum())
    return norms / total if total > 0.0 else norms.copy()
