"""Protocols of penalties, which are functions of the block norms."""

import math
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeGuard, runtime_checkable

import numpy as np

from multikernel._typing import Array


@runtime_checkable
class BlockRegularizer(Protocol):
    """A convex penalty Omega of the block norms (||f_1||, ..., ||f_M||).

    Arrays have shape (n_kernels,) and are nonnegative. Omega is nondecreasing and
    proportional to `alpha`.
    """

    @property
    def alpha(self) -> float:
        """Strength that multiplies the penalty."""

    def with_alpha(self, alpha: float) -> "BlockRegularizer":
        """Return the same penalty with another strength."""

    def value(self, norms: Array) -> float:
        """Return the penalty Omega(norms)."""

    def conjugate(self, dual_norms: Array, at: Array) -> float:
        """Return the conjugate Omega*(dual_norms), or an upper bound on it.

        The bound must be tight at the optimum. `dual_norms` are sqrt(a^T K_m a) for a
        dual point a; `at` are the block norms of the primal point, for conjugates
        without a closed form.
        """

    def feasible_scale(self, dual_norms: Array) -> float:
        """Return the largest s in (0, 1] with a finite conjugate at s * dual_norms."""


@runtime_checkable
class ProximableRegularizer(BlockRegularizer, Protocol):
    """A penalty with a separable proximal operator, which SpicyMKL requires.

    Methods are called for any number of kernels, also zero, so a penalty must treat all
    kernels alike. To multiply kernel m's norm by a weight w_m, scale its matrix by 1 /
    w_m^2 (`multikernel.gram.ScaledStack`).
    """

    @property
    def threshold(self) -> float:
        """Dual norm below which a block is zero; it scales with alpha."""

    def prox(self, norms: Array, step: float) -> Array:
        """Return argmin_t step * Omega(t) + (t - norms)^2 / 2."""

    def prox_derivative(self, norms: Array, step: float) -> Array:
        """Return the derivative of `prox` with respect to `norms`."""


@runtime_checkable
class VariationalRegularizer(BlockRegularizer, Protocol):
    r"""A penalty that is a minimum over kernel weights d.

    .. math:: \Omega(t) = \frac{\alpha}{2} \min_{d \in D} \sum_m t_m^2 / d_m

    t_m are the block norms; the penalty determines the set D of allowed weights.
    """

    def kernel_weights(self, norms: Array) -> Array:
        """Return the kernel weights d in D that minimize sum_m norms[m]^2 / d_m."""


def treats_kernels_alike(penalty: ProximableRegularizer) -> bool:
    """Return whether the penalty has no parameters that differ between kernels."""
    # A penalty without such parameters accepts any number of kernels, also zero.
    try:
        shapes = [np.shape(penalty.prox(np.ones(n), 1.0)) for n in (0, 1)]
        penalty.value(np.empty(0))
    except (ValueError, IndexError):  # the penalty contains arrays of another length
        return False
    return shapes == [(0,), (1,)]


def is_variational(penalty: BlockRegularizer) -> TypeGuard[VariationalRegularizer]:
    """Return whether a penalty is variational; faster than `isinstance`."""
    return hasattr(penalty, "kernel_weights")


@dataclass(frozen=True)
class Strength:
    """Base class of penalties with a positive, finite strength `alpha`."""

    alpha: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha > 0.0):
            raise ValueError(f"alpha must be positive and finite, got {self.alpha}.")

    def with_alpha(self, alpha: float) -> Self:
        """Return the same penalty with another strength."""
        return replace(self, alpha=alpha)


@dataclass(frozen=True)
class SharedStrength(Strength):
    """Base class of penalties of which a share, `l1_ratio` < 1, is a block l1 norm."""

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
        """Threshold alpha * l1_ratio: blocks with a smaller dual norm are zero."""
        return self.alpha * self.l1_ratio

    def feasible_scale(self, dual_norms: Array) -> float:
        """Return 1: the conjugate is finite everywhere."""
        return 1.0


def kernel_weights(regularizer: BlockRegularizer, norms: Array) -> Array:
    """Return the penalty's kernel weights, or norms / sum(norms) if it defines none."""
    if is_variational(regularizer):
        return regularizer.kernel_weights(norms)
    total = float(norms.sum())
    return norms / total if total > 0.0 else norms.copy()
