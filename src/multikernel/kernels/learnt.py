"""What kernels learn from training samples without their labels: widths, landmarks."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch

from multikernel._typing import Array
from multikernel.kernels.base import Kernel, KernelDictionary, kernel_name
from multikernel.kernels.columns import ColumnKernel, Columns, select_columns
from multikernel.kernels.dictionary import (
    ListDictionary,
    ParameterGrid,
    kernel_names,
    told_apart,
)
from multikernel.kernels.gaussian import MEDIAN, GaussianKernel, RadialDictionary
from multikernel.kernels.median import distinct_rows, median_between
from multikernel.kernels.polynomial import LinearKernel
from multikernel.kernels.sampled import NystroemKernel, RandomFourierFeatures
from multikernel.kernels.views import OptionalKernel, present_rows


@dataclass(frozen=True, eq=False)
class Lesson:
    """Samples to learn from, their weights, and what was asked for on some columns."""

    X: Array
    sample_weight: Array | None
    known: dict[Hashable, object] = field(default_factory=dict)

    @cached_property
    def distinct(self) -> tuple[Array, Array]:
        """Return some rows that differ, and their weights."""
        rows, weights, _ = distinct_rows(self.X, self.sample_weight)
        return rows, weights

    def seen(self, columns: Columns | None) -> Array:
        """Return the samples on the columns that a kernel sees."""
        return self.X if columns is None else select_columns(self.X, columns)

    def median(self, columns: Columns | None) -> float:
        """Return the median distance there, learnt once for all kernels."""
        key = ("median", repr(columns))
        if key not in self.known:
            rows, weights = self.distinct
            chosen = rows if columns is None else select_columns(rows, columns)
            self.known[key] = median_between(chosen, weights)
        found = self.known[key]
        assert isinstance(found, float)
        return found

    def present(self, columns: Columns | None) -> "Lesson":
        """Return the samples that have these columns, without all others."""
        key = ("present", repr(columns))
        if key not in self.known:
            X = self.seen(columns)
            rows = present_rows(X)
            own = None if self.sample_weight is None else self.sample_weight[rows]
            self.known[key] = Lesson(X[rows], own)
        found = self.known[key]
        assert isinstance(found, Lesson)
        return found


@singledispatch
def learnt_kernel(
    kernel: Kernel, lesson: Lesson, columns: Columns | None = None
) -> Kernel:
    """Return a kernel with what it learns from samples on its columns, all for None."""
    return kernel


@learnt_kernel.register
def _gaussian_of_median(
    kernel: GaussianKernel, lesson: Lesson, columns: Columns | None = None
) -> Kernel:
    if kernel.sigma != MEDIAN:
        return kernel
    # The number in the kernel's name is then its width, not a rounded one.
    sigma = float(f"{kernel.multiple * lesson.median(columns):.3g}")
    return replace(kernel, sigma=sigma, multiple=1.0)


@learnt_kernel.register
def _nystroem_with_landmarks(
    kernel: NystroemKernel, lesson: Lesson, columns: Columns | None = None
) -> Kernel:
    inner = learnt_kernel(kernel.kernel, lesson, columns)
    known = kernel if inner is kernel.kernel else replace(kernel, kernel=inner)
    return known.learnt(lesson.seen(columns))


@learnt_kernel.register
def _fourier_of_median(
    kernel: RandomFourierFeatures, lesson: Lesson, columns: Columns | None = None
) -> Kernel:
    inner = learnt_kernel(kernel.gaussian, lesson, columns)
    assert isinstance(inner, GaussianKernel)
    return kernel if inner is kernel.gaussian else replace(kernel, gaussian=inner)


@learnt_kernel.register
def _optional_kernel(
    kernel: OptionalKernel, lesson: Lesson, columns: Columns | None = None
) -> Kernel:
    inner = learnt_kernel(kernel.kernel, lesson.present(columns))
    return kernel if inner is kernel.kernel else replace(kernel, kernel=inner)


@learnt_kernel.register
def _kernel_on_columns(
    kernel: ColumnKernel, lesson: Lesson, columns: Columns | None = None
) -> Kernel:
    inner = learnt_kernel(kernel.kernel, lesson, kernel.columns)
    return kernel if inner is kernel.kernel else replace(kernel, kernel=inner)


def learnt_dictionary(
    dictionary: KernelDictionary, X: Array, sample_weight: Array | None = None
) -> KernelDictionary:
    """Return a dictionary whose kernels have learnt what they need from samples.

    It is the same one where no kernel learns anything. A name that a kernel has given
    itself follows what it has learnt.
    """
    if isinstance(dictionary, RadialDictionary):
        return dictionary
    lesson = Lesson(X, sample_weight)
    if type(dictionary) is ParameterGrid:
        first = ColumnKernel(LinearKernel(), dictionary.column_sets[0]).columns
        own = dictionary.kernels
        if all(learnt_kernel(kernel, lesson, first) is kernel for kernel in own):
            return dictionary
    kernels = [dictionary[m] for m in range(len(dictionary))]
    learnt = [learnt_kernel(kernel, lesson) for kernel in kernels]
    if all(new is old for new, old in zip(learnt, kernels, strict=True)):
        return dictionary
    triples = zip(kernel_names(dictionary), kernels, learnt, strict=True)
    names = [
        name.replace(kernel_name(old), kernel_name(new)) if new is not old else name
        for name, old, new in triples
    ]
    return ListDictionary(learnt, told_apart(names))
