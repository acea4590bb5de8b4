"""Kernels computed and normalized on an accelerator."""

from collections.abc import Callable, Iterator
from functools import singledispatch
from itertools import chain

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.compute.matrices import (
    check_single_range,
    evaluate_other,
    make_samples,
)
from multikernel.gram.compute.plan import Plan, RadialPlan, make_plan
from multikernel.gram.device.space import DeviceArray, Space
from multikernel.gram.device.stack import DeviceStack, OnDevice
from multikernel.gram.normalization import Normalization
from multikernel.gram.steps import (
    CenterStep,
    CosineStep,
    ScaleStep,
    Step,
    inverse_roots,
)
from multikernel.kernels.base import Kernel, KernelDictionary
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.polynomial import LinearKernel, PolynomialKernel


@singledispatch
def normalized_by_step(step: Step, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    """Return the matrix of kernel m after a fitted normalization step."""
    raise TypeError(
        f"normalize contains {type(step).__name__}, which storage='device' does not "
        "support: use 'trace', 'variance', 'cosine' or 'center'."
    )


@normalized_by_step.register
def _scaled(step: ScaleStep, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    return float(step.factors[m]) * K


@normalized_by_step.register
def _cosine(step: CosineStep, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    roots = space.put(inverse_roots(space.get(space.xp.linalg.diagonal(K))))
    return roots[:, None] * K * roots[None, :]


@normalized_by_step.register
def _centered(step: CenterStep, m: int, K: DeviceArray, space: Space) -> DeviceArray:
    means, grand_mean = space.put(step.means[m]), float(step.grand_means[m])
    centered = K - (means[:, None] + means[None, :]) + grand_mean
    return float(step.kept[m]) * centered


def fit_and_normalize(
    normalization: Normalization, space: Space, m: int, K: DeviceArray
) -> DeviceArray:
    """Fit every step to matrix K of kernel m on the device; return K normalized."""
    for step in normalization.steps:
        step.learn(slice(m, m + 1), DeviceStack((K,), space, K.shape[0]))
        K = normalized_by_step(step, m, K, space)
    return K


def build_matrices(
    dictionary: KernelDictionary,
    X: Array,
    normalize: Callable[[int, DeviceArray], DeviceArray],
    space: Space,
) -> DeviceStack:
    """Return the Gram matrices of a dictionary on a device, after `normalize(m, K)`."""
    plan, n = make_plan(dictionary, X.shape[1]), len(X)
    matrices: list[DeviceArray] = [None] * len(dictionary)
    with space.memory_guard(f"{len(dictionary)} matrices of {n} x {n} numbers"):
        # Gaussian, linear and polynomial kernels are computed on the device, from
        # differences and inner products of columns; all others in NumPy, and copied.
        for m, K in chain(_gaussians(plan.radial, X, space), _others(plan, X, space)):
            normalized = normalize(m, K)
            if space.dtype != space.xp.float64:
                largest = float(space.xp.max(space.xp.abs(normalized)))
                check_single_range(largest, m, plan.dictionary)
            matrices[m] = space.store(normalized)
    return DeviceStack(tuple(matrices), space, n)


def part_on_device(
    stack: OnDevice, samples: Indices, normalization: Normalization
) -> GramStack:
    """Return a normalized copy of the matrices of some samples."""
    space = stack.space
    with space.memory_guard(f"copies of {stack.shape[0]} matrices for a fold"):
        matrices = []
        for m in range(stack.shape[0]):
            K = space.cut(stack.matrix(m), samples, samples)
            matrices.append(space.store(fit_and_normalize(normalization, space, m, K)))
    return DeviceStack(tuple(matrices), space, samples.size)


def _gaussians(
    plan: RadialPlan, X: Array, space: Space
) -> Iterator[tuple[int, DeviceArray]]:
    """Yield the index and the matrix of every Gaussian kernel in the plan."""
    previous_set, features = -1, space.put(X)
    distances = space.zeros((0, 0))
    for position, column_set in enumerate(plan.sets.tolist()):
        if column_set != previous_set:
            previous_set, distances = column_set, space.zeros((len(X), len(X)))
            bounds = plan.column_starts[column_set : column_set + 2]
            for column in plan.columns[slice(*bounds)].tolist():
                values = features[:, column]
                distances = distances + (values[:, None] - values[None, :]) ** 2
        K = space.xp.exp(float(plan.exponents[position]) * distances)
        yield int(plan.kernels[position]), K


def _others(plan: Plan, X: Array, space: Space) -> Iterator[tuple[int, DeviceArray]]:
    """Yield the index and the matrix of every kernel that is not Gaussian."""
    samples = make_samples(X)
    for position, m in enumerate(plan.others.tolist()):
        K = _inner_products(plan.dictionary[int(plan.sources[position])], X, space)
        # If values are not finite, evaluation in NumPy raises the error that names the
        # kernel.
        if K is None or not bool(space.xp.all(space.xp.isfinite(K))):
            K = space.put(evaluate_other(plan, position, samples))
        yield m, K


def _inner_products(kernel: Kernel, X: Array, space: Space) -> DeviceArray | None:
    """Return the matrix of a linear or polynomial kernel; None for other kernels."""
    if type(kernel) is ColumnKernel:
        X, kernel = select_columns(X, kernel.columns), kernel.kernel
    if type(kernel) not in (LinearKernel, PolynomialKernel):
        return None
    Z = space.put(X)
    K = Z @ Z.T
    if isinstance(kernel, PolynomialKernel):
        K = (kernel.scale * K + kernel.offset) ** kernel.degree
    return K
