"""What a fit says about kernels that are of no use, and about refused ones."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from multikernel.certificates import check_combination
from multikernel.estimators.data.grams import Grams
from multikernel.estimators.data.read import listed
from multikernel.exceptions import (
    DegenerateKernelWarning,
    DictionaryWarning,
    IndefiniteKernelError,
)
from multikernel.gram import (
    BuiltStack,
    DenseStack,
    GramStack,
)
from multikernel.gram.memorising import memorising_kernels
from multikernel.gram.scaled import ScaledStack
from multikernel.gram.tail import TailStep


def warn_degenerate(owner: str, grams: Grams) -> None:
    """Name the kernels that cannot enter the model.

    Parameters
    ----------
    owner : str
        The estimator.
    grams : Grams
        Its training matrices.

    Warns
    -----
    DegenerateKernelWarning
        If kernels are zero (or constant, where that counts) on these samples.
    """
    degenerate = grams.built.degenerate
    if degenerate.size:
        names = grams.names(degenerate[:5].tolist())
        warnings.warn(
            f"{owner} leaves out {degenerate.size} of {grams.stack.shape[0]} kernels, "
            "which are zero or constant on the training data: "
            f"{listed(names, degenerate.size)}.",
            DegenerateKernelWarning,
            stacklevel=5,
        )
    built = grams.built
    # The nodes of a graph of kernels are no stack, and nothing scales them.
    for step in built.normalization.steps if isinstance(built, BuiltStack) else ():
        if isinstance(step, TailStep):
            warn_short(owner, grams, step.short, step.theta)


def warn_short(owner: str, grams: Grams, short: NDArray[np.bool_], theta: int) -> None:
    """Name the kernels whose spectrum ends before the tail that is to bound them.

    Parameters
    ----------
    owner : str
        The estimator.
    grams : Grams
        Its training matrices.
    short : ndarray of bool of shape (n_kernels,)
        Which kernels have no tail.
    theta : int
        How many leading eigenvalues are free.

    Warns
    -----
    DegenerateKernelWarning
        If there is such a kernel.
    """
    found = np.flatnonzero(short)
    if found.size:
        names = grams.names(found[:5].tolist())
        warnings.warn(
            f"{owner}: {found.size} of {short.size} kernels have rank {theta} or less "
            "and no tail beyond it, so that 1e-6 of their trace stands for one and "
            f"they are nearly free: {listed(names, found.size)}. Lower theta, or leave "
            "them out.",
            DegenerateKernelWarning,
            stacklevel=5,
        )


def warn_memorising(owner: str, grams: Grams) -> None:
    """Name the kernels that can fit any labels, and say nothing about new samples.

    Parameters
    ----------
    owner : str
        The estimator.
    grams : Grams
        Its training matrices.

    Warns
    -----
    DictionaryWarning
        If there are such kernels, see `memorising_kernels`.
    """
    found = memorising_kernels(grams.stack)
    if found.size:
        names = grams.names(found[:5].tolist())
        warnings.warn(
            f"{owner}: {found.size} of {grams.stack.shape[0]} kernels can only "
            "memorise, as no training sample is close to another for them: "
            f"{listed(names, found.size)}. Leave them out, or make them wider.",
            DictionaryWarning,
            stacklevel=4,
        )


@contextmanager
def naming_the_kernel(grams: Grams) -> Iterator[None]:
    """Add a kernel's readable name to the complaint about its matrix."""
    try:
        with _finding_the_kernel(grams.stack):
            yield
    except IndefiniteKernelError as error:
        if error.kernel is None or grams.dictionary is None:
            raise
        name = grams.names([error.kernel])[0]
        raise IndefiniteKernelError(f"{name}: {error}", error.kernel) from error


@contextmanager
def _finding_the_kernel(stack: GramStack) -> Iterator[None]:
    """Search for the kernel where a complaint names none and matrices are held."""
    try:
        yield
    except IndefiniteKernelError as error:
        held = stack.stack if isinstance(stack, ScaledStack) else stack
        if error.kernel is None and isinstance(held, DenseStack):
            check_combination(stack, np.ones(stack.shape[0]))
        raise
