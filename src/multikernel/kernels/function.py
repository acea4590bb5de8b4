"""Plain functions as kernels, and those of `sklearn.metrics.pairwise` by name."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.base import DIAGONAL_ROWS, Kernel, KernelDictionary


def pairwise_functions() -> Mapping[str, Callable[..., Array]]:
    """Return the kernel functions of scikit-learn by name."""
    from sklearn.metrics.pairwise import kernel_metrics

    found: Mapping[str, Callable[..., Array]] = kernel_metrics()
    return found


@dataclass(frozen=True)
class FunctionKernel:
    """A function of two sets of rows as a kernel.

    Parameters
    ----------
    function : callable or str
        Called as ``function(X, Y, **parameters)`` with arrays of shapes (n_samples_X,
        n_features) and (n_samples_Y, n_features), it returns values of shape
        (n_samples_X, n_samples_Y); or the name of such a function among
        `sklearn.metrics.pairwise.kernel_metrics`, for example "laplacian". A model
        file holds a name as it is, and a function of yours by its place in a module,
        which whoever loads the file must trust.
    parameters : mapping, default={}
        Further arguments.

    Raises
    ------
    ValueError
        If there is no function of that name.
    TypeError
        If `function` cannot be called.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import FunctionKernel
    >>> kernel = FunctionKernel("laplacian", {"gamma": 0.5})
    >>> kernel.name
    'laplacian(gamma=0.5)'
    >>> kernel(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    function: Callable[..., Array] | str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.function, str):
            names = list(pairwise_functions())
            if self.function not in names:
                near = difflib.get_close_matches(self.function, names, n=1) or names
                raise ValueError(
                    f"There is no kernel {self.function!r} in sklearn.metrics.pairwise:"
                    f" there are {', '.join(near)}."
                )
        elif not callable(self.function):
            raise TypeError(f"A FunctionKernel takes a function, got {self.function!r}")

    @property
    def name(self) -> str:
        """Return the name of the function with its parameters."""
        named = getattr(self.function, "__name__", None)
        name = self.function if isinstance(self.function, str) else named
        given = ", ".join(
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value!r}"
            for key, value in self.parameters.items()
        )
        return f"{name or repr(self.function)}({given})"

    @cached_property
    def _function(self) -> Callable[..., Array]:
        if isinstance(self.function, str):
            return pairwise_functions()[self.function]
        return self.function

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the values, shape (n_samples_X, n_samples_Y)."""
        return self._function(X, X if Y is None else Y, **self.parameters)

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        starts = range(0, X.shape[0], DIAGONAL_ROWS)
        parts = [np.diagonal(self(X[i : i + DIAGONAL_ROWS])) for i in starts]
        return np.concatenate([np.empty(0), *parts])

    def __getstate__(self) -> dict[str, object]:
        """Return what a model file holds: not what is found by its name."""
        return {k: v for k, v in vars(self).items() if k != "_function"}


def as_kernels(given: Any) -> list[Kernel]:
    """Return kernels as a list: one kernel, or several, nested as they may be.

    A name or a function without ``diag`` becomes a `FunctionKernel`; a name that is
    none of a kernel is refused. What is no kernel stays as it is: `ListDictionary` says
    so.
    """
    if isinstance(given, str):
        return [FunctionKernel(given)]
    if hasattr(given, "diag") or isinstance(given, type | Mapping | np.ndarray):
        return [given]
    if isinstance(given, Sequence | KernelDictionary):
        items = (given[place] for place in range(len(given)))
        return [kernel for item in items for kernel in as_kernels(item)]
    return [FunctionKernel(given)] if callable(given) else [given]
