r"""The norm of HKL on an active set, and its smoothing.

.. math::
    \Omega_\epsilon(\beta) = \sum_v d_v s_v, \qquad
    s_v = \sqrt{\|\beta_{D(v)}\|^2 + \epsilon_v^2}
"""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.solvers.hkl.active import ActiveSet


@dataclass(frozen=True, eq=False)
class SmoothedNorm:
    """The norm at a point, its gradient, and the certificate's split.

    Parameters
    ----------
    active : ActiveSet
        The nodes.
    smoothing : ndarray of shape (n_nodes,)
        The numbers epsilon_v.
    beta : ndarray of shape (n_columns,)
        The point.
    squares : ndarray of shape (n_nodes,)
        ||beta_{D(v)}||^2.
    smooth : ndarray of shape (n_nodes,)
        s_v.
    """

    active: ActiveSet
    smoothing: Array
    beta: Array
    squares: Array
    smooth: Array

    @property
    def value(self) -> float:
        """Return the smoothed norm."""
        return float(self.active.weights @ self.smooth)

    @property
    def exact(self) -> float:
        """Return the norm itself."""
        return float(self.active.weights @ np.sqrt(self.squares))

    @property
    def rates(self) -> Array:
        """Return the sums of d_v / s_v over the ancestors of every node."""
        return self.active.relation.T @ (self.active.weights / self.smooth)

    def curvature(self, *, above: bool = False) -> Array:
        """Return the Hessian of half the squared norm, (n_columns, n_columns).

        With `above` it is that of the quadratic function that touches from above.
        """
        active, omega = self.active, self.value
        rates = self.rates[active.owner]
        slope = rates * self.beta
        hessian = np.outer(slope, slope)
        hessian[np.diag_indices_from(hessian)] += omega * rates
        if above:
            return hessian
        # The cube of a small s_v would underflow.
        root = np.sqrt(omega * active.weights / self.smooth) / self.smooth
        spread = (root[:, None] * active.relation)[:, active.owner] * self.beta
        hessian -= spread.T @ spread
        return hessian

    def dual_bound(self, products: Array, slack: Array) -> float:
        r"""Return an upper bound on the squared dual norm on the active set.

        The split :math:`\xi^v = \Omega d_v \beta_{D(v)} / s_v` of the correlations,
        with what is missing added to each node's own coordinate, is feasible: so the
        dual norm is at most the largest :math:`\|\xi^v\| / d_v`.

        Parameters
        ----------
        products : ndarray of shape (n_columns,)
            Features times the dual vector.
        slack : ndarray of shape (n_nodes,)
            Bounds on the norm of what features leave out of a node's kernel.

        Returns
        -------
        bound : float
        """
        active, omega = self.active, self.value
        missing = products - omega * self.rates[active.owner] * self.beta
        own = omega * active.weights / self.smooth
        m = len(active)
        crossed = np.bincount(active.owner, missing * self.beta, minlength=m)
        errors = np.bincount(active.owner, missing * missing, minlength=m)
        split = own**2 * self.squares + 2.0 * own * crossed + errors + slack**2
        return float(np.max(split / active.weights**2, initial=0.0))


def smoothed_norm(active: ActiveSet, beta: Array, smoothing: Array) -> SmoothedNorm:
    """Return the smoothed norm at a point.

    Parameters
    ----------
    active : ActiveSet
        The nodes.
    beta : ndarray of shape (n_columns,)
        The point.
    smoothing : ndarray of shape (n_nodes,)
        The numbers epsilon_v.

    Returns
    -------
    norm : SmoothedNorm
    """
    squares = squared_norms(active, beta)
    return SmoothedNorm(
        active, smoothing, beta, squares, np.sqrt(squares + smoothing**2)
    )


def squared_norms(active: ActiveSet, beta: Array) -> Array:
    """Return ||beta_{D(v)}||^2 of every node.

    Parameters
    ----------
    active : ActiveSet
        The nodes.
    beta : ndarray of shape (n_columns,)
        The point.

    Returns
    -------
    squares : ndarray of shape (n_nodes,)
    """
    own = np.bincount(active.owner, beta * beta, minlength=len(active))
    return np.asarray(active.relation @ own)
