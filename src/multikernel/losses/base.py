"""Protocols of losses."""

from typing import Any, ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.linalg import EPS


@runtime_checkable
class Loss(Protocol):
    r"""A convex pointwise loss l(y, f) and its conjugate.

    .. math:: \ell^*(y, u) = \sup_f f u - \ell(y, f)

    The argument u of the conjugate is a gradient of the loss; the dual variable of a
    problem is rho = -u. All arrays have shape (n_samples,) or (n_samples, n_outputs).
    Classification targets are -1.0 and +1.0. The loss of a sample must not depend on
    other samples, because solvers evaluate subsets: use `multikernel.losses.weighted`
    for sample weights. If a target is not a single number, y contains row numbers of a
    table stored in the loss, as in `multikernel.losses.LogLogisticLoss`.
    """

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss l(y, f) of each sample."""

    def gradient(self, y: Array, f: Array) -> Array:
        """Return a (sub)gradient of l(y, .) at f."""

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the conjugate l*(y, u), infinity outside `dual_bounds`."""

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the ends lower <= 0 <= upper of each sample's conjugate domain."""


class NamedLoss(Loss, Protocol):
    """A loss that estimators accept by name; `tasks` are the tasks that it supports.

    If the loss has a parameter in units of y, the attribute ``length`` is the
    parameter's name. Estimators set the parameter to the standard deviation of y times
    their own parameter `epsilon`, by default the loss's ``standard_length``.
    """

    tasks: ClassVar[tuple[str, ...]]
    """Tasks of the loss: "classification", "regression" or both."""


@runtime_checkable
class SmoothConjugateLoss(Loss, Protocol):
    """A loss whose conjugate is twice differentiable inside its domain."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the derivative of l*(y, .) at u."""

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the second derivative of l*(y, .) at u, positive."""


@runtime_checkable
class PolyhedralLoss(Loss, Protocol):
    r"""A piecewise linear loss, whose conjugate is a linear program with bounds.

    .. math::

        \ell^*(y, u) = \min_p \Bigl\{ \sum_j c_j p_j :
        \sum_j s_j p_j = u, \; 0 \le p_j \le b_j \Bigr\}

    `dual_pieces` returns the signs s_j, costs c_j and bounds b_j of all pieces j.
    """

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return signs s (+-1), costs c and bounds b, each ``(n_pieces, *y.shape)``."""


class LogScaleLoss(Loss, Protocol):
    """A loss whose decision values are on the scale of the targets' logarithms."""

    def best_constant(self, y: Array, f: Array, weights: Array) -> float:
        """Return the constant b that minimizes sum(weights * losses at f + b)."""


def has_log_scale(loss: Loss) -> TypeGuard[LogScaleLoss]:
    """Return whether a loss is a `LogScaleLoss`."""
    return hasattr(loss, "best_constant")


def log_rounding(f: Array) -> Array:
    """Return a bound on the rounding error of f - log(y) if f and log(y) are equal."""
    # Losses with a log link treat a difference within this bound as zero. Otherwise,
    # the loss of an exact fit would be a sum of rounding errors, and a gap relative to
    # this sum could not be reduced.
    return np.asarray(4.0 * EPS * (1.0 + np.abs(f)))


def log_difference(f: Array, log_y: Array) -> Array:
    """Return f - log_y, but zero where |f - log_y| is at most `log_rounding`."""
    difference = f - log_y
    return np.where(np.abs(difference) <= log_rounding(f), 0.0, difference)


def _declared(loss: Loss, name: str) -> Any:
    """Return a declaration such as ``degree = 2`` in a loss's class; None if absent."""
    # Declarations are in the class's own body, and are not inherited by subclasses. A
    # weighted loss, or one with an offset, has the declarations of the loss inside.
    inner = getattr(loss, "loss", loss)
    return vars(type(inner)).get(name)


def is_shift_equivariant(loss: Loss) -> bool:
    """Return whether a loss declares that it depends on y - f only."""
    return bool(_declared(loss, "shift_equivariant"))


LARGEST_LOG = 700.0
"""Largest logarithm of a predicted mean, so that all means are finite and positive."""


def link_of(loss: Loss) -> str | None:
    """Return the link function that a loss declares, or None for the identity."""
    # With ``link = "log"``, predictions are exponentials of decision values.
    link: str | None = _declared(loss, "link")
    return link


def predicted_means(link: str, f: Array) -> Array:
    """Return the predictions of a regression from decision values and a link."""
    return np.exp(np.clip(f, -LARGEST_LOG, LARGEST_LOG)) if link == "log" else f


def is_smooth(loss: Loss) -> TypeGuard[SmoothConjugateLoss]:
    """Return whether a loss is a `SmoothConjugateLoss`; faster than `isinstance`."""
    return hasattr(loss, "conjugate_hessian")


def degree(loss: Loss) -> int | None:
    """Return the degree of homogeneity that a loss declares, or None."""
    # A loss of degree k is multiplied by c^k if targets, decision values and parameters
    # in units of y are multiplied by c: 2 for squares, 1 for absolute errors.
    declared: int | None = _declared(loss, "degree")
    return declared


def is_polyhedral(loss: Loss) -> TypeGuard[PolyhedralLoss]:
    """Return whether a loss is a `PolyhedralLoss`; faster than `isinstance`."""
    return hasattr(loss, "dual_pieces")


@runtime_checkable
class CoupledLoss(Loss, Protocol):
    """A convex loss of a row of decision values; its conjugate is finite on a simplex.

    Targets y are one-hot, (n_samples, n_classes). Gradients are u = p - y with class
    shares p >= 0 that sum to one in each row (to the sample weight if the loss is
    weighted). `value` and `conjugate` return shape (n_samples,); `dual_bounds` returns
    a box around the domain. The best constants have mean zero.
    """

    def project_rows(self, y: Array, u: Array) -> Array:
        """Return the nearest point of the conjugate's domain to every row of u."""

    def support(self, y: Array, u: Array) -> Mask:
        """Return a mask of positive class shares p = y + u, (n_samples, n_classes)."""

    def masses(self, y: Array) -> Array:
        """Return the sum of each row's class shares: ones, or the sample weights."""

    def best_intercept(
        self, y: Array, f: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return each class's best constant b, (n_classes,), and a dual point.

        The dual point, (n_samples, n_classes), is about minus the gradient of the
        weighted loss at f + b. Its columns sum to zero up to rounding.
        """

    def constant_model(
        self, y: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the result of `best_intercept` for f = 0, in closed form."""


@runtime_checkable
class SmoothCoupledLoss(CoupledLoss, Protocol):
    """A coupled loss whose conjugate is differentiable inside the simplex."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return decision values with the gradient u, up to a constant in every row."""


@runtime_checkable
class PolyhedralCoupledLoss(CoupledLoss, Protocol):
    """A coupled loss whose conjugate is linear on the simplex."""

    def corner_costs(self, y: Array) -> Array:
        """Return the conjugate at each class's vertex, in y's shape, for weight 1."""


def is_coupled(loss: Loss) -> TypeGuard[CoupledLoss]:
    """Return whether a loss is a `CoupledLoss`; 20 times faster than `isinstance`."""
    return hasattr(loss, "project_rows")
