"""Kernels, and ordered families of them."""

from multikernel.kernels.base import Kernel, KernelDictionary, kernel_name
from multikernel.kernels.builders import (
    RandomSubsetGaussians,
    per_column,
    per_group,
    random_subset_gaussians,
    spicy_dictionary,
)
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.dictionary import (
    ListDictionary,
    ParameterGrid,
    kernel_names,
    resolve_columns,
)
from multikernel.kernels.expected import ExpectedKernel
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.given import FunctionKernel, PrecomputedKernel
from multikernel.kernels.grams import Grams
from multikernel.kernels.interactions import Interactions
from multikernel.kernels.median import median_dictionary, median_distance
from multikernel.kernels.polynomial import LinearKernel, PolynomialKernel
from multikernel.kernels.products import CenteredKernel, ProductKernel
from multikernel.kernels.sampled import NystroemKernel, RandomFourierFeatures
from multikernel.kernels.views import OptionalKernel, Unpenalized, Views

__all__ = [
    "CategoryKernel",
    "CenteredKernel",
    "ColumnKernel",
    "ExpectedKernel",
    "FunctionKernel",
    "GaussianKernel",
    "Grams",
    "Interactions",
    "Kernel",
    "KernelDictionary",
    "LinearKernel",
    "ListDictionary",
    "NystroemKernel",
    "OptionalKernel",
    "ParameterGrid",
    "PolynomialKernel",
    "PrecomputedKernel",
    "ProductKernel",
    "RandomFourierFeatures",
    "RandomSubsetGaussians",
    "Unpenalized",
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
