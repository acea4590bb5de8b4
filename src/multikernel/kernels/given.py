"""Kernels from functions and names."""

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.base import Kernel, KernelDictionary, diagonal_in_blocks
from multikernel.kernels.polynomial import TanimotoKernel

BY_NAME: Mapping[str, type[Kernel]] = {"tanimoto": TanimotoKernel}
"""Kernels of this library with a string name, besides the kernels of scikit-learn."""


def pairwise_functions() -> Mapping[str, Callable[..., Array]]:
    """Return the kernel functions of scikit-learn by name."""
    from sklearn.metrics.pairwise import kernel_metrics

    functions: Mapping[str, Callable[..., Array]] = kernel_metrics()
    return functions


def _unknown_name(name: str) -> str:
    """Return the error message for a kernel name that does not exist."""
    names = [*BY_NAME, *pairwise_functions()]
    codes = {
        kernel_class.lower().removesuffix("kernel"): kernel_class
        for kernel_class in importlib.import_module("multikernel.kernels").__all__
        if kernel_class.endswith("Kernel") and kernel_class != "Kernel"
    }
    codes["gaussian"] = "GaussianKernel('median')"
    suggestions = codes | {known: repr(known) for known in (*names, "precomputed")}
    stem = name.lower().replace("kernel", "").strip("_")
    similar = difflib.get_close_matches(stem, suggestions, n=1)
    question = f" Did you mean {suggestions[similar[0]]}?" if similar else ""
    example = codes.get(similar[0] if similar else "gaussian", codes["gaussian"])
    return (
        f"There is no kernel {name!r}.{question} Kernels with a name are "
        f"{', '.join(names)}. Pass other kernels of this library as objects, such as "
        f"{example} of multikernel.kernels."
    )


@dataclass(frozen=True)
class FunctionKernel:
    """A kernel from a function of two arrays.

    `function` is called as ``function(X, Y, **parameters)`` and returns values of shape
    (n_samples_X, n_samples_Y), or is a name of
    `sklearn.metrics.pairwise.kernel_metrics`, such as "laplacian". Model files store a
    function by its import path, which must be trusted when loading.
    """

    function: Callable[..., Array] | str
    parameters: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.function, str):
            if self.function not in pairwise_functions():
                raise ValueError(_unknown_name(self.function))
        elif not callable(self.function):
            raise TypeError(
                "FunctionKernel: function must be callable, or the name of a kernel of "
                f"scikit-learn such as 'laplacian', got {self.function!r}."
            )

    @property
    def name(self) -> str:
        """Return the name of the function with its parameters."""
        function_name = getattr(self.function, "__name__", None)
        name = self.function if isinstance(self.function, str) else function_name
        parameters = ", ".join(
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value!r}"
            for key, value in self.parameters.items()
        )
        return f"{name or repr(self.function)}({parameters})"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the values, shape (n_samples_X, n_samples_Y)."""
        function = self.function
        if isinstance(function, str):
            function = pairwise_functions()[function]
        return function(X, X if Y is None else Y, **self.parameters)

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        return diagonal_in_blocks(self, X)


def as_kernels(spec: Any) -> list[Kernel]:
    """Return kernels as a flat list, with names and functions converted to kernels."""
    if isinstance(spec, str):
        return [BY_NAME[spec]() if spec in BY_NAME else FunctionKernel(spec)]
    if hasattr(spec, "diag") or isinstance(spec, type | Mapping | np.ndarray):
        return [spec]
    if isinstance(spec, Sequence | KernelDictionary):
        members = (spec[i] for i in range(len(spec)))
        return [kernel for member in members for kernel in as_kernels(member)]
    # Other objects are returned unchecked; `ListDictionary` raises for them.
    return [FunctionKernel(spec)] if callable(spec) else [spec]
