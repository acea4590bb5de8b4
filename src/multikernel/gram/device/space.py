"""Libraries of the Python array API standard, and their devices."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
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

NAMESPACES = ("array_api_strict", "cupy", "numpy", "torch")

DeviceArray = Any
"""An array of any library, on its device."""


@dataclass(frozen=True)
class Device:
    """Storage of kernels on an accelerator.

    `device` is a name such as "cuda:1" in the library `namespace` ("torch", "cupy"). By
    default, CUDA is used with PyTorch or, if PyTorch has no CUDA device, CuPy. With
    `precision` "float32", entries of matrices are rounded to seven digits, and the
    duality gap includes this rounding; sums and factors use float64. With
    ``factors=True``, kernels are stored as low-rank factors, as with "low_rank"; with
    ``factors=False``, as whole matrices. By default, whole matrices are stored,
    except for dictionaries of kernels and their products (interactions): they are
    stored as factors if "auto" would choose factors.
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
        if self.factors and self.precision == "float32":
            raise ValueError(
                "Device: factors=True requires precision='float64', got 'float32': "
                "pass precision='float64' or factors=False."
            )


@dataclass(frozen=True, eq=False)
class Space:
    """An array library, one of its devices, and the data type of stored matrices."""

    xp: ModuleType
    device: object
    dtype: object

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

    def to_float64(self, matrix: DeviceArray) -> DeviceArray:
        """Return a stored matrix in float64."""
        return self.xp.astype(matrix, self.xp.float64, copy=False)

    def zeros(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return float64 zeros on the device."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def eye(self, n: int) -> DeviceArray:
        """Return the identity matrix in float64 on the device."""
        return self.xp.eye(n, dtype=self.xp.float64, device=self.device)

    def cut(self, matrix: DeviceArray, rows: Indices, cols: Indices) -> DeviceArray:
        """Return some rows and columns of a matrix."""
        # Columns are selected first: most callers choose all rows.
        chosen = self.xp.take(matrix, self.put_indices(cols), axis=1)
        return self.xp.take(chosen, self.put_indices(rows), axis=0)

    def cholesky(self, system: DeviceArray) -> DeviceArray | None:
        """Return the Cholesky factor; None if a matrix is not positive definite."""
        checked: AbstractContextManager[None] = nullcontext()
        if type(system).__module__.startswith("cupy"):
            # If a matrix is not positive definite, CuPy by default raises no error but
            # returns a wrong factor.
            checked = import_module("cupyx").errstate(linalg="raise")
        try:
            with checked:
                factor = self.xp.linalg.cholesky(system)
        except Exception as error:
            if not type(error).__name__.endswith("LinAlgError"):
                raise
            return None
        return factor if bool(self.xp.all(self.xp.isfinite(factor))) else None

    @contextmanager
    def memory_guard(self, what: str) -> Iterator[None]:
        """Turn errors of a device that is out of memory into a StackTooLargeError."""
        # `what` completes "requires memory for" in the message.
        try:
            yield
        except StackTooLargeError:
            raise
        except Exception as error:
            is_full = type(error).__name__ == "OutOfMemoryError"
            if not (is_full or isinstance(error, MemoryError)):
                raise
            raise StackTooLargeError(
                "The device is out of memory: storage='device' requires memory for "
                f"{what}. Pass Device(precision='float32', factors=False) or "
                "storage='low_rank', or use fewer kernels or samples."
            ) from error


def open_space(settings: Device) -> Space:
    """Return the array library and device of `settings`; raise if one is missing."""
    if find_spec("array_api_compat") is None:
        raise ImportError(
            f"storage='device' requires array-api-compat: {how_to_install('device')}.",
            name="array_api_compat",
        )
    name = settings.namespace or _find_cuda_library()
    if find_spec(name) is None:
        raise ImportError(
            f"Device(namespace={name!r}) requires {name}, which is not installed: "
            f"install {name}, or choose another namespace.",
            name=name,
        )
    module = import_module(name)
    xp = import_module("array_api_compat").array_namespace(module.asarray([0.0]))
    if name == "cupy" and settings.device is not None:
        raise ValueError(
            f"CuPy does not support device={settings.device!r}: omit device, and "
            "choose the GPU by the environment variable CUDA_VISIBLE_DEVICES."
        )
    try:
        device = _resolve_device(name, module, settings.device)
        xp.ones(1, dtype=xp.float64, device=device)
    except (TypeError, ValueError, RuntimeError, AssertionError) as error:
        where = "its default device" if settings.device is None else settings.device
        raise ValueError(
            f"Device: {name} cannot store float64 on {where} ({error}). Pass another "
            "device; Device('torch', 'cpu') computes on the processor."
        ) from error
    return Space(xp, device, getattr(xp, settings.precision))


def _find_cuda_library() -> str:
    """Return the name of a library that finds an accelerator."""
    for name in ("torch", "cupy"):
        if find_spec(name) is not None and import_module(name).cuda.is_available():
            return name
    raise ImportError(
        "storage='device' requires a CUDA device, but no installed PyTorch or CuPy "
        "found one. Install one of them with CUDA support, or pass storage='auto'. To "
        "compute with PyTorch on the CPU, pass storage=Device('torch', 'cpu')."
    )


def _resolve_device(name: str, module: ModuleType, device: str | None) -> object:
    """Return a device in the form that a library accepts."""
    if name == "torch":
        return module.device("cuda" if device is None else device)
    if device is None:
        return None
    return module.Device(device) if hasattr(module, "Device") else device
