"""Prior and posterior covariances of the terms of a model."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from multikernel._typing import Array
from multikernel.estimators.publish.predict import AdditiveModel
from multikernel.linalg import EPS
from multikernel.linalg.tables import row_chunks


@dataclass(frozen=True, eq=False)
class Covariance:
    """Prior covariance of the sum of some terms, in units of the noise variance."""

    model: AdditiveModel
    # Theta, (n_active,): the term of kernel k_m has the covariance theta_m k_m.
    weights: Array
    positions: list[int]  # the terms of the sum, among the active kernels

    def __call__(self, X: Array, Y: Array) -> Array:
        """Return covariances of rows of X with rows of Y, shape (len(X), len(Y))."""
        K = np.zeros((len(X), len(Y)))
        for position in self.positions:
            K += self.weights[position] * self.model.grams.between(X, Y, position)
        return K

    def diagonal(self, X: Array) -> Array:
        """Return the prior variance at every row of X, shape (len(X),)."""
        # `diag` of a kernel ignores the normalization, so compute blocks of matrices.
        blocks = [X[start : start + 32] for start in range(0, len(X), 32)]
        return np.concatenate([np.diag(self(rows, rows)) for rows in blocks])

    def mean_row(self, X: Array, Y: Array) -> Array:
        """Return the mean covariance of each row of Y with the rows of X, (len(Y),)."""
        chunks = row_chunks(len(X), len(Y))
        sums = [self(X[rows], Y).sum(axis=0) for rows in chunks]
        return np.asarray(np.sum(sums, axis=0) / len(X))


def factors_of(
    model: AdditiveModel, X: Array, theta: Array, weights: Array, columns: Array
) -> tuple[Array, Array]:
    """Return the Cholesky factor L of A, and an orthonormal basis of L^-1 `columns`."""
    # A is the covariance of the targets: the sum of theta_m K_m, with inverse sample
    # weights added to its diagonal. If `columns` are linearly dependent, the basis has
    # zero columns at the end. With L, rounding errors of posterior variances are
    # proportional to the prior variance, and not to the condition number of A.
    A = Covariance(model, theta, [*range(model.n_active)])(X, X)
    A[np.diag_indices_from(A)] += 1.0 / weights
    L = np.linalg.cholesky(A)
    whitened = solve_triangular(L, columns, lower=True)
    basis, sizes, _ = np.linalg.svd(whitened, full_matrices=False)
    rank = int(np.count_nonzero(sizes > len(X) * EPS * sizes.max(initial=0.0)))
    zeros = np.zeros((len(X), len(sizes) - rank))
    return np.asarray(L, np.float64), np.hstack([basis[:, :rank], zeros])


def residual_degrees(L: Array, basis: Array, weights: Array) -> float:
    """Return the number of samples minus the model's effective degrees of freedom."""
    # `L` and `basis` are the results of `factors_of`, `weights` the sample weights. The
    # residuals are W^-1 P y with P = L^-T (I - Q Q^T) L^-1, where Q is the basis and W
    # the diagonal matrix of the weights. The result is the trace of W^-1 P.
    roots = solve_triangular(L, np.diag(weights**-0.5), lower=True)
    return float(np.sum((roots - basis @ (basis.T @ roots)) ** 2))


def fitted_weights(
    model: AdditiveModel, X: Array, terms: Array, dual: Array
) -> tuple[Array, Array]:
    """Return theta_m >= 0 such that theta_m K_m `dual` fits term m best, and errors."""
    # Shapes are (n_outputs, n_active) and, for the fits' errors, (n_active,).
    # `terms` has shape (n_samples, n_outputs, n_active), `dual` (n_samples, n_outputs).
    errors, size = np.zeros(model.n_active), max(float(np.linalg.norm(terms)), EPS)
    theta = np.zeros(terms.shape[1:])
    for position in range(model.n_active):
        functions = model.grams.between(X, X, position) @ dual
        sizes = np.sum(functions**2, axis=0)
        products = np.sum(functions * terms[:, :, position], axis=0)
        # Least squares; negative solutions are clipped at zero below.
        np.divide(products, sizes, out=theta[:, position], where=sizes > 0.0)
        # Errors are relative to the norm of all terms.
        difference = terms[:, :, position] - theta[:, position] * functions
        errors[position] = np.linalg.norm(difference) / size
    return np.maximum(theta, 0.0), errors
