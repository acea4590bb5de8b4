"""Kernels of this library, recognized by exact type."""

from multikernel.kernels.base import Kernel
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.expected import ExpectedKernel
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.polynomial import LinearKernel, PolynomialKernel
from multikernel.kernels.products import CenteredKernel, ProductKernel
from multikernel.kernels.sampled import NystroemKernel, RandomFourierFeatures
from multikernel.kernels.sequence import (
    MotifKernel,
    ProfileKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
    WindowKernel,
)
from multikernel.kernels.sparse import SparseKernel
from multikernel.kernels.tanimoto import TanimotoKernel
from multikernel.kernels.views import OptionalKernel

NUMBERS = (
    CategoryKernel,
    GaussianKernel,
    LinearKernel,
    NystroemKernel,
    PolynomialKernel,
    RandomFourierFeatures,
    TanimotoKernel,
)
SEQUENCES = (MotifKernel, ProfileKernel, SpectrumKernel, WeightedDegreeKernel)
PARTS = (
    CenteredKernel,
    ColumnKernel,
    ExpectedKernel,
    OptionalKernel,
    SparseKernel,
    WindowKernel,
)


def is_built_in(kernel: Kernel) -> bool:
    """Return whether a kernel is a formula of this library, on any columns.

    Such kernels are positive semidefinite, and ``kernel(X)`` equals ``kernel(X, X)``.

    >>> from multikernel.kernels import LinearKernel
    >>> is_built_in(ColumnKernel(LinearKernel(), 0))
    True
    """
    if type(kernel) is ProductKernel:
        return all(map(is_built_in, kernel.kernels))
    while isinstance(kernel, PARTS):
        if type(kernel) not in PARTS:
            return False
        kernel = kernel.kernel
    return type(kernel) in (*NUMBERS, *SEQUENCES)
