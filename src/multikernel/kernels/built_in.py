"""Test whether a kernel uses only formulas of this library."""

from multikernel.kernels.base import Kernel
from multikernel.kernels.given import FunctionKernel
from multikernel.kernels.grams import SampleKernel
from multikernel.kernels.sampled import FeatureKernel
from multikernel.kernels.sequence import StringKernel

FROM_USERS = (FunctionKernel, SampleKernel, StringKernel)
"""Kernel classes of this library whose values come from a user's data or code."""


def is_built_in(kernel: Kernel) -> bool:
    """Return whether a kernel uses only formulas of this library, not a user's."""
    # Callers rely on two properties of built-in kernels: they are positive
    # semidefinite, and kernel(X) equals kernel(X, X).
    kernel_class = type(kernel)
    is_ours = kernel_class.__module__.startswith("multikernel.kernels.")
    if not is_ours or kernel_class in FROM_USERS:
        return False
    if isinstance(kernel, FeatureKernel):
        return True  # inner products of features are positive semidefinite
    inner = [getattr(kernel, "kernel", None), *getattr(kernel, "kernels", ())]
    return all(is_built_in(k) for k in inner if k is not None)
