"""What a kernel is, and a finite ordered family of kernels; what is asked of both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone

from multikernel._typing import Array


@runtime_checkable
class Kernel(Protocol):
    """A base kernel; `sklearn.gaussian_process.kernels` objects already conform."""

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix of shape (n_samples_X, n_samples_Y)."""

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""


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


def overrides(kind: type, method: str, other: str) -> bool:
    """Return whether a class defines a method no higher up than another one.

    Where a subclass replaces `other` alone, the inherited `method` may describe
    something else.
    """
    order = [vars(ancestor) for ancestor in kind.__mro__]
    places = [
        next((i for i, names in enumerate(order) if name in names), len(order))
        for name in (method, other)
    ]
    return places[0] <= places[1]


def kernel_diagonal(kernel: Kernel, X: Array) -> Array:
    """Return k(x, x) for every row, shape (n_samples,).

    By ``diag``, unless a subclass replaces ``__call__`` and inherits ``diag``, which
    then belongs to another kernel: by ``__call__`` on a few rows at a time.

    >>> from multikernel.kernels import GaussianKernel
    >>> class Doubled(GaussianKernel):
    ...     def __call__(self, X, Y=None):
    ...         return 2.0 * super().__call__(X, Y)
    >>> kernel_diagonal(Doubled(1.0), np.zeros((2, 1)))
    array([2., 2.])
    """
    has_own_diagonal = overrides(type(kernel), "diag", "__call__")
    return kernel.diag(X) if has_own_diagonal else diagonal_in_blocks(kernel, X)


def diagonal_in_blocks(kernel: Kernel, X: Array) -> Array:
    """Return k(x, x) for every row, from the matrices of a few rows at a time."""
    size = 16
    starts = range(0, X.shape[0], size)
    parts = [np.diagonal(kernel(X[i : i + size])) for i in starts]
    return np.concatenate([np.empty(0), *parts])


def check_dictionary(owner: str, dictionary: object) -> None:
    """Raise unless an object is a dictionary of kernels, as its first one shows."""
    kernels = kernel_sequence(owner, dictionary)
    if len(kernels) == 0:
        raise ValueError("A dictionary requires at least one kernel, got none.")
    check_kernel(kernels[0], f"{owner}: kernel 0 of the dictionary")


def kernel_sequence(owner: str, dictionary: object) -> KernelDictionary:
    """Return an object with a dictionary's interface, or raise; no kernel is built."""
    if not isinstance(dictionary, KernelDictionary) or isinstance(
        dictionary, Mapping | np.ndarray
    ):
        raise TypeError(
            f"{owner}: dictionary must be a sequence of kernels, such as a "
            f"ListDictionary, got {type(dictionary).__name__}."
        )
    return dictionary


def check_kernel(kernel: object, place: str) -> None:
    """Raise unless an object is a kernel; `place` is the subject of the message.

    >>> from multikernel.kernels import LinearKernel
    >>> check_kernel(LinearKernel, "Kernel 0")
    Traceback (most recent call last):
        ...
    TypeError: Kernel 0 is the class LinearKernel: pass an object, \
LinearKernel(...) with its parameters.
    """
    if isinstance(kernel, type):
        raise TypeError(
            f"{place} is the class {kernel.__name__}: pass an object, "
            f"{kernel.__name__}(...) with its parameters."
        )
    if isinstance(kernel, np.ndarray):
        raise TypeError(
            f"{place} is an array of shape {kernel.shape}: wrap a Gram matrix in a "
            "PrecomputedKernel, or pass all Gram matrices as X with "
            "kernels='precomputed' (see stack_grams)."
        )
    # An isinstance of the protocol says the same, and takes ten microseconds.
    if not (callable(kernel) and callable(getattr(kernel, "diag", None))):
        raise TypeError(
            f"{place} is not a kernel, got {kernel!r}: a kernel is callable as "
            "kernel(X, Y) and has a method diag(X)."
        )


def checked_values(
    compute: Callable[[], Array],
    shape: tuple[int, ...],
    owner: "str | Kernel",
    said: str = "{}",
) -> Array:
    """Return the values of a kernel, or raise unless they have a shape and are finite.

    They are in float64; what the kernel returned itself, if that already is. The
    `owner` is what messages call the kernel, or the kernel itself, whose name is asked
    for where something is wrong, and put into what is `said` of it.

    >>> checked_values(lambda: [1.0, np.inf], (2,), "Kernel 3 (linear())")
    Traceback (most recent call last):
        ...
    ValueError: Kernel 3 (linear()) has values that are not finite: scale the \
features, or choose other parameters.
    """

    def name() -> str:
        return said.format(owner if isinstance(owner, str) else kernel_name(owner))

    # An overflow needs no warning besides the sentences below.
    with np.errstate(over="ignore", invalid="ignore"):
        returned = compute()
        if np.iscomplexobj(returned):
            raise ValueError(f"{name()} has complex values: a kernel is real.")
        values = np.asarray(returned, dtype=np.float64)
        total = values.sum()
    if values.shape != shape:
        several = " Give the kernels of a compound one by one." * (values.ndim == 3)
        raise ValueError(
            f"{name()} returned an array of shape {values.shape}, expected "
            f"{shape}.{several}"
        )
    if not np.isfinite(total):
        raise ValueError(
            f"{name()} has values that are not finite: scale the features, or choose "
            "other parameters."
        )
    return values


MEMORISES = 0.25
"""Ratio below which a kernel memorises. ``benchmarks/defaults`` (memory), 216 single
Gaussians on 9 sets: below it accuracy is 0.002 above the share of the larger class in
the mean and contributions shrink to less than a fifth on new samples; from 0.25 to 0.5
it is 0.06 above, from 0.5 to 1 0.16."""


def off_diagonal_ratio(variances: Array, spreads: Array, n_samples: int) -> Array:
    r"""Return what a kernel says beyond its diagonal, over what its diagonal says.

    A function :math:`f = \sum_j a_j k(x_j, \cdot)` with coefficients of random signs
    has, at a training sample, the part :math:`a_i (k(x_i, x_i) - \bar k)` that a new
    sample does not see, and :math:`\sum_{j \ne i} a_j (k(x_i, x_j) - \bar k)`, which
    it does: the ratio of their standard deviations is

    .. math:: \frac{\sqrt{n}\, \mathrm{std}_{i \ne j}\, k(x_i, x_j)}
        {\mathrm{mean}_i\, k(x_i, x_i) - \bar k},
        \qquad \bar k = \mathrm{mean}_{i \ne j}\, k(x_i, x_j).

    Neither scaling nor centring changes it. It is zero for the identity.

    Parameters
    ----------
    variances : ndarray of shape (n_kernels,)
        The denominators.
    spreads : ndarray of shape (n_kernels,)
        Standard deviations of the entries beside the diagonal.
    n_samples : int
        Number of training samples.

    Returns
    -------
    ratios : ndarray of shape (n_kernels,)
        Infinite where the denominator is zero: a constant kernel memorises nothing.
    """
    ratios = np.full(variances.shape, np.inf)
    scaled = np.sqrt(n_samples) * spreads
    np.divide(scaled, variances, out=ratios, where=variances > 0.0)
    return ratios


INSIDE = ("kernel", "kernels", "gaussian", "views")
"""Fields that hold other kernels."""


def with_parameter(kernels: Any, path: Sequence[str], value: Any) -> Any:
    """Return kernels with another value of a parameter; nothing is changed in place.

    Before the name of the parameter, `path` has what leads to it: names of views,
    numbers in a list, names of fields. What does not lead on is looked for further
    inside, so that ``["sigma"]`` means the parameter of all kernels that have it; if no
    kernel has it, it is refused.

    >>> from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
    >>> kernels = [LinearKernel(), ColumnKernel(GaussianKernel(1.0), "age")]
    >>> with_parameter(kernels, ["sigma"], 2.0)[1].name
    'gaussian(sigma=2)[age]'
    """
    changed = _changed(kernels, tuple(path), value)
    if changed is kernels:
        raise ValueError(
            f"No kernel among {kernels!r:.200} has the parameter {'__'.join(path)!r}."
        )
    return changed


def parameters_of(kernels: Any) -> dict[str, Any]:
    """Return the parameters that `with_parameter` changes, by their names.

    Parts of a name are joined by two underscores. Where a name stands for several
    kernels, the value is the list of their different values if these differ.

    >>> from multikernel.kernels import GaussianKernel
    >>> found = parameters_of([GaussianKernel(1.0), GaussianKernel(2.0)])
    >>> found["0__sigma"], found["sigma"]
    (1.0, [1.0, 2.0])
    """
    parameters: dict[str, list[Any]] = {}
    for name, value in _parameters(kernels):
        same_name = parameters.setdefault(name, [])
        if all(
            value is not other and repr(value) != repr(other) for other in same_name
        ):
            same_name.append(value)
    return {
        name: values[0] if len(values) == 1 else values
        for name, values in sorted(parameters.items())
    }


def _parameters(kernels: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of parameters, some names several times."""
    parameters, members, _ = _taken_apart(kernels)
    yield from parameters.items()
    for key, member in members.items():
        for name, value in _parameters(member):
            yield f"{key}__{name}", value
            # A plain name is looked for in all members.
            if "__" not in name and name not in parameters:
                yield name, value


Parts = tuple[Mapping[str, Any], Mapping[str, Any], Callable[[dict[str, Any]], Any]]
"""Parameters by name, inner kernels by name, and a function from changed ones by name
to the whole with these in it."""


def _taken_apart(kernels: Any) -> Parts:
    """Return parameters, inner kernels by name, and a function that replaces them."""
    if isinstance(kernels, Mapping):
        return {}, kernels, lambda new: {**kernels, **new}
    if isinstance(kernels, list | tuple):
        places = {str(place): item for place, item in enumerate(kernels)}
        return {}, places, lambda new: type(kernels)({**places, **new}.values())
    if is_dataclass(kernels) and not isinstance(kernels, type):
        parameters = {
            f.name: getattr(kernels, f.name) for f in fields(kernels) if f.init
        }
        inside = {name: parameters[name] for name in INSIDE if name in parameters}
        return parameters, inside, lambda new: replace(kernels, **new)
    if hasattr(kernels, "set_params") and not isinstance(kernels, type):
        # A kernel of scikit-learn's Gaussian processes, which knows those inside it.
        parameters = kernels.get_params()
        return parameters, {}, lambda new: clone(kernels).set_params(**new)
    return {}, {}, lambda new: kernels


def _changed(kernels: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return kernels with the parameter changed, the same object if none has it."""
    parameters, members, together = _taken_apart(kernels)
    name = "__".join(path)
    if name in parameters:
        return together({name: value})
    names = list(members)
    if path[0] in members and len(path) > 1:
        names, path = [path[0]], path[1:]
    new = {key: _changed(members[key], path, value) for key in names}
    same = all(new[key] is members[key] for key in names)
    return kernels if same else together(new)
