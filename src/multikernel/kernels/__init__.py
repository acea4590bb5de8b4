"""Kernels, and ordered families of them."""

from multikernel.kernels.base import Kernel, KernelDictionary, kernel_name
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.dictionary import (
    ListDictionary,
    ParameterGrid,
    kernel_names,
    resolve_columns,
)
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.linear import LinearKernel
from multikernel.kernels.polynomial import PolynomialKernel

__all__ = [
    "ColumnKernel",
    "GaussianKernel",
    "Kernel",
    "KernelDictionary",
    "LinearKernel",
    "ListDictionary",
    "ParameterGrid",
    "PolynomialKernel",
    "kernel_name",
    "kernel_names",
    "resolve_columns",
]
