"""Fit widths, landmarks and means of kernels to the samples, ignoring the targets."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from multikernel._typing import Array
from multikernel.kernels import (
    CenteredKernel,
    ColumnKernel,
    ExpectedKernel,
    GaussianKernel,
    Kernel,
    KernelDictionary,
    ListDictionary,
    NystroemKernel,
    OptionalKernel,
    ProductKernel,
    RandomFourierFeatures,
    kernel_name,
    kernel_names,
)
from multikernel.kernels.builders import RandomSubsetGaussians
from multikernel.kernels.columns import Columns, select_columns
from multikernel.kernels.dictionary import unique_names
from multikernel.kernels.expected import fill_gaps
from multikernel.kernels.gaussian import MEDIAN
from multikernel.kernels.median import (
    distinct_rows,
    median_row_distance,
    rounded_width,
)
from multikernel.kernels.sparse import SparseKernel
from multikernel.kernels.views import present_rows


@dataclass(frozen=True, eq=False)
class Sample:
    """Samples to which kernels are fitted, with weights and cached median distances."""

    X: Array
    sample_weight: Array | None
    medians: dict[str, float] = field(default_factory=dict)

    @cached_property
    def distinct(self) -> tuple[Array, Array]:
        """The distinct rows and their weights."""
        rows, weights, _ = distinct_rows(self.X, self.sample_weight)
        return rows, weights

    def select(self, columns: Columns | None) -> Array:
        """Return the samples on `columns`; None means all columns."""
        return self.X if columns is None else select_columns(self.X, columns)

    def median(self, columns: Columns | None) -> float:
        """Return the median distance between rows on `columns`, and cache it."""
        key = repr(columns)
        if key not in self.medians:
            rows, weights = self.distinct
            table = rows if columns is None else select_columns(rows, columns)
            self.medians[key] = median_row_distance(table, weights)
        return self.medians[key]

    def for_inner_kernel(
        self, kernel: Kernel, columns: Columns | None
    ) -> "tuple[Sample, Columns | None] | None":
        """Return the data to fit the inner kernel of `kernel`; None if it has none."""
        if isinstance(kernel, ColumnKernel):
            return self, kernel.columns
        if isinstance(kernel, OptionalKernel):
            X, weights = self.select(columns), self.sample_weight
            rows = present_rows(X)
            return Sample(X[rows], None if weights is None else weights[rows]), None
        if isinstance(kernel, ExpectedKernel):
            return Sample(fill_gaps(self.select(columns)), self.sample_weight), None
        if isinstance(kernel, SparseKernel):
            distinct, shares = self.distinct
            return Sample(kernel.nonzero_columns(distinct), shares), None
        keeps_samples = NystroemKernel | CenteredKernel | RandomFourierFeatures
        return (self, columns) if isinstance(kernel, keeps_samples) else None


def learnt_kernel(
    kernel: Kernel, samples: Sample, columns: Columns | None = None
) -> Kernel:
    """Return a kernel fitted to the samples on `columns`; None means all columns."""
    if isinstance(kernel, GaussianKernel):
        if kernel.sigma != MEDIAN:
            return kernel
        sigma = rounded_width(kernel.multiple * samples.median(columns))
        return replace(kernel, sigma=sigma, multiple=1.0)
    if isinstance(kernel, ProductKernel):
        factors = [learnt_kernel(factor, samples, columns) for factor in kernel.kernels]
        return replace(kernel, kernels=factors)
    inner_samples = samples.for_inner_kernel(kernel, columns)
    if inner_samples is None:
        return kernel
    name = "gaussian" if isinstance(kernel, RandomFourierFeatures) else "kernel"
    inner = getattr(kernel, name)
    new = learnt_kernel(inner, *inner_samples)
    learnt = kernel if new is inner else replace(kernel, **{name: new})  # type: ignore[type-var]
    return _with_samples(learnt, samples, columns)


def _with_samples(kernel: Kernel, fit: Sample, columns: Columns | None) -> Kernel:
    """Return `kernel` with landmarks or means of the samples, if it requires them."""
    if isinstance(kernel, NystroemKernel):
        return kernel.learnt(fit.select(columns))
    if isinstance(kernel, CenteredKernel):
        return kernel.learnt(fit.select(columns), fit.sample_weight)
    if isinstance(kernel, ExpectedKernel) and kernel.learnt is None:
        return kernel.learnt_from(fit.select(columns), fit.sample_weight)
    return kernel


def learnt_dictionary(
    dictionary: KernelDictionary, X: Array, sample_weight: Array | None = None
) -> KernelDictionary:
    """Return a dictionary whose kernels are fitted to the rows of X."""
    if isinstance(dictionary, RandomSubsetGaussians):
        return dictionary
    samples = Sample(X, sample_weight)
    kernels = [dictionary[m] for m in range(len(dictionary))]
    learnt = [learnt_kernel(kernel, samples) for kernel in kernels]
    kernel_pairs = list(zip(kernel_names(dictionary), kernels, learnt, strict=True))
    if all(new is old for _, old, new in kernel_pairs):
        return dictionary
    # In names, the default name of a kernel is replaced by that of the fitted kernel.
    names = [
        name.replace(kernel_name(old), kernel_name(new)) if new is not old else name
        for name, old, new in kernel_pairs
    ]
    return ListDictionary(learnt, unique_names(names))
