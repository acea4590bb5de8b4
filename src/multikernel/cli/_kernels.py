"""The dictionaries of kernels that the command line offers."""

from collections.abc import Callable, Mapping
from typing import Any

from multikernel.cli._tables import Table
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid

WIDTHS = (0.5, 1.0, 2.0, 5.0)
"""Widths for standardized columns, from wiggly to nearly linear."""


def _gaussians_per_column(n_features: int) -> ParameterGrid:
    return ParameterGrid([GaussianKernel(s) for s in WIDTHS], range(n_features))


def _gaussians_on_all(n_features: int) -> ParameterGrid:
    return ParameterGrid([GaussianKernel(s) for s in WIDTHS], [slice(None)])


def _linear_per_column(n_features: int) -> ParameterGrid:
    return ParameterGrid([LinearKernel()], range(n_features))


# None is the estimators' own default, whose widths the data decide.
KERNELS: Mapping[str, Callable[[int], Any] | None] = {
    "default": None,
    "columns": _gaussians_per_column,
    "joint": _gaussians_on_all,
    "linear": _linear_per_column,
}


def find_kernels(name: str, table: Table) -> Any:
    """Return the ``kernels`` parameter for a choice on the command line.

    Parameters
    ----------
    name : str
        The choice; of no effect where the data are Gram matrices.
    table : Table
        The training data.

    Returns
    -------
    kernels : KernelDictionary, "precomputed" or None

    Raises
    ------
    ValueError
        If there is no such choice.
    """
    if name not in KERNELS:
        raise ValueError(
            f"--kernels must be one of {', '.join(KERNELS)}, got {name!r}."
        )
    if table.precomputed:
        return "precomputed"
    build = KERNELS[name]
    return None if build is None else build(table.X.shape[1])
