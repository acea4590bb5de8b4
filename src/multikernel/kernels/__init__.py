"""Kernels, and ordered families of them."""

from multikernel.kernels.base import Kernel, KernelDictionary, kernel_name
from multikernel.kernels.builders import per_column, per_group, spicy_dictionary
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.dictionary import (
    ListDictionary,
    ParameterGrid,
    kernel_names,
    resolve_columns,
)
from multikernel.kernels.function import FunctionKernel
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.linear import LinearKernel
from multikernel.kernels.median import median_dictionary, median_distance
from multikernel.kernels.optional import OptionalKernel
from multikernel.kernels.polynomial import PolynomialKernel
from multikernel.kernels.precomputed import PrecomputedKernel
from multikernel.kernels.random_subsets import (
    RandomSubsetGaussians,
    random_subset_gaussians,
)
from multikernel.kernels.sampled import NystroemKernel, RandomFourierFeatures
from multikernel.kernels.views import Views

__all__ = [
    "CategoryKernel",
    "ColumnKernel",
    "FunctionKernel",
    "GaussianKernel",
    "Kernel",
    "KernelDictionary",
    "LinearKernel",
    "ListDictionary",
    "NystroemKernel",
    "OptionalKernel",
    "ParameterGrid",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RandomFourierFeatures",
    "RandomSubsetGaussians",
    "Views",
    "kernel_name",
    "kernel_names",
    "median_dictionary",
    "median_distance",
    "per_column",
    "per_group",
    "random_subset_gaussians",
    "resolve_columns",
    "spicy_dictionary",
]
