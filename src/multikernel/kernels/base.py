"""Protocols of the kernels layer: a kernel, and a finite ordered family of kernels."""

from typing import Protocol, runtime_checkable

from multikernel._typing import Array


@runtime_checkable
class Kernel(Protocol):
    """A base kernel; `sklearn.gaussian_process.kernels` objects already conform."""

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix of shape (n_samples_X, n_samples_Y)."""
        ...

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        ...


@runtime_checkable
class KernelDictionary(Protocol):
    """A finite, ordered, lazily built family of base kernels."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Kernel: ...


def kernel_name(kernel: Kernel) -> str:
    """Return the readable name of a kernel.

    Parameters
    ----------
    kernel : Kernel
        A kernel of this library, which has a ``name``, or any other kernel, whose
        ``repr`` is used.

    Returns
    -------
    name : str
        For example ``"gaussian(sigma=2)[worst radius]"``.
    """
    name = getattr(kernel, "name", None)
    return name if isinstance(name, str) else repr(kernel)
