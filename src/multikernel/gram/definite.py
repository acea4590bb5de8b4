"""Prove that a sum of kernels is positive semidefinite."""

import numpy as np
from scipy.linalg.lapack import dpotrf

from multikernel.gram.checks import ROUNDING
from multikernel.gram.device.stack import DeviceMatrix
from multikernel.gram.matrix import GramMatrix
from multikernel.linalg import TINY
from multikernel.linalg.threads import with_one_blas_thread


def is_proven(K: GramMatrix) -> bool:
    r"""Return whether a Cholesky factorization proves a matrix positive semidefinite.

    Eigenvalues down to -`ROUNDING` times the trace are accepted; a matrix that is not
    stored whole cannot be proven. Weak duality requires a positive semidefinite
    :math:`K_\theta = \sum_m \theta_m K_m` at the compared weights, not each
    :math:`K_m`.
    """
    if isinstance(K, DeviceMatrix):
        trace = float(np.abs(K.diagonal()).sum())
        return K.root(np.full(K.shape[0], max(ROUNDING * trace, TINY))) is not None
    if K.array is None:
        return False
    shifted = K.array.copy()
    allowed = ROUNDING * float(np.abs(K.diagonal()).sum())
    shifted.reshape(-1)[:: K.shape[0] + 1] += allowed

    def factorize() -> int:
        return int(dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)[1])

    return with_one_blas_thread(factorize) == 0
