"""Protocol of the losses that couple the decision values of all classes."""

from typing import Protocol, TypeGuard, runtime_checkable

from multikernel._typing import Array, Mask
from multikernel.losses.base import Loss


@runtime_checkable
class CoupledLoss(Loss, Protocol):
    r"""A convex loss of a row of decision values, whose conjugate lives on a simplex.

    Targets are the unit vectors of the classes, one-hot of shape (n_samples,
    n_classes). A slope u of the loss is :math:`p - e_y` with p in the simplex

    .. math:: \Delta = \{p \ge 0, \; \textstyle\sum_c p_c = 1\}.

    `value` and `conjugate` return one number for each row, of shape (n_samples,);
    `dual_bounds` are those of the box around the domain.
    """

    def project_rows(self, y: Array, u: Array) -> Array:
        """Return the nearest point of the domain to every row of u."""
        ...

    def support(self, y: Array, u: Array) -> Mask:
        """Return where p is positive, shape (n_samples, n_classes)."""
        ...

    def masses(self, y: Array) -> Array:
        """Return what p sums to in every row: ones, or the weights of samples."""
        ...

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
        ...

    def constant_model(
        self, y: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return what `best_intercept` does at zero, in closed form."""
        ...


@runtime_checkable
class SmoothCoupledLoss(CoupledLoss, Protocol):
    """A coupled loss whose conjugate is differentiable inside the simplex."""

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return decision values whose slope is u, up to a constant in every row."""
        ...


@runtime_checkable
class PolyhedralCoupledLoss(CoupledLoss, Protocol):
    """A coupled loss whose conjugate is linear on the simplex."""

    def corner_costs(self, y: Array) -> Array:
        """Return the conjugate at the corners, for each unit of p there."""
        ...


def is_coupled(loss: Loss) -> TypeGuard[CoupledLoss]:
    """Return whether a loss is a `CoupledLoss`.

    An `isinstance` of a protocol takes 20 times as long, and solvers ask often.
    """
    return hasattr(loss, "project_rows")
