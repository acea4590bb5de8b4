"""Gram matrices as products of thin factors, all in one array."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.dense import DenseMatrix
from multikernel.linalg.shifted import solve_shifted
from multikernel.linalg.weighted import gathered


@dataclass(frozen=True, eq=False)
class LowRankMatrix:
    r"""One Gram matrix :math:`K = A \operatorname{diag}(w) B^\top`, never formed.

    Parameters
    ----------
    left : ndarray of shape (n_rows, rank)
        The factor A.
    right : ndarray of shape (n_cols, rank)
        The factor B; A itself on the training samples.
    weights : ndarray of shape (rank,)
        The weights w.
    """

    left: Array
    right: Array
    weights: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        return int(self.left.shape[0]), int(self.right.shape[0])

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""
        inner = (self.right.T @ v).T * self.weights
        return np.asarray(self.left @ inner.T)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        # The weights go to the few rows: SMO asks for eight columns at a time.
        return np.asarray(self.left @ (self.right[indices] * self.weights).T)

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        return np.asarray(np.einsum("ik,ik,k->i", self.left, self.right, self.weights))

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + diag(shift) + U U^T) x = rhs.

        By the Woodbury identity, O(n rank^2), where every shift and weight is
        positive and the rank is below n; by Cholesky's factorisation of the n x n
        matrix otherwise.

        Parameters
        ----------
        rhs : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Right-hand side.
        shift : ndarray of shape (n_samples,)
            Non-negative diagonal.
        low_rank : ndarray of shape (n_samples, rank), optional
            The factor U.

        Returns
        -------
        x : ndarray of the shape of `rhs`

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite.
        """
        n, rank = self.left.shape
        extra = np.zeros((n, 0)) if low_rank is None else low_rank
        thin = rank + extra.shape[1] < n
        if not (thin and np.all(shift > 0.0) and np.all(self.weights >= 0.0)):
            return solve_shifted(self.columns(np.arange(n)), rhs, shift, low_rank)
        # Scaled on both sides by shift^(-1/2): then it is I + V V^T.
        scale = 1.0 / np.sqrt(shift)
        factor = np.hstack([self.left * np.sqrt(self.weights), extra])
        factor *= scale[:, None]
        scaled = (rhs if rhs.ndim == 2 else rhs[:, None]) * scale[:, None]
        ones = np.ones(factor.shape[1])
        scaled -= factor @ solve_shifted(
            factor.T @ factor, factor.T @ scaled, ones, None
        )
        scaled *= scale[:, None]
        return np.asarray(scaled.reshape(rhs.shape))


@dataclass(frozen=True, eq=False)
class Residual:
    r"""What factors leave of the kernels they are made of, as far as it is known.

    The matrices :math:`E_m = K_m - Z_m Z_m^\top` are positive semidefinite, and of
    them the diagonals are known. So by the inequality of Cauchy and Schwarz

    .. math:: 0 \le \rho^\top E_m \rho
        \le \Bigl(\sum_i |\rho_i| \sqrt{(E_m)_{ii}}\Bigr)^2,

    with the lengths of the rows of :math:`\rho` where there are several outputs. The
    residual of a centred kernel is centred as well; what that adds is at most
    :math:`|\sum_i \rho_i|` times a weighted mean of the roots.

    Parameters
    ----------
    roots : ndarray of shape (n_kernels, n_samples)
        Roots of the diagonals, or upper bounds on them.
    means : ndarray of shape (n_kernels,)
        Weighted means of the roots where kernels were centred, and zero otherwise.
    """

    roots: Array
    means: Array

    def bounds(self, v: Array) -> Array:
        """Return upper bounds on v^T E_m v (summed over outputs), one per kernel."""
        total = v.sum(axis=0)
        sizes, drift = np.abs(v), abs(float(total)) if v.ndim == 1 else 0.0
        if v.ndim == 2:
            sizes, drift = np.linalg.norm(v, axis=1), float(np.linalg.norm(total))
        return np.asarray((self.roots @ sizes + drift * self.means) ** 2)

    def take(self, kernels: Indices) -> "Residual":
        """Return that of the chosen kernels."""
        return Residual(self.roots[kernels], self.means[kernels])

    def restrict(self, samples: Indices) -> "Residual":
        """Return that on the chosen samples."""
        return Residual(self.roots[:, samples], self.means)


class FullKernels(Protocol):
    """The kernels that factors are made of, whose forms can be computed as well."""

    def forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of some kernels, nan where that cannot be computed."""
        ...

    def columns(self, kernels: Indices, samples: Indices) -> Array:
        """Return columns of some kernels before they are centred, nan likewise."""
        ...

    def take(self, kernels: Indices) -> Self:
        """Return the chosen kernels."""
        ...

    def restrict(self, samples: Indices) -> Self | None:
        """Return them on the chosen samples, None where that cannot be done."""
        ...


@dataclass(frozen=True, eq=False)
class LowRankStack:
    r"""Kernels of low rank, :math:`K_m = A_m B_m^\top`, as factors side by side.

    A quadratic form costs O(n r) and memory is that of the factors. All products are
    those of the factors, exactly; where the kernels have a residual beside them, its
    diagonal is known, and with it upper bounds on the kernels' own quadratic forms
    (`residual_bounds`).

    Parameters
    ----------
    left : ndarray of shape (n_rows, total_rank)
        The factors A_1, ..., A_M next to each other; not copied and not changed.
    right : ndarray of shape (n_cols, total_rank)
        The factors B_m; the same array as `left` on the training samples.
    offsets : ndarray of shape (n_kernels + 1,)
        The columns of kernel m are ``offsets[m]`` to ``offsets[m + 1]``, at least one.
    residual : Residual, optional
        What the factors leave of the kernels; nothing when left out.
    full : FullKernels, optional
        These kernels, where their forms can be computed at the cost of n^2 values.

    Raises
    ------
    ValueError
        If the shapes do not fit together, or a kernel has no column.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import LowRankStack
    >>> Z = np.array([[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> stack = LowRankStack(Z, Z, np.array([0, 1, 3]))
    >>> stack.quadratic_forms(np.array([1.0, 1.0]))
    array([9., 2.])
    """

    left: Array
    right: Array
    offsets: Indices
    residual: Residual | None = None
    full: FullKernels | None = None

    def __post_init__(self) -> None:
        total = int(self.offsets[-1])
        if self.left.shape[1] != total or self.right.shape[1] != total:
            raise ValueError(
                f"The offsets end at {total}, but the factors have "
                f"{self.left.shape[1]} and {self.right.shape[1]} columns."
            )
        if self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 1):
            raise ValueError(
                "The offsets of a LowRankStack must start at 0 and rise: every kernel "
                "has at least one column, a zero kernel a column of zeros."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_rows, n_cols)."""
        return self.offsets.size - 1, self.left.shape[0], self.right.shape[0]

    @property
    def ranks(self) -> Indices:
        """Return the number of columns of every factor, shape (n_kernels,)."""
        return np.diff(self.offsets)

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        first = v.T @ self.left
        products = first * (first if self.right is self.left else v.T @ self.right)
        if products.ndim == 2:
            products = products.sum(axis=0)
        return self._sum_columns(products)

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_rows[, n_outputs])."""
        inner = self.right.T @ v
        images = np.empty((self.shape[0], self.shape[1], *v.shape[1:]))
        for m, part in enumerate(self._parts()):
            np.matmul(self.left[:, part], inner[part], out=images[m])
        return images

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, shape (n_kernels, n_rows[, n_outputs])."""
        images = np.empty((self.shape[0], self.shape[1], *coefs.shape[2:]))
        for m, part in enumerate(self._parts()):
            inner = self.right[:, part].T @ coefs[m]
            np.matmul(self.left[:, part], inner, out=images[m])
        return images

    def own_coordinates(self, m: int, coefs: Array) -> Array:
        """Return B_m^T coefs of one kernel, shape (rank, n_outputs)."""
        part = slice(self.offsets[m], self.offsets[m + 1])
        return np.asarray(self.right[:, part].T @ coefs)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix.

        Factors of as many columns as there are samples are multiplied out: one array
        is smaller than these, and SMO and solves read its rows in place.
        """
        chosen, columns = self._columns_of(np.flatnonzero(weights))
        repeated = np.repeat(weights[chosen], self.ranks[chosen])
        left = gathered(self.left, columns)
        right = left if self.right is self.left else gathered(self.right, columns)
        if columns.size >= self.shape[1] and right is left and np.all(repeated >= 0.0):
            scaled = left * np.sqrt(repeated)
            return DenseMatrix(np.ascontiguousarray(scaled @ scaled.T))
        return LowRankMatrix(left, right, repeated)

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_rows, n_indices)."""
        right = self.right[indices]
        chosen = np.empty((self.shape[0], self.shape[1], right.shape[0]))
        for m, part in enumerate(self._parts()):
            np.matmul(self.left[:, part], right[:, part].T, out=chosen[m])
        return chosen

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_rows)."""
        n_diagonal = min(self.shape[1:])
        left, right = self.left[:n_diagonal], self.right[:n_diagonal]
        if self.offsets[-1] == self.shape[0]:
            return np.asarray((left * right).T)
        diagonals = np.empty((self.shape[0], n_diagonal))
        for m, part in enumerate(self._parts()):
            np.einsum("ik,ik->i", left[:, part], right[:, part], out=diagonals[m])
        return diagonals

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, a view for a run of neighbors."""
        indices = np.arange(self.shape[0])[kernels]
        _, columns = self._columns_of(indices)
        left = gathered(self.left, columns)
        right = left if self.right is self.left else gathered(self.right, columns)
        offsets = np.concatenate([[0], np.cumsum(self.ranks[indices])])
        residual = None if self.residual is None else self.residual.take(indices)
        full = None if self.full is None else self.full.take(indices)
        return LowRankStack(left, right, offsets, residual, full)

    def restrict(self, rows: Indices, cols: Indices) -> GramStack:
        """Return the stack on the chosen samples; the factors' rows are copied."""
        left = _rows(self.left, rows)
        if not (self.right is self.left and np.array_equal(rows, cols)):
            return LowRankStack(left, _rows(self.right, cols), self.offsets)
        residual = None if self.residual is None else self.residual.restrict(rows)
        full = None if self.full is None else self.full.restrict(rows)
        return LowRankStack(left, left, self.offsets, residual, full)

    def _parts(self) -> list[slice]:
        """Return the columns of every kernel."""
        ends = self.offsets.tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    def _columns_of(self, kernels: Indices) -> tuple[Indices, Indices]:
        """Return the kernels and their columns, in order."""
        ranks = self.ranks[kernels]
        first = np.repeat(self.offsets[kernels] - np.cumsum(ranks) + ranks, ranks)
        return kernels, first + np.arange(first.size)

    def _sum_columns(self, values: Array) -> Array:
        """Sum one value per column over the columns of every kernel."""
        if values.size == self.shape[0]:
            return values
        return np.add.reduceat(values, self.offsets[:-1])


def _rows(factor: Array, chosen: Indices) -> Array:
    """Return some rows of a factor, in its own layout."""
    return factor.T[:, chosen].T if factor.flags.f_contiguous else factor[chosen]
