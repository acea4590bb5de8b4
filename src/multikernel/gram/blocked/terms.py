"""What is asked of kernels in blocks of rows by functions of any stack."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.gram.blocked.factors import FactorBlock
from multikernel.gram.blocked.stack import BlockedStack
from multikernel.gram.expansions import expansion_length, own_expansions, padded
from multikernel.gram.factors import tall_form
from multikernel.gram.products import (
    combined_rows,
    held_numbers,
    images_of_sparse,
    residual_bounds,
    term_products,
    traces,
)
from multikernel.linalg.tall import TallMatrix


@dataclass(frozen=True, eq=False)
class BlockedTerms:
    """What images of kernels' own vectors say, by their coordinates: `TermProducts`.

    Parameters
    ----------
    stack : BlockedStack
        The kernels.
    coordinates : ndarray of shape (total_rank[, n_outputs])
        Z_m^T c_m, one after another.
    given : bool
        Whether these are what the vectors are given by. Then norms are theirs to the
        last digit, whatever the kernels: as if kernels had a trace of one.
    """

    stack: BlockedStack
    coordinates: Array
    given: bool

    def _split(self) -> list[Array]:
        return np.split(self.coordinates, self.stack.places[1:-1])

    @property
    def forms(self) -> Array:
        """Return the squared lengths of the coordinates."""
        return np.array([np.vdot(u, u) for u in self._split()])

    @property
    def lengths(self) -> Array:
        """Return the squared lengths of the images, or of the coordinates if given."""
        if self.given:
            return self.forms
        pairs = zip(self._split(), self.stack.own_products, strict=True)
        return np.array([np.vdot(u, G @ u) for u, G in pairs])

    @property
    def traces(self) -> Array:
        """Return the traces of the kernels."""
        return np.ones(self.stack.shape[0]) if self.given else traces(self.stack)

    def sums(self, used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sums over the kernels in use, both in one round trip."""
        stack = self.stack
        each = np.repeat(used, stack.ranks)
        both = stack.blocks.joined(
            FactorBlock.sums,
            u=self.coordinates[each],
            units=units[used],
            columns=stack.columns_of_all[each],
            parts=[stack.parts[m] for m in np.flatnonzero(used)],
        )
        total = both[:, :-1]
        return (total[:, 0] if self.coordinates.ndim == 1 else total), both[:, -1]


@traces.register
def _(stack: BlockedStack) -> Array:
    return stack.traces[stack.kernels]


@held_numbers.register
def _(stack: BlockedStack) -> Array:
    return np.asarray(float(stack.shape[1]) * stack.ranks)


@residual_bounds.register
def _(stack: BlockedStack, v: Array) -> Array:
    if stack.means is None:
        return np.zeros(stack.shape[0])
    return np.array(stack.forms_and_bounds(v)[1])


@term_products.register
def _(stack: BlockedStack, kernels: Indices | None, coefs: Array) -> BlockedTerms:
    chosen = stack if kernels is None else stack.take(kernels)
    given = coefs.shape[1] != stack.shape[1]
    return BlockedTerms(chosen, chosen.coordinates(coefs), given)


@expansion_length.register
def _(stack: BlockedStack) -> int:
    return stack.length


@own_expansions.register
def _(stack: BlockedStack, coefs: Array) -> Array:
    return padded(stack.coordinates(coefs), stack.ranks, stack.length)


@images_of_sparse.register
def _(stack: BlockedStack, support: Indices, values: Array) -> Array:
    v = np.zeros((stack.shape[1], *values.shape[1:]))
    v[support] = values
    return stack.matvec(v)


@combined_rows.register
def _(stack: BlockedStack, weights: Array, rows: Indices) -> Array:
    return stack.combine(weights).columns(rows).T


@tall_form.register
def _(stack: BlockedStack) -> tuple[TallMatrix, Indices]:
    return stack.factors, stack.places
