"""Rounding errors of Gram matrices whose entries centering made far smaller."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack, uncentered_trace_weight
from multikernel.gram.checks import ROUNDING
from multikernel.gram.costs import Storage
from multikernel.gram.device.space import Device
from multikernel.gram.metered import TransparentStack
from multikernel.gram.normalization import Normalization
from multikernel.gram.steps import CenterStep, CosineStep, ScaleStep
from multikernel.kernels.base import Kernel, KernelDictionary
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import CenteredKernel, ProductKernel
from multikernel.linalg import EPS, SINGLE, TINY


@dataclass(frozen=True, eq=False)
class RoundedStack(TransparentStack):
    """A stack with entries that are small differences of large, rounded numbers."""

    ratios: Array  # (n_kernels,), of uncentered to centered traces

    def rounded_traces(self) -> Array:
        """Return the `GramStack.rounded_traces` that the ratios enlarge."""
        entries = self.ratios * uncentered_trace_weight(self.shape[1])
        return np.asarray((1.0 + entries) * np.abs(self.traces()))

    def _part(self, stack: GramStack, kernels: Indices | slice) -> "RoundedStack":
        """Return a stack of chosen kernels with their ratios."""
        return RoundedStack(stack, self.ratios[kernels])  # type: ignore[abstract]


def with_rounding_ratios(
    stack: GramStack,
    dictionary: KernelDictionary | None,
    X: Array,
    normalization: Normalization,
    *,
    rounded_to_single: bool = False,
) -> GramStack:
    """Return the stack with `rounding_ratios`, which enlarge its `rounded_traces`."""
    # `rounded_to_single` is True if entries were rounded to single precision before
    # they were centered.
    traces = np.abs(stack.traces())
    ratios = _ratios_of_steps(traces, normalization)
    if rounded_to_single:
        ratios[ratios > 1.0] *= SINGLE / EPS
    if isinstance(X, np.ndarray) and dictionary is not None:
        unscaled = np.full(traces.size, np.nan)
        if not any(isinstance(step, CosineStep) for step in normalization.steps):
            factors = normalization.factors(np.arange(traces.size))
            np.divide(traces, factors, out=unscaled, where=factors > 0.0)
        np.maximum(ratios, _ratios_of_kernels(dictionary, X, unscaled), out=ratios)
    # `ratios` has bounds on each kernel's ratio of uncentered to centered trace. Bounds
    # up to 32 are ordinary: Gaussian kernels of the median width have about 10, and
    # products of two have about 20.
    if ratios.max(initial=1.0) <= 32.0:
        return stack
    return RoundedStack(stack, ratios)  # type: ignore[abstract]


def is_single(storage: Storage) -> bool:
    """Return whether a storage stores whole matrices in single precision."""
    if isinstance(storage, Device):
        return storage.precision == "float32" and not storage.factors
    return storage == "dense32"


def rounding_ratios(stack: GramStack) -> Array:
    """Return each kernel's ratio of uncentered to centered trace, (n_kernels,)."""
    # Centering a kernel multiplies the relative rounding errors of its matrix by the
    # kernel's ratio. If entries were rounded to single precision before, ratios above 1
    # are multiplied by SINGLE / EPS. All results are 1 if no ratio is above 32, because
    # `with_rounding_ratios` then stores no ratios.
    ratios: Array | None = getattr(stack, "ratios", None)
    return np.ones(stack.shape[0]) if ratios is None else ratios


def possibly_indefinite_kernels(stack: GramStack, kernels: Sequence[int]) -> list[int]:
    """Return the chosen kernels that rounding errors may have made indefinite."""
    ratios = rounding_ratios(stack)
    return [m for m in kernels if EPS * ratios[m] >= ROUNDING]


def _ratios_of_steps(traces: Array, normalization: Normalization) -> Array:
    """Return upper bounds on ratios of uncentered to centered traces, (n_kernels,)."""
    # No bound is below one. `traces` are those of the normalized kernels.
    ratios, scales = np.ones(traces.size), np.ones(traces.size)
    for step in reversed(normalization.steps):
        if isinstance(step, ScaleStep):
            scales = scales * step.factors
        elif isinstance(step, CenterStep):
            # Centering subtracts `mean` from traces, and later steps scale both.
            mean = 2.0 * step.means.sum(axis=1) - step.means.shape[1] * step.grand_means
            removed = scales * mean
            np.divide(4.0 * (traces + removed), traces, out=ratios, where=traces > TINY)
    return np.maximum(ratios, 1.0)


def _ratios_of_kernels(dictionary: KernelDictionary, X: Array, traces: Array) -> Array:
    """Return the `rounding_ratio` of each kernel, shape (n_kernels,)."""
    # `traces` are the traces of the centered, unscaled kernels; nan if unknown.
    if not isinstance(dictionary, InteractionDictionary):
        pairs = enumerate(traces.tolist())
        return np.array([rounding_ratio(dictionary[m], X, trace) for m, trace in pairs])
    terms, mains = np.asarray(dictionary.terms), dictionary.mains
    is_main = terms[:, 1] < 0
    main_traces = np.full(len(mains), np.nan)
    main_traces[terms[is_main, 0]] = traces[is_main]
    # A short list has products of few main kernels, and their traces may be unknown.
    is_used = np.zeros(len(mains), dtype=bool)
    is_used[terms[:, 0]] = is_used[terms[~is_main, 1]] = True
    ratios = np.ones(len(mains))
    for m in np.flatnonzero(is_used).tolist():
        ratios[m] = rounding_ratio(mains[m], X, main_traces[m])
    # A rounding error of a product is a value of one factor times the error of the
    # other, so the relative errors of both factors add up, and so do their ratios.
    second_ratios = np.where(is_main, 0.0, ratios[terms[:, 1]])
    return np.asarray(ratios[terms[:, 0]] + second_ratios)


def rounding_ratio(kernel: Kernel, X: Array, trace: float = np.nan) -> float:
    """Return the ratio of uncentered to centered trace; see `rounding_ratios`."""
    # `trace` is the centered trace, or nan if it is not known. The ratio of a product
    # is the sum of the ratios of its factors.
    if isinstance(kernel, ColumnKernel):
        return rounding_ratio(kernel.kernel, select_columns(X, kernel.columns), trace)
    if isinstance(kernel, ProductKernel):
        return sum(rounding_ratio(factor, X) for factor in kernel.kernels)
    if not isinstance(kernel, CenteredKernel):
        return 1.0
    size = float(kernel.sizes(X).sum())
    if np.isnan(trace):
        trace = float(kernel.diag(X).sum())
    return max(1.0, rounding_ratio(kernel.kernel, X) * size / max(trace, TINY))
