"""Sequences of normalization steps: learned once, applied to any samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import shown
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.steps import (
    CenterStep,
    CosineStep,
    GivenScaleStep,
    Moments,
    ScaleStep,
    Step,
    TraceStep,
    VarianceStep,
)
from multikernel.gram.views import ScaledStack
from multikernel.kernels.base import Kernel, checked_values, kernel_diagonal
from multikernel.linalg.tables import equal_shares


@runtime_checkable
class Normalizer(Protocol):
    """A normalization step with parameters, passed instead of the name of a step."""

    def empty(self, weights: Array, n_kernels: int) -> Step:
        """Return an unfitted step for sample weights and a number of kernels."""


@dataclass(frozen=True, eq=False)
class GivenScales:
    """A normalization step that multiplies each kernel by a given number."""

    factors: Array  # (n_kernels,), the number for each kernel

    def empty(self, weights: Array, n_kernels: int) -> Step:
        """Return the step that multiplies by `factors`; this step needs no fit."""
        return GivenScaleStep(weights, self.factors)


STEPS: dict[str, Normalizer] = {
    "trace": TraceStep,
    "variance": VarianceStep,
    "cosine": CosineStep,
    "center": CenterStep,
}

StepName = str | Normalizer

Steps = StepName | Sequence[StepName] | None
"""Types of a ``normalize`` parameter."""


@dataclass(frozen=True)
class Normalization:
    """The learned normalization steps of a stack, in the order of application."""

    steps: tuple[Step, ...] = ()

    def check(self, n_kernels: int, n_train: int) -> None:
        """Raise unless the arrays of every step have these sizes; see `Step.check`."""
        for step in self.steps:
            step.check(n_kernels, n_train)

    def learn(self, first_kernel: int, matrices: Array) -> None:
        """Fit all steps to `matrices`, which are the kernels from `first_kernel` on."""
        # The matrices, (n_chosen, n_train, n_train), are normalized in place.
        if not self.steps:
            return
        kernels = slice(first_kernel, first_kernel + len(matrices))
        diagonals = np.einsum("mii->mi", matrices).copy()
        for step in self.steps:
            step.learn(kernels, DenseStack(matrices))
            # `apply` changes both diagonals, so it needs two arrays.
            for k, diagonal in enumerate(diagonals):
                step.apply(first_kernel + k, matrices[k], diagonal.copy(), diagonal)

    def learn_moments(self, m: int, moments: Moments) -> None:
        """Learn every step from the moments of kernel m's factor, and apply it."""
        # Afterwards, the moments contain the learned scale s and shift a, and their
        # rows the normalized factor sqrt(s) (Z - 1 a).
        for step in self.steps:
            step.learn_moments(m, moments)

    def learn_scales(self, stack: GramStack, forms: Array | None = None) -> GramStack:
        """Learn every step from a stack, and return the scaled stack.

        `forms`, (n_kernels,), contains w^T K_m w for the sample weights w, if the
        caller has computed it. Raise a `TypeError` if a step does more than scale.
        """
        scales = np.ones(stack.shape[0])
        scaled = stack
        for step in self.steps:
            if not isinstance(step, ScaleStep):
                raise TypeError(
                    f"normalize contains {type(step).__name__}, but learn_scales "
                    "supports only steps that multiply each kernel by a number: use "
                    "'trace' or 'variance'."
                )
            step.learn(slice(None), scaled, None if forms is None else scales * forms)
            scales *= step.factors
            scaled = ScaledStack(stack, scales)
        return scaled

    @property
    def only_scales(self) -> bool:
        """Return whether every step only multiplies each kernel by a number."""
        return all(isinstance(step, ScaleStep) for step in self.steps)

    def factors(self, kernels: Indices) -> Array:
        """Return the product of the factors of all scaling steps, (n_kernels,)."""
        scales = [s.factors[kernels] for s in self.steps if isinstance(s, ScaleStep)]
        return np.asarray(np.prod([np.ones(kernels.size), *scales], axis=0))

    def variances(self) -> Array | None:
        """Return the kernels' variances, (n_kernels,); None if the steps set none."""
        sizes: Array | None = None
        for step in self.steps:
            if isinstance(step, VarianceStep):
                sizes = np.asarray(step.factors > 0.0, dtype=np.float64)
            elif isinstance(step, ScaleStep) and sizes is not None:
                sizes = sizes * step.factors
            elif not isinstance(step, CenterStep):  # centering keeps the variances
                sizes = None
        return sizes

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Apply every step to one kernel, in place; see `Step.apply`."""
        for step in self.steps:
            step.apply(m, K, row_diagonal, diagonal)

    def take(self, kernels: Indices) -> "Normalization":
        """Return the normalization of the chosen kernels."""
        return Normalization(tuple(step.take(kernels) for step in self.steps))


@dataclass(frozen=True, eq=False)
class BuiltStack:
    """A normalized stack, its normalization for new samples, and zero kernels.

    `degenerate` are the indices of kernels whose normalized matrix is zero: they are
    zero on the training data, or constant and then centered or scaled by the variance.
    """

    stack: GramStack
    normalization: Normalization
    degenerate: Indices


def check_steps(normalize: Steps) -> tuple[StepName, ...]:
    """Return one step, several or none as a tuple; raise for unknown names."""
    if normalize is None:
        return ()
    is_many = isinstance(normalize, Sequence) and not isinstance(normalize, str)
    steps: tuple[StepName, ...] = tuple(normalize) if is_many else (normalize,)  # type: ignore[arg-type, assignment]
    for step in steps:
        is_name = isinstance(step, str) and step in STEPS
        if not (is_name or isinstance(step, Normalizer)):
            raise ValueError(
                f"normalize must be None, one of {', '.join(map(repr, STEPS))}, a "
                "normalizer such as TailNormalizer(4), or a sequence of these, got "
                f"{shown(step)}."
            )
    return steps


def divides_centered(normalize: Steps) -> bool:
    """Return whether 'cosine' follows 'center' and divides by centered diagonals."""
    steps = check_steps(normalize)
    return "center" in steps and "cosine" in steps[steps.index("center") :]


def empty_normalization(
    normalize: Steps,
    n_kernels: int,
    n_samples: int,
    sample_weight: Array | None = None,
) -> Normalization:
    """Return unfitted steps for these numbers of kernels and samples."""
    weights, steps = equal_shares(n_samples, sample_weight), list[Step]()
    for step in check_steps(normalize):
        normalizer = STEPS[step] if isinstance(step, str) else step
        steps.append(normalizer.empty(weights, n_kernels))
    return Normalization(tuple(steps))


@dataclass(frozen=True, eq=False)
class BuildOptions:
    """The parameters of `build_stack` that every storage uses."""

    normalize: Steps = None
    sample_weight: Array | None = None
    max_bytes: int | None = None

    def unfitted(self, n_kernels: int, n_samples: int) -> Normalization:
        """Return unfitted steps for these numbers of kernels and samples."""
        weights = self.sample_weight
        return empty_normalization(self.normalize, n_kernels, n_samples, weights)

    def shares(self, n_samples: int) -> Array:
        """Return the sample weights, divided by their sum."""
        return equal_shares(n_samples, self.sample_weight)


def cross_gram(
    kernel: Kernel,
    X_new: Array,
    X_train: Array,
    normalization: Normalization,
    m: int,
    compute: Callable[[], Array] | None = None,
) -> Array:
    """Return kernel `m` of a dictionary between new and training samples, normalized.

    The result has shape (n_new, n_train); if X_new is X_train, it equals the matrix of
    `build_stack`. `compute` is a cheaper function that returns the kernel's values.
    Values that have another shape or are not finite raise a `ValueError`.
    """
    shape = (X_new.shape[0], X_train.shape[0])
    # A copy: a precomputed kernel returns its own array.
    compute = compute or partial(kernel, X_new, X_train)
    K = checked_values(compute, shape, kernel).copy()
    if not normalization.steps:
        return K
    row_diagonal = diagonal = np.empty(0)
    # Steps that only scale need no diagonals. For a custom kernel, a diagonal may take
    # one call per row.
    if not normalization.only_scales:
        row_diagonal = np.array(kernel_diagonal(kernel, X_new), dtype=np.float64)
        diagonal = np.array(kernel_diagonal(kernel, X_train), dtype=np.float64)
    normalization.apply(m, K, row_diagonal, diagonal)
    return K
