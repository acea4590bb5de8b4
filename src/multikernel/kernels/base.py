"""Protocols of kernels and dictionaries of kernels, and functions on both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone

from multikernel._typing import Array
from multikernel._validation import listed, shown


@runtime_checkable
class Kernel(Protocol):
    """A positive semidefinite kernel: a callable with a method `diag`.

    Kernels of `sklearn.gaussian_process.kernels` qualify. k(x, y) must not depend on
    other rows of X and Y, because kernels are evaluated on blocks of rows. An optional
    attribute ``name`` is used in tables and plots.
    """

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, (n_samples_X, n_samples_Y); Y defaults to X."""

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row of X, shape (n_samples_X,)."""


@runtime_checkable
class KernelDictionary(Protocol):
    """A finite sequence of kernels; a kernel may be built only when it is accessed."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Kernel: ...


def kernel_name(kernel: Kernel) -> str:
    """Return the readable name of a kernel: its ``name``, or else its ``repr``."""
    name = getattr(kernel, "name", None)
    return name if isinstance(name, str) else repr(kernel)


class AroundKernel:
    """Base class of kernels that have the name of their field `kernel`."""

    kernel: Kernel

    @property
    def name(self) -> str:
        """Return the name of the kernel."""
        return kernel_name(self.kernel)


def kernel_diagonal(kernel: Kernel, X: Array) -> Array:
    """Return k(x, x) for every row, shape (n_samples,)."""
    # A subclass may redefine `__call__` but inherit a `diag` that is wrong for it.
    for ancestor in type(kernel).__mro__:
        if "diag" in vars(ancestor):
            break
        if "__call__" in vars(ancestor):
            return diagonal_in_blocks(kernel, X)
    return kernel.diag(X)


def diagonal_in_blocks(kernel: Kernel, X: Array) -> Array:
    """Return k(x, x) for every row, (n_samples,), from Gram matrices of row blocks."""
    size = 16
    starts = range(0, X.shape[0], size)
    parts = [np.diagonal(kernel(X[i : i + size])) for i in starts]
    return np.concatenate([np.empty(0), *parts])


def check_dictionary(owner: str, dictionary: object) -> None:
    """Raise unless an object is a nonempty sequence whose first item is a kernel."""
    # Other items are not checked, because dictionaries may create kernels when read.
    kernels = kernel_sequence(owner, dictionary)
    if len(kernels) == 0:
        raise ValueError(
            f"{owner}: dictionary must contain at least one kernel, got none."
        )
    check_kernel(kernels[0], f"{owner}: kernel 0 of the dictionary")


def kernel_sequence(owner: str, dictionary: object) -> KernelDictionary:
    """Return `dictionary`; raise unless it is a sequence (items are not checked)."""
    if not isinstance(dictionary, KernelDictionary) or isinstance(
        dictionary, Mapping | np.ndarray
    ):
        raise TypeError(
            f"{owner}: dictionary must be a sequence of kernels, such as a "
            f"ListDictionary, got {type(dictionary).__name__}."
        )
    return dictionary


def check_kernel(kernel: object, subject: str) -> None:
    """Raise TypeError unless an object is a kernel; `subject` begins the message."""
    if isinstance(kernel, type):
        raise TypeError(
            f"{subject} is the class {kernel.__name__}: pass an object, "
            f"{kernel.__name__}(...) with its parameters."
        )
    if isinstance(kernel, np.ndarray):
        raise TypeError(
            f"{subject} is an array of shape {kernel.shape}: pass a Gram matrix K as "
            "{'name': Grams(K, column)}, with the column of X that names the samples, "
            "or pass stack_grams([K, ...]) as X, with kernels='precomputed'."
        )
    # Equivalent to isinstance with the protocol, but faster.
    if not (callable(kernel) and callable(getattr(kernel, "diag", None))):
        raise TypeError(
            f"{subject} must be callable as kernel(X, Y) and have a method diag(X), "
            f"got {kernel!r}: pass a kernel object, such as LinearKernel()."
        )


def checked_values(
    compute: Callable[[], Array],
    shape: tuple[int, ...],
    owner: "str | Kernel",
    template: str = "{}",
) -> Array:
    """Return compute() as float64; raise unless it is real, finite and of `shape`."""

    # Messages begin with `template`, whose {} is replaced by the name of the kernel.
    # `owner` is the kernel or its name.
    def name() -> str:
        return template.format(owner if isinstance(owner, str) else kernel_name(owner))

    # NumPy's overflow warnings are ignored, because the checks below raise errors.
    with np.errstate(over="ignore", invalid="ignore"):
        returned = compute()
        if np.iscomplexobj(returned):
            raise ValueError(
                f"{name()} returned complex values: a kernel must return real numbers."
            )
        if np.ma.is_masked(returned) or hasattr(returned, "toarray"):
            what = "sparse" if hasattr(returned, "toarray") else "masked"
            raise ValueError(
                f"{name()} returned a {what} array: a kernel must return a dense "
                "array without a mask."
            )
        try:
            values = np.asarray(returned, dtype=np.float64, order="C")
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name()} returned {shown(returned)}: a kernel must return an array "
                "of numbers."
            ) from error
        total = values.sum()
    if values.shape != shape:
        hint = " Pass the kernels of a CompoundKernel one by one." * (values.ndim == 3)
        raise ValueError(
            f"{name()} returned an array of shape {values.shape}, expected "
            f"{shape}.{hint}"
        )
    if not np.isfinite(total):
        raise ValueError(
            f"{name()} has values that are not finite: scale the features, or choose "
            "other parameters."
        )
    return values


# A model with a single Gaussian kernel whose `off_diagonal_ratio` is smaller is hardly
# more accurate than predicting the most frequent class (``benchmarks/defaults``,
# "Kernels that memorize").
MEMORIZES = 0.25
"""Smallest `off_diagonal_ratio` of a kernel that does not only memorize samples."""


def off_diagonal_ratio(variances: Array, spreads: Array, n_samples: int) -> Array:
    """Return ratios that are small for kernels that only memorize, (n_kernels,).

    The ratios are sqrt(n_samples) times `spreads` over `variances`, and infinity for
    constant kernels. `variances` are means of the diagonals minus means of the
    off-diagonal entries, and `spreads` standard deviations of the off-diagonal entries,
    both (n_kernels,). Scaling a kernel, or adding a constant to it, does not change its
    ratio.
    """
    # sqrt(n) std_{i != j} k_ij / (mean_i k_ii - mean_{i != j} k_ij). For the function
    # sum_j s_j k(., x_j) with random signs s_j, the numerator is the standard deviation
    # of its values at new samples, and the denominator is the additional contribution
    # of each training sample to the value at this sample.
    ratios = np.full(variances.shape, np.inf)
    scaled = np.sqrt(n_samples) * spreads
    np.divide(scaled, variances, out=ratios, where=variances > 0.0)
    return ratios


INNER_FIELDS = ("kernel", "kernels", "gaussian", "views")
"""Names of the fields in which kernels and views store other kernels."""


def with_parameter(kernels: object, path: Sequence[str], value: object) -> object:
    """Return changed copies of kernels; raise if no kernel has the parameter."""
    # The parameter at `path` gets the new `value`. A path contains names of views,
    # positions in lists or names of fields, and ends with the parameter's name. A path
    # of one name, such as ["sigma"], changes this parameter of every kernel with it.
    changed = _with_change(kernels, tuple(path), value)
    if changed is kernels:
        names = listed(list(parameters_of(kernels)))
        advice = f"use one of {names}" if names else "omit it, because they have none"
        raise ValueError(
            f"No kernel among {kernels!r:.200} has the parameter {'__'.join(path)!r}: "
            f"{advice}."
        )
    return changed


def parameters_of(kernels: object) -> dict[str, object]:
    """Return the parameters that `with_parameter` can change, by name."""
    parameters: dict[str, list[object]] = {}
    for name, value in _parameters(kernels):
        same_name = parameters.setdefault(name, [])
        if all(
            value is not known and repr(value) != repr(known) for known in same_name
        ):
            same_name.append(value)
    # A name that several kernels share has the list of their different values.
    return {
        name: values[0] if len(values) == 1 else values
        for name, values in sorted(parameters.items())
    }


def _parameters(kernels: object) -> Iterator[tuple[str, object]]:
    """Yield names and values of parameters; names may repeat."""
    parameters, members, _ = _split_kernels(kernels)
    yield from parameters.items()
    for key, member in members.items():
        for name, value in _parameters(member):
            yield f"{key}__{name}", value
            # A parameter's name alone, without a kernel's key, means this parameter
            # of all kernels.
            if "__" not in name and name not in parameters:
                yield name, value


Parts = tuple[
    Mapping[str, object], Mapping[str, object], Callable[[dict[str, object]], object]
]
"""Parameters by name, inner kernels by name, and a function that returns a copy."""
# The function copies the whole kernel, mapping or sequence. Its argument maps the names
# of changed parameters or inner kernels to their values in the copy.


def _split_kernels(kernels: Any) -> Parts:
    """Return the `Parts` of a kernel, or of a mapping or sequence of kernels."""
    if isinstance(kernels, Mapping):
        return {}, kernels, lambda new: {**kernels, **new}
    if isinstance(kernels, list | tuple):
        items = {str(index): item for index, item in enumerate(kernels)}
        return {}, items, lambda new: type(kernels)({**items, **new}.values())
    if is_dataclass(kernels) and not isinstance(kernels, type):
        parameters = {
            f.name: getattr(kernels, f.name) for f in fields(kernels) if f.init
        }
        inner = {name: parameters[name] for name in INNER_FIELDS if name in parameters}
        return parameters, inner, lambda new: replace(kernels, **new)
    if hasattr(kernels, "set_params") and not isinstance(kernels, type):
        # Kernels of scikit-learn's Gaussian processes list nested parameters.
        parameters = kernels.get_params()
        return parameters, {}, lambda new: clone(kernels).set_params(**new)
    return {}, {}, lambda new: kernels


def _with_change(kernels: object, path: tuple[str, ...], value: object) -> object:
    """Return a copy with one parameter changed, or `kernels` if no kernel has it."""
    parameters, members, rebuild = _split_kernels(kernels)
    name = "__".join(path)
    if name in parameters:
        return rebuild({name: value})
    names = list(members)
    if path[0] in members and len(path) > 1:
        names, path = [path[0]], path[1:]
    changed = {key: _with_change(members[key], path, value) for key in names}
    is_unchanged = all(changed[key] is members[key] for key in names)
    return kernels if is_unchanged else rebuild(changed)
