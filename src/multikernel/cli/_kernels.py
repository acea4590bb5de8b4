"""The dictionaries of kernels that the command line offers."""

from collections.abc import Mapping, Sequence
from typing import Any

from multikernel.cli._console import check_choice
from multikernel.cli._sequences import SPECTRA, SequenceChoice
from multikernel.cli._tables import Table
from multikernel.cli._views import view_kernels
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Kernel,
    LinearKernel,
    ParameterGrid,
)
from multikernel.kernels.graph import (
    AnovaGrid,
    HermiteGrid,
    KernelGraph,
    PolynomialGrid,
)

# For standardized columns, from wiggly to nearly linear.
GAUSSIANS = tuple(GaussianKernel(width) for width in (0.5, 1.0, 2.0, 5.0))
# Where the default dictionary has no place, beside columns of text.
WIDTHS = tuple(GaussianKernel.grid(3, 0.5, 2.0))
# Kernels, and whether each column gets its own; None is the estimators' own choice.
KERNELS: Mapping[str, tuple[Sequence[Kernel], bool] | None] = {
    "default": None,
    "columns": (GAUSSIANS, True),
    "joint": (GAUSSIANS, False),
    "linear": ((LinearKernel(),), True),
}
# For methods that select among the nodes of a graph.
GRAPHS: Mapping[str, KernelGraph | None] = {
    "default": None,
    "polynomial": PolynomialGrid(4),
    "hermite": HermiteGrid(9),
    "subsets": AnovaGrid(),
}


def find_kernels(
    name: str,
    table: Table,
    sequences: SequenceChoice = SPECTRA,
    *,
    graphs: bool = False,
) -> Any:
    """Return the ``kernels`` parameter for a choice on the command line.

    Parameters
    ----------
    name : str
        The choice; of no effect where the data are Gram matrices.
    table : Table
        The training data.
    sequences : SequenceChoice
        The choice for columns of sequences, spectra by default.
    graphs : bool, default=False
        Whether the method takes a graph of kernels.

    Returns
    -------
    kernels : KernelDictionary, KernelGraph, mapping, "precomputed" or None

    Raises
    ------
    ValueError
        If there is no such choice.
    """
    check_choice("--kernels", name, GRAPHS if graphs else KERNELS)
    if table.precomputed:
        return "precomputed"
    if graphs:
        if table.views or table.categories:
            raise ValueError("--view and --category are not for --method hkl.")
        return GRAPHS[name]
    chosen = KERNELS[name]
    if table.views:
        if table.sequences:
            raise ValueError("--view takes no columns of --sequence.")
        return view_kernels(table.views, table.categories, chosen)
    if table.sequences or table.categories:
        found = sequences.find(table.X, table.sequences)
        found += [ColumnKernel(CategoryKernel(), c) for c in table.categories]
        numbers = table.numbers
        if numbers:
            kernels, per_column = chosen or ((LinearKernel(), *WIDTHS), False)
            sets: list[Any] = numbers if per_column else [numbers]
            found += [ColumnKernel(kernel, s) for s in sets for kernel in kernels]
        return found
    if chosen is None:
        return None
    kernels, per_column = chosen
    columns = range(table.X.shape[1]) if per_column else [slice(None)]
    return ParameterGrid(kernels, columns)
