"""Gram matrices on an accelerator, by libraries of the Python array API standard.

The device holds one matrix for each kernel. It computes products, weighted sums and
linear systems in double precision; results return as NumPy arrays. PyTorch and CuPy
are optional and imported when a stack is built.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np

from multikernel._install import how_to_install
from multikernel._typing import Array, Indices
from multikernel._validation import (
    FLAG,
    NOTHING,
    PRECISION,
    AnyOf,
    InstanceOf,
    OneOf,
    check_parameter,
)
from multikernel.exceptions import StackTooLargeError
from multikernel.gram.base import GramStack
from multikernel.gram.capabilities import resident_products
from multikernel.gram.compute.matrices import (
    check_single_range,
    evaluate_other,
    make_samples,
)
from multikernel.gram.compute.plan import Plan, RadialPlan, make_plan
from multikernel.gram.matrix import HELD_BYTES, GramMatrix, Products, padded_to
from multikernel.gram.normalization import Normalization
from multikernel.gram.products import ProductsOfWhole
from multikernel.gram.steps import (
    CenterStep,
    CosineStep,
    ScaleStep,
    Step,
    inverse_roots,
)
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.polynomial import LinearKernel, PolynomialKernel
from multikernel.linalg.shifted import Root, solve_raised

NAMESPACES = ("array_api_strict", "cupy", "numpy", "torch")

DeviceArray = Any
"""An array of any library, on its device."""


@dataclass(frozen=True)
class Device:
    """Storage of kernels on an accelerator.

    Parameters
    ----------
    namespace : {"torch", "cupy", "numpy", "array_api_strict"} or None, default=None
        Array library. None selects PyTorch if it sees a CUDA device, otherwise CuPy.
    device : str or None, default=None
        Device of the library, such as ``"cuda:1"`` for PyTorch. None selects its
        current CUDA device, and the processor for NumPy.
    precision : {"float64", "float32"}, default="float64"
        Precision of the stored matrices. With float32 entries are rounded to seven
        digits, sums still use float64, and the duality gap includes the rounding.
    factors : bool or None, default=None
        Whether interactions are stored as factors, whose passes run on the device,
        and not as whole main matrices. None selects what ``storage="auto"`` selects.

    Raises
    ------
    ValueError
        If a parameter has another value.

    Examples
    --------
    >>> from multikernel.gram import Device
    >>> Device("torch", "cuda:1", precision="float32")
    Device(namespace='torch', device='cuda:1', precision='float32', factors=None)
    """

    namespace: str | None = None
    device: str | None = None
    precision: str = "float64"
    factors: bool | None = None

    def __post_init__(self) -> None:
        names = AnyOf((NOTHING, OneOf(NAMESPACES)))
        check_parameter("Device", "namespace", self.namespace, names)
        texts = AnyOf((NOTHING, InstanceOf(str, "the name of a device")))
        check_parameter("Device", "device", self.device, texts)
        check_parameter("Device", "precision", self.precision, PRECISION)
        check_parameter("Device", "factors", self.factors, AnyOf((NOTHING, FLAG)))


@dataclass(frozen=True, eq=False)
class Space:
    """An array library, a device of it, and the type of stored matrices."""

    xp: Any
    device: Any
    dtype: Any

    def put(self, array: Array) -> DeviceArray:
        """Return a float64 copy on the device."""
        copy = np.array(array, dtype=np.float64, order="C")
        return self.xp.asarray(copy, dtype=self.xp.float64, device=self.device)

    def put_indices(self, indices: Indices) -> DeviceArray:
        """Return a copy of indices on the device."""
        copy = np.array(indices, dtype=np.int64)
        return self.xp.asarray(copy, dtype=self.xp.int64, device=self.device)

    def get(self, array: DeviceArray) -> Array:
        """Return a copy as a float64 NumPy array."""
        if hasattr(array, "cpu"):  # PyTorch
            array = array.cpu()
        elif type(array).__module__.startswith("cupy"):
            array = array.get()
        return np.array(np.from_dlpack(array), dtype=np.float64)

    def store(self, matrix: DeviceArray) -> DeviceArray:
        """Return a matrix in the type of stored matrices."""
        return self.xp.astype(matrix, self.dtype, copy=False)

    def wide(self, matrix: DeviceArray) -> DeviceArray:
        """Return a stored matrix in float64."""
        return self.xp.astype(matrix, self.xp.float64, copy=False)

    def zeros(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return float64 zeros on the device."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def cut(self, matrix: DeviceArray, rows: Indices, cols: Indices) -> DeviceArray:
        """Return some rows and columns of a matrix."""
        some = self.xp.take(matrix, self.put_indices(rows), axis=0)
        return self.xp.take(some, self.put_indices(cols), axis=1)

    def cholesky(self, system: DeviceArray) -> DeviceArray | None:
        """Return the Cholesky factor, None if a matrix is not positive definite."""
        try:
            factor = self.xp.linalg.cholesky(system)
        except Exception as error:
            if not type(error).__name__.endswith("LinAlgError"):
                raise
            return None
        # CuPy returns NaN in place of an error.
        return factor if bool(self.xp.all(self.xp.isfinite(factor))) else None

    @contextmanager
    def room(self, what: str) -> Iterator[None]:
        """Raise a StackTooLargeError where the device is out of memory."""
        try:
            yield
        except StackTooLargeError:
            raise
        except Exception as error:
            full = type(error).__name__ == "OutOfMemoryError"
            if not (full or isinstance(error, MemoryError)):
                raise
            raise StackTooLargeError(
                f"The device is out of memory: storage 'device' needs room for {what}. "
                "Use Device(precision='float32'), storage='low_rank', or fewer kernels "
                "or samples."
            ) from error


def open_space(settings: Device) -> Space:
    """Return the array library and the device that settings name.

    Raises
    ------
    ImportError
        If array-api-compat or the library is not installed, or no accelerator exists.
    ValueError
        If the library does not have the device, or no float64 on it.
    """
    if find_spec("array_api_compat") is None:
        raise ImportError(
            f"storage='device' requires array-api-compat: {how_to_install('device')}.",
            name="array_api_compat",
        )
    name = settings.namespace or _library_with_a_card()
    if find_spec(name) is None:
        raise ImportError(
            f"Device(namespace={name!r}) requires {name}, which is not installed: "
            f"install {name}, or choose another namespace.",
            name=name,
        )
    module = import_module(name)
    xp = import_module("array_api_compat").array_namespace(module.asarray([0.0]))
    try:
        device = _device_of(name, module, settings.device)
        xp.ones(1, dtype=xp.float64, device=device)
    except (TypeError, ValueError, RuntimeError, AssertionError) as error:
        raise ValueError(
            f"Device: {name} has no device {settings.device!r} that stores float64 "
            f"({error}). Choose another device, or None for the default."
        ) from error
    return Space(xp, device, getattr(xp, settings.precision))


def _library_with_a_card() -> str:
    """Return the name of a library that sees an accelerator."""
    for name in ("torch", "cupy"):
        if find_spec(name) is not None and import_module(name).cuda.is_available():
            return name
    raise ImportError(
        "storage='device' found no accelerator: neither PyTorch nor CuPy is installed "
        "and sees a CUDA device. Install one of them, or choose storage='auto'; "
        "Device('torch', 'cpu') computes on the processor."
    )


def _device_of(name: str, module: Any, device: str | None) -> Any:
    """Return a device in the form that a library accepts."""
    if name == "torch":
        return module.device("cuda" if device is None else device)
    if device is None:
        return None
    if name == "cupy":
        raise ValueError("CuPy uses the current device; set CUDA_VISIBLE_DEVICES")
    return module.Device(device) if hasattr(module, "Device") else device


@dataclass(frozen=True, eq=False)
class DeviceMatrix(GramMatrix):
    """One Gram matrix on a device.

    Parameters
    ----------
    held : array of shape (n_samples, n_samples)
        The matrix, float64, on the device of the space.
    space : Space
        Its library and device.
    """

    held: DeviceArray
    space: Space

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_cols)."""
        return self.held.shape[0], self.held.shape[1]

    def matvec(self, v: Array) -> Array:
        """Return K v, shape (n_rows,) or (n_rows, n_outputs)."""
        return self.space.get(self.held @ self.space.put(v))

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_rows, n_indices)."""
        every = np.arange(self.shape[0])
        return self.space.get(self.space.cut(self.held, every, indices))

    def between(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries of some rows and columns, shape (n_rows, n_columns)."""
        return self.space.get(self.space.cut(self.held, rows, columns))

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_rows,)."""
        return self.space.get(self.space.xp.linalg.diagonal(self.held))

    def plus(self, factor: Array) -> GramMatrix:
        """Return K + U U^T, on the device."""
        U = self.space.put(factor)
        return DeviceMatrix(self.held + U @ U.T, self.space)

    def solve(
        self, rhs: Array, *, shift: Array, low_rank: Array | None = None
    ) -> Array:
        """Solve (K + diag(shift) + U U^T) x = rhs; see `GramMatrix.solve`."""
        matrix = self.held
        if low_rank is not None:
            U = self.space.put(low_rank)
            matrix = matrix + U @ U.T

        def attempt(raised: Array) -> Array | None:
            return self._solve(matrix, rhs.reshape(len(rhs), -1), raised)

        trace = float(np.abs(self.diagonal()).sum())
        with self.space.room("a linear system of all samples"):
            return solve_raised(attempt, shift, trace).reshape(rhs.shape)

    def _solve(self, matrix: DeviceArray, rhs: Array, shift: Array) -> Array | None:
        """Solve a shifted system, None if it is not positive definite."""
        fixed, positive = np.isinf(shift), bool(np.all(shift > 0.0))
        scale = np.where(fixed, 0.0, 1.0 / np.sqrt(shift) if positive else 1.0)
        diagonal = np.where(fixed, 1.0, 1.0 if positive else shift)
        system = self._scaled(matrix, scale, diagonal)
        if self.space.cholesky(system) is None:
            return None
        sides = self.space.put(scale[:, None] * rhs)
        return scale[:, None] * self.space.get(
            self.space.xp.linalg.solve(system, sides)
        )

    def _scaled(
        self, matrix: DeviceArray, scale: Array, diagonal: Array
    ) -> DeviceArray:
        """Return S K S + D, with diagonal matrices S and D."""
        s, n = self.space.put(scale), len(scale)
        unit = self.space.xp.eye(n, dtype=s.dtype, device=self.space.device)
        return s[:, None] * matrix * s[None, :] + unit * self.space.put(diagonal)

    def root(self, shift: Array) -> Root | None:
        """Return a root of K + diag(shift); see `GramMatrix.root`."""
        scale = 1.0 / np.sqrt(shift)
        with self.space.room("a linear system of all samples"):
            system = self._scaled(self.held, scale, np.ones(len(scale)))
            factor = self.space.cholesky(system)
            if factor is None:
                return None
            unit = self.space.xp.eye(
                len(scale), dtype=factor.dtype, device=self.space.device
            )
            inverse = self.space.xp.linalg.solve(factor, unit)
        return DeviceRoot(scale, inverse, self.space)


@dataclass(frozen=True, eq=False)
class DeviceRoot:
    """A root of a shifted matrix on a device; see `ShiftedRoot`.

    It holds the inverse of the factor, as the array API has no triangular solver.
    """

    scale: Array
    inverse: DeviceArray
    space: Space

    def half(self, rhs: Array) -> Array:
        """Return R^-1 times a matrix."""
        scaled = self.space.put(self.scale[:, None] * rhs)
        return self.space.get(self.inverse @ scaled)

    def rest(self, halves: Array) -> Array:
        """Return R^-T times a matrix."""
        whole = self.space.get(self.inverse.T @ self.space.put(halves))
        return np.asarray(self.scale[:, None] * whole)


class OnDevice(GramStack):
    """Whole matrices on a device, of all samples or some.

    Products with vectors of some samples use whole matrices and padded vectors, which
    takes less time than to copy entries.
    """

    space: Space
    n_all: int
    samples: Indices | None
    in_memory = True

    @abstractmethod
    def matrix(self, m: int) -> DeviceArray:
        """Return kernel m over all samples, in float64 on the device."""

    @cached_property
    def _places(self) -> Indices:
        """Return the rows of the matrices that belong to the samples, in order."""
        return np.arange(self.n_all) if self.samples is None else self.samples

    def put(self, v: Array) -> DeviceArray:
        """Return vectors as columns over all samples, on the device."""
        columns = v.reshape(len(v), v.size // len(v))
        if self.samples is not None:
            columns = padded_to(columns, self._places, self.n_all)
        return self.space.put(columns)

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        columns = self.put(v)
        return self._images(dict.fromkeys(range(self.shape[0]), columns), v.shape)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        used = [m for m, vectors in enumerate(coefs) if vectors.any()]
        return self._images({m: self.put(coefs[m]) for m in used}, coefs.shape[1:])

    def _images(self, columns: dict[int, DeviceArray], shape: tuple[int, ...]) -> Array:
        """Return products with the columns of each kernel, of this shape, or zeros."""
        images = np.zeros((self.shape[0], *shape))
        if columns:
            with self.space.room("products with vectors"):
                made = [self.matrix(m) @ vectors for m, vectors in columns.items()]
                values = self.space.get(self.space.xp.stack(made))[:, self._places]
            images[list(columns)] = values.reshape(len(made), *shape)
        return images

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        xp, columns = self.space.xp, self.put(v)
        with self.space.room("products with vectors"):
            forms = [
                xp.sum(columns * (self.matrix(m) @ columns))
                for m in range(self.shape[0])
            ]
            return self.space.get(xp.stack(forms)) if forms else np.empty(0)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix, on the device."""
        with self.space.room("a weighted sum of kernels"):
            total = self.space.zeros((self.n_all, self.n_all))
            for m in np.flatnonzero(weights).tolist():
                total = total + float(weights[m]) * self.matrix(m)
            if self.samples is not None:
                total = self.space.cut(total, self._places, self._places)
        return DeviceMatrix(total, self.space)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        total = np.zeros((rows.size, self.shape[2]))
        for m in np.flatnonzero(weights).tolist():
            total += weights[m] * self._cut(m, rows, np.arange(self.shape[2]))
        return total

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        columns = np.empty((*self.shape[:2], np.size(indices)))
        for m in range(self.shape[0]):
            columns[m] = self._cut(m, np.arange(self.shape[1]), np.asarray(indices))
        return columns

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        return self._cut(int(kernel), rows, cols)

    def _cut(self, m: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel as a NumPy array."""
        rows, cols = self._places[rows], self._places[cols]
        return self.space.get(self.space.cut(self.matrix(m), rows, cols))

    def resident_products(self, kernels: Indices) -> Products:
        """Return a function that multiplies the chosen kernels by blocks of vectors."""
        chosen = self.take(kernels)

        def products(positions: Indices, rows: Array) -> Array:
            images = chosen.take(positions).block_matvec(rows.transpose(0, 2, 1))
            return np.ascontiguousarray(images.transpose(0, 2, 1))

        return products


resident_products.register(OnDevice, OnDevice.resident_products)


@dataclass(frozen=True, eq=False)
class DeviceStack(OnDevice):
    """Gram matrices on a device, one array for each.

    Parameters
    ----------
    matrices : tuple of array of shape (n_all, n_all)
        The matrices, in the type that the space stores; at least one.
    space : Space
        The library and the device.
    samples : ndarray of shape (n_samples,), optional
        Rows of the matrices that belong to the samples; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import Device, device_stack
    >>> array = np.stack([np.eye(3), np.ones((3, 3))])
    >>> stack = device_stack(array, Device("numpy"))
    >>> stack.quadratic_forms(np.array([1.0, 2.0, 0.0]))
    array([5., 9.])
    """

    matrices: tuple[DeviceArray, ...]
    space: Space
    n_all: int
    samples: Indices | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return len(self.matrices), self._places.size, self._places.size

    def matrix(self, m: int) -> DeviceArray:
        """Return kernel m over all samples, in float64 on the device."""
        return self.space.wide(self.matrices[m])

    @cached_property
    def _diagonals(self) -> Array:
        """Return every diagonal over all samples, (n_kernels, n_all)."""
        diagonal = self.space.xp.linalg.diagonal
        made = [self.space.wide(diagonal(matrix)) for matrix in self.matrices]
        if not made:
            return np.empty((0, self.n_all))
        return self.space.get(self.space.xp.stack(made))

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self._diagonals[:, self._places]

    def take(self, kernels: Indices) -> "DeviceStack":
        """Return the stack of the chosen kernels, which shares their matrices."""
        numbers = np.arange(self.shape[0])[kernels].tolist()
        return replace(self, matrices=tuple(self.matrices[m] for m in numbers))

    def restrict(self, samples: Indices) -> "DeviceStack":
        """Return the stack on the chosen samples, a view."""
        return replace(self, samples=self._places[samples])


def device_stack(array: Array, settings: Device) -> DeviceStack:
    """Return a stack on a device of matrices in memory.

    Parameters
    ----------
    array : ndarray of shape (n_kernels, n_samples, n_samples)
        The matrices, symmetric; copied.
    settings : Device
        The library, the device and the precision.

    Returns
    -------
    stack : DeviceStack
    """
    space = open_space(settings)
    with space.room(f"{len(array)} matrices"):
        matrices = tuple(space.store(space.put(K)) for K in array)
    return DeviceStack(matrices, space, array.shape[1])


@dataclass(frozen=True, eq=False)
class DeviceProducts(ProductsOfWhole, OnDevice):
    """Elementwise products of at most two main matrices on a device.

    Parameters
    ----------
    mains : DeviceStack
        The main matrices of all samples.
    terms : ndarray of shape (n_kernels, 2)
        The two mains of every kernel; the second is -1 for a main alone.
    samples : ndarray of shape (n_samples,), optional
        Rows of the matrices that belong to the samples; all by default.
    """

    mains: DeviceStack
    terms: Indices
    samples: Indices | None = None

    @property
    def space(self) -> Space:  # type: ignore[override]
        """Return the library and the device of the mains."""
        return self.mains.space

    @property
    def n_all(self) -> int:  # type: ignore[override]
        """Return the number of samples of the mains."""
        return self.mains.n_all

    def matrix(self, m: int) -> DeviceArray:
        """Return kernel m over all samples, in float64 on the device."""
        first, second = self.terms[m].tolist()
        one = self.mains.matrix(first)
        return one if second < 0 else one * self.mains.matrix(second)

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        if not self._many:
            return super().quadratic_forms(v)
        forms = np.empty(self.shape[0])
        alone = self.mains.take(self.terms[self.alone, 0])
        forms[self.alone] = replace(alone, samples=self.samples).quadratic_forms(v)
        (used, places), pairs = self._used, self._pairs
        with self.space.room("products with vectors"):
            products = self.space.get(self._inner_products(used, self.put(v)))
        forms[pairs] = products[places[:, 0], places[:, 1]]
        return forms

    def _inner_products(self, mains: Indices, columns: DeviceArray) -> DeviceArray:
        r"""Return the forms of all products of mains, (n_mains, n_mains).

        The form of K_i o K_j is the sum of K_i[a, b] K_j[a, b] (v v^T)[a, b].
        """
        xp, n = self.space.xp, self.n_all
        matrices = [self.mains.matrices[m] for m in mains.tolist()]
        total = self.space.zeros((len(matrices), len(matrices)))
        step = max(1, HELD_BYTES // (8 * n * len(matrices)))
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            weights = columns[rows, :] @ columns.T
            entries = xp.stack([matrix[rows, :] for matrix in matrices])
            entries = xp.reshape(self.space.wide(entries), (len(matrices), -1))
            total = total + (entries * xp.reshape(weights, (1, -1))) @ entries.T
        return total

    def once(self, kernels: Indices) -> "DeviceProducts":
        """Return the stack of the chosen kernels, by their mains."""
        return replace(self, terms=self.terms[kernels])

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels, whole if they are few."""
        chosen = self.once(np.arange(self.shape[0])[kernels])
        if 8 * chosen.shape[0] * self.n_all**2 > HELD_BYTES:
            return chosen
        with self.space.room("products of kernels"):
            matrices = tuple(map(chosen.matrix, range(chosen.shape[0])))
        # Products stay in double precision, whatever the mains have.
        return DeviceStack(matrices, self.space, self.n_all, self.samples)

    def restrict(self, samples: Indices) -> "DeviceProducts":
        """Return the stack on the chosen samples, a view."""
        return replace(self, samples=self._places[samples])


@singledispatch
def applied(step: Step, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    """Return the matrix of kernel m after a step of normalization that was learned."""
    raise TypeError(
        f"storage='device' does not support the normalization step "
        f"{type(step).__name__}: use 'trace', 'variance', 'cosine' or 'center'."
    )


@applied.register
def _scaled(step: ScaleStep, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    return float(step.factors[m]) * K


@applied.register
def _divided(step: CosineStep, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    roots = space.put(inverse_roots(space.get(space.xp.linalg.diagonal(K))))
    return roots[:, None] * K * roots[None, :]


@applied.register
def _centered(step: CenterStep, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    means, grand_mean = space.put(step.means[m]), float(step.grand_means[m])
    moved = K - (means[:, None] + means[None, :]) + grand_mean
    return float(step.kept[m]) * moved


def normalized(
    normalization: Normalization, m: int, K: DeviceArray, space: Space
) -> DeviceArray:
    """Return kernel m normalized on the device; the steps learn from it."""
    for step in normalization.steps:
        step.learn(slice(m, m + 1), DeviceStack((K,), space, K.shape[0]))
        K = applied(step, m, K, space)
    return K


def build_matrices(
    dictionary: KernelDictionary, X: Array, normalization: Normalization, space: Space
) -> DeviceStack:
    """Return the normalized matrices of a dictionary on a device.

    Gaussian, linear and polynomial kernels are computed there, from differences and
    inner products of columns; all other kernels are computed in NumPy and copied.
    """
    plan, n = make_plan(dictionary, X.shape[1]), len(X)
    matrices: list[DeviceArray] = [None] * len(dictionary)
    with space.room(f"{len(dictionary)} matrices of {n} x {n} numbers"):
        for m, K in chain(_radial(plan.radial, X, space), _others(plan, X, space)):
            stored = normalized(normalization, m, K, space)
            if space.dtype != space.xp.float64:
                largest = float(space.xp.max(space.xp.abs(stored)))
                check_single_range(largest, m, plan.dictionary)
            matrices[m] = space.store(stored)
    return DeviceStack(tuple(matrices), space, n)


def _radial(
    plan: RadialPlan, X: Array, space: Space
) -> Iterator[tuple[int, DeviceArray]]:
    """Yield the numbers and the matrices of Gaussian kernels.

    Kernels on the same columns share their distances, sums of squared differences.
    """
    last, table, distances = -1, space.put(X), None
    for place, column_set in enumerate(plan.sets.tolist()):
        if column_set != last:
            last, distances = column_set, space.zeros((len(X), len(X)))
            ends = plan.column_starts[column_set : column_set + 2]
            for column in plan.columns[slice(*ends)].tolist():
                values = table[:, column]
                distances = distances + (values[:, None] - values[None, :]) ** 2
        K = space.xp.exp(float(plan.exponents[place]) * distances)
        yield int(plan.kernels[place]), K


def _others(plan: Plan, X: Array, space: Space) -> Iterator[tuple[int, DeviceArray]]:
    """Yield the numbers and the matrices of all other kernels."""
    samples = make_samples(X)
    for place, m in enumerate(plan.others.tolist()):
        kernel = plan.dictionary[int(plan.sources[place])]
        columns = X
        if type(kernel) is ColumnKernel:
            columns, kernel = select_columns(X, kernel.columns), kernel.kernel
        if type(kernel) not in (LinearKernel, PolynomialKernel):
            yield m, space.put(evaluate_other(plan, place, samples))
            continue
        Z = space.put(columns)
        K = Z @ Z.T
        if isinstance(kernel, PolynomialKernel):
            K = (kernel.scale * K + kernel.offset) ** kernel.degree
        if not bool(space.xp.all(space.xp.isfinite(K))):
            evaluate_other(plan, place, samples)  # raises the error of the kernel
        yield m, K
