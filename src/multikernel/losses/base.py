"""Protocols of the losses: what every loss has, and what some have."""

from typing import ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np

from multikernel._typing import Array, Mask


@runtime_checkable
class Loss(Protocol):
    r"""A convex pointwise loss l(y, f) and its conjugate.

    .. math:: \ell^*(y, u) = \sup_f f u - \ell(y, f)

    Everything about the conjugate is stated in terms of u, a slope of the loss; the
    dual variable of a problem is rho = -u. Every method takes and returns arrays of
    shape (n_samples,) or (n_samples, n_outputs). Classification targets are -1.0 and
    +1.0. A loss keeps nothing of single samples, as solvers ask for some of them alone:
    their weights are given by `multikernel.losses.weighted`, and targets that are more
    than a number are positions in a table, see `multikernel.losses.LogLogisticLoss`.
    """

    def value(self, y: Array, f: Array) -> Array:
        """Return the losses l(y, f)."""

    def gradient(self, y: Array, f: Array) -> Array:
        """Return a (sub)gradient of l(y, .) at f."""

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return l*(y, u), infinity outside `dual_bounds`."""

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return (lower, upper), the per-sample domain of l*(y, .); it contains 0."""


class NamedLoss(Loss, Protocol):
    """A loss that estimators know by a name.

    If one of its arguments is a length in units of y, ``length`` is the name of this
    argument, which the ``epsilon`` of an estimator sets, and ``standard_length`` its
    default for targets with a deviation of one.
    """

    tasks: ClassVar[tuple[str, ...]]
    """What the loss is for: "classification", "regression" or both."""


@runtime_checkable
class SmoothConjugateLoss(Loss, Protocol):
    """A loss whose conjugate is twice differentiable inside its domain."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the derivative of l*(y, .) at u."""

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return the second derivative of l*(y, .) at u, positive."""


@runtime_checkable
class PolyhedralLoss(Loss, Protocol):
    r"""A piecewise linear loss, whose conjugate is a linear program in boxes.

    .. math::
        \ell^*(y, u) = \min_p \Bigl\{ \sum_j c_j p_j :
        \sum_j s_j p_j = u, \; 0 \le p_j \le u_j \Bigr\}
    """

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return signs s (+-1), costs c and sizes u, each (n_pieces, ...)."""


def is_shift_equivariant(loss: Loss) -> bool:
    """Return whether a loss says that it is a loss of y - f alone.

    Then l(y, f) = l(y - c, f - c), and its conjugate at y - c is less by u c. A class
    says so by ``shift_equivariant = True`` in its own body: a subclass may be any other
    loss, so that it does not inherit this.
    """
    inner = getattr(loss, "loss", loss)
    return bool(vars(type(inner)).get("shift_equivariant", False))


FARTHEST = 700.0
"""Means are predicted up to exp(700): every one of them is positive and finite."""


def link_of(loss: Loss) -> str | None:
    """Return the link that a loss declares, None where decision values predict.

    A class says so by ``link = "log"`` in its own body: its predictions are
    exponentials of the decision values, which have no unit.
    """
    inner = getattr(loss, "loss", loss)
    link: str | None = vars(type(inner)).get("link")
    return link


def means_of(link: str, f: Array) -> Array:
    """Return what decision values of a regression predict, by a link of `link_of`."""
    return np.exp(np.clip(f, -FARTHEST, FARTHEST)) if link == "log" else f


def is_smooth(loss: Loss) -> TypeGuard[SmoothConjugateLoss]:
    """Return whether a loss is a `SmoothConjugateLoss`; see `is_polyhedral`."""
    return hasattr(loss, "conjugate_hessian")


def degree(loss: Loss) -> int | None:
    """Return the degree that a loss declares, None where it does not.

    A loss of degree k is c^k times as large where targets and values are c times as
    large, and so is a length among its parameters, such as a tube: 2 for squares, 1 for
    absolute errors. A class says so by ``degree = 2`` in its own body: a subclass may
    be any other loss, so that it does not inherit this.
    """
    inner = getattr(loss, "loss", loss)
    declared: int | None = vars(type(inner)).get("degree")
    return declared


def is_polyhedral(loss: Loss) -> TypeGuard[PolyhedralLoss]:
    """Return whether a loss is a `PolyhedralLoss`.

    An `isinstance` of a protocol takes 20 times as long, and solvers ask often.
    """
    return hasattr(loss, "dual_pieces")


@runtime_checkable
class CoupledLoss(Loss, Protocol):
    r"""A convex loss of a row of decision values, whose conjugate lives on a simplex.

    Targets are the unit vectors of the classes, one-hot of shape (n_samples,
    n_classes). A slope u of the loss is :math:`p - e_y` with p in the simplex

    .. math:: \Delta = \{p \ge 0, \; \textstyle\sum_c p_c = 1\}.

    `value` and `conjugate` return one number for each row, of shape (n_samples,);
    `dual_bounds` are a box around the domain.
    """

    def project_rows(self, y: Array, u: Array) -> Array:
        """Return the nearest point of the domain to every row of u."""

    def support(self, y: Array, u: Array) -> Mask:
        """Return where p is positive, shape (n_samples, n_classes)."""

    def masses(self, y: Array) -> Array:
        """Return what p sums to in every row: ones, or the weights of samples."""

    def best_intercept(
        self, y: Array, f: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the best constant to add to each class, and a dual point there.

        Parameters
        ----------
        y, f : ndarray of shape (n_samples, n_classes)
            Targets, and decision values without intercept.
        weights : ndarray of shape (n_samples,), optional
            Of the samples; ones by default.

        Returns
        -------
        b : ndarray of shape (n_classes,)
            Of mean zero, as a constant for all classes changes nothing.
        dual : ndarray of shape (n_samples, n_classes)
            Minus a slope of the weighted loss at f + b, but for a small part of the
            loss; every class sums to zero but for rounding.
        """

    def constant_model(
        self, y: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return what `best_intercept` does at zero, in closed form."""


@runtime_checkable
class SmoothCoupledLoss(CoupledLoss, Protocol):
    """A coupled loss whose conjugate is differentiable inside the simplex."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return decision values whose slope is u, up to a constant in every row."""


@runtime_checkable
class PolyhedralCoupledLoss(CoupledLoss, Protocol):
    """A coupled loss whose conjugate is linear on the simplex."""

    def corner_costs(self, y: Array) -> Array:
        """Return the conjugate at the corners, for each unit of p there."""


def is_coupled(loss: Loss) -> TypeGuard[CoupledLoss]:
    """Return whether a loss is a `CoupledLoss`.

    An `isinstance` of a protocol takes 20 times as long, and solvers ask often.
    """
    return hasattr(loss, "project_rows")
