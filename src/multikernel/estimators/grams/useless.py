"""Warnings about kernels that are of no use, and errors about invalid ones."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import listed
from multikernel.estimators.read.extent import interactions_of
from multikernel.estimators.read.precomputed import by_name
from multikernel.estimators.read.samples import Samples
from multikernel.exceptions import (
    DegenerateKernelWarning,
    DictionaryWarning,
    IndefiniteKernelError,
    warn_user,
)
from multikernel.gram.checks import ROUNDING, kernel_shapes, shaped_kernels
from multikernel.gram.factors.landmarks import landmarks_of
from multikernel.gram.normalization import check_steps
from multikernel.gram.spectra import TailStep
from multikernel.kernels import (
    CenteredKernel,
    ColumnKernel,
    ExpectedKernel,
    GaussianKernel,
    Kernel,
    KernelDictionary,
    LinearKernel,
    OptionalKernel,
    PolynomialKernel,
    kernel_name,
)
from multikernel.kernels.base import MEMORIZES, checked_values
from multikernel.kernels.builders import RandomSubsetGaussians
from multikernel.kernels.built_in import is_built_in
from multikernel.linalg import EPS
from multikernel.linalg.tables import evenly_spaced

if TYPE_CHECKING:
    from multikernel.estimators.grams.training import Training

NEARLY_CONSTANT = 1e-3
"""A kernel is nearly constant if its entries differ by less than this share of the
largest entry. This holds for a Gaussian that is 22 median distances wide."""

ROUNDED = 1e-8
"""Replaces `NEARLY_CONSTANT` if the variance of a kernel is scaled to one. Then single
precision loses all digits of the difference, and double precision loses half of them.
"""

HIDES = 100.0
"""A column hides others from a kernel if its deviation is this many times their median.
Each of them then contributes a ten-thousandth of its squared distances."""

UNSEEN = 10.0
"""In novelty detection, a column hides another if its deviation is this many times the
other's. Kernels on all columns then miss a row ten deviations from the mean."""

SCALED = (GaussianKernel, LinearKernel, PolynomialKernel)
"""Kernels that depend on the scales of columns."""

ROUNDED_AWAY = (
    "vary by less than the rounding of their values: {}; subtract a constant from "
    "their inputs, for example with StandardScaler"
)
"""Cause and advice for kernels of columns with values far from zero."""


def warn_degenerate(training: "Training") -> None:
    """Warn about kernels that cannot enter the model; raise for distance matrices."""
    degenerate = training.built.degenerate
    # Degenerate kernels are zero on these samples, or constant if kernels are centered.
    if degenerate.size:
        for m in degenerate.tolist():
            _refuse_distances(training, m)
        varies = np.array([_varies(training, m) for m in degenerate.tolist()])
        sentences = []
        for which, cause in [
            (~varies, "are zero or constant on the training data: {}"),
            (varies, ROUNDED_AWAY),
        ]:
            if which.any():
                of, names = _counted(training, degenerate[which])
                sentences.append(f"leaves out {of}, which {cause.format(names)}")
        text = f"{training.source.owner} {'; '.join(sentences)}."
        warn_user(text, DegenerateKernelWarning)
    # Kernels whose spectrum ends before the bounded tail have a separate warning.
    for step in training.built.normalization.steps:
        if isinstance(step, TailStep):
            warn_low_rank(training, step.short, step.theta)


def _counted(training: "Training", kernels: Indices) -> tuple[str, str]:
    """Return the number of some kernels as text, and the names of the first ones."""
    names = listed(training.names(kernels[:5].tolist()), kernels.size)
    return f"{kernels.size} of {training.stack.shape[0]} kernels", names


def _varies(training: "Training", m: int) -> bool:
    """Return whether the values of a kernel differ on some training samples."""
    K = _matrix(training, m, n_rows=30)
    return bool(np.ptp(K) > 8.0 * EPS * np.abs(K).max())


def _refuse_no_kernels(training: "Training") -> None:
    """Raise if values on some samples prove that a user's function is not a kernel."""
    kernels = getattr(training.dictionary, "mains", training.dictionary)
    if kernels is None or all(map(is_built_in, getattr(kernels, "kernels", [None]))):
        return
    X, factored = training.samples.seen, landmarks_of(training.stack) is not None
    centered = "center" in check_steps(training.source.options.normalize)
    few_rows, many_rows = (X[evenly_spaced(len(X), n_rows)] for n_rows in (30, 100))
    for m in range(len(kernels)):
        if not is_built_in(kernels[m]):
            _refuse_no_function_of_two(kernels[m], m, few_rows)
            # Factors are not checked after a fit, as dense matrices are, so more values
            # are checked here.
            if factored:
                _refuse_negative(kernels[m], m, many_rows, centered=centered)


def _refuse_negative(kernel: Kernel, m: int, rows: Array, *, centered: bool) -> None:
    """Raise if the matrix of kernel `m` on some samples has a negative eigenvalue."""
    K = np.asarray(kernel(rows), dtype=np.float64)
    if centered:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    lowest = float(np.linalg.eigvalsh(K)[0])
    if lowest < -ROUNDING * np.abs(K.diagonal()).sum():
        raise IndefiniteKernelError(
            f"Kernel {m} ({kernel_name(kernel)}) is not positive semidefinite: on "
            f"{len(K)} samples its smallest eigenvalue is {lowest:.3g}, its trace "
            f"{K.trace():.3g}. Use another kernel.",
            m,
        )


def _refuse_no_function_of_two(kernel: Kernel, m: int, rows: Array) -> None:
    """Raise unless values of kernel `m` are symmetric functions of two samples."""
    name, half = f"Kernel {m} ({kernel_name(kernel)})", rows[: (len(rows) + 1) // 2]
    K, part = (
        checked_values(partial(kernel, X, rows), (len(X), len(rows)), name)
        for X in (rows, half)
    )
    for values, cause in [
        (K.T, "the order of the two samples"),
        (part, "other samples of the same call"),
    ]:
        difference = np.abs(K[: len(values)] - values)
        if difference.max() > ROUNDING * np.abs(K).max():
            i, j = np.unravel_index(int(np.argmax(difference)), difference.shape)
            raise ValueError(
                f"{name} depends on {cause}: for two samples its value is {K[i, j]:g} "
                f"or {values[i, j]:g}. A kernel is a symmetric function of two samples "
                "alone: see multikernel.testing.check_kernel."
            )


def _matrix(training: "Training", m: int, n_rows: int) -> Array:
    """Return the Gram matrix of a kernel on at most `n_rows` training samples."""
    X = training.samples.seen
    rows = evenly_spaced(len(X), n_rows)
    if training.dictionary is None:
        return np.asarray(X[np.ix_(rows, rows)][:, :, m])
    return training.dictionary[m](X[rows])


def _refuse_distances(training: "Training", m: int) -> None:
    """Raise for a non-constant matrix without variance, such as one of distances."""
    # A positive semidefinite kernel without variance is constant on the samples.
    dictionary = training.dictionary
    if dictionary is not None and is_built_in(dictionary[m]):
        return
    K = _matrix(training, m, n_rows=1000)
    # Rounding may hide the variance of kernels that differ by less.
    allowed = max(ROUNDING, 10.0 * np.sqrt(np.finfo(K.dtype).eps))
    if np.ptp(K) <= allowed * np.abs(K).max():
        return
    what = "its diagonal is smaller than its other values on average"
    if not K.diagonal().any():
        what = "its diagonal is 0 and other values are not"
    error = IndefiniteKernelError(
        f"Gram matrix {m} is not positive semidefinite: {what}. If this is a matrix D "
        "of distances, pass a kernel of D, such as exp(-D). Otherwise remove the "
        "matrix.",
        m,
    )
    named = not training.precomputed or training.names.given
    raise by_name(error, training.names([m])[0]) if named else error


def warn_low_rank(training: "Training", short: NDArray[np.bool_], theta: int) -> None:
    """Warn about kernels whose spectrum ends before the tail that bounds weights."""
    # The matrices of `short` kernels have at most `theta` nonzero eigenvalues.
    if not short.any():
        return
    n_samples, owner = training.stack.shape[1], training.source.owner
    of, names = _counted(training, np.flatnonzero(short))
    message = (
        f"{owner}: {of} have rank {theta} or less, so their eigenvalues beyond the "
        f"first theta={theta} are zero and do not bound their weights: {names}. Lower "
        "theta, or remove these kernels."
    )
    if theta >= n_samples:
        message = (
            f"{owner}: theta={theta} has no effect, because a matrix on {n_samples} "
            f"samples has only {n_samples} eigenvalues. Choose a theta far below the "
            "number of samples."
        )
    warn_user(message, DegenerateKernelWarning)


def check_kernels(training: "Training") -> None:
    """Raise for functions that are no kernels; warn about kernels of little use."""
    source, samples = training.source, training.samples
    _refuse_no_kernels(training)
    # Matrices of searches are checked for degenerate kernels later.
    if not source.parts:
        warn_degenerate(training)
    # Only the columns of default kernels are checked.
    sentences = [] if source.kernels is None else _useless(training)
    hiding = _hiding(training.dictionary, samples, novelty=source.novelty)
    if hiding:
        names = listed([_column_name(samples, column) for column in hiding])
        others = f"{HIDES:g} times that of the other columns"
        # In novelty detection no column may be hidden.
        if source.novelty:
            others = f"{UNSEEN:g} times that of another column, whose outliers it hides"
        sentences.append(
            f"kernels on several columns depend on little but {names}, whose standard "
            f"deviation is over {others}: standardize the columns, for example with "
            "StandardScaler"
        )
    if sentences:
        warn_user(f"{source.owner}: {'; '.join(sentences)}.", DictionaryWarning)


def _useless(training: "Training") -> list[str]:
    """Return sentences about kernels near the identity, and near a constant."""
    looked_at = shaped_kernels(training.stack)
    spans, ratios = kernel_shapes(training.stack)
    steps = check_steps(training.source.options.normalize)
    scaled = any(step in steps for step in ("variance", "center"))
    constant = spans < (ROUNDED if scaled else NEARLY_CONSTANT)
    # Degenerate kernels are already named by another warning.
    constant[np.isin(looked_at, training.built.degenerate)] = False
    cases = {
        "can only memorize, because they are almost zero between any two training "
        "samples: {}; remove them, or make them wider": ratios < MEMORIZES,
        "are nearly constant on the training data: {}; make them narrower, or use "
        "normalize='variance'": constant,
    }
    sentences = []
    for sentence, which in cases.items():
        if which.any():
            of, names = _counted(training, looked_at[which])
            sentences.append(f"{of} {sentence.format(names)}")
    return sentences


def _deviations(X: Array, n_columns: int) -> Array:
    """Return the standard deviations of the first columns, nan for empty ones."""
    # Ten thousand rows are enough for a warning.
    values = X[evenly_spaced(X.shape[0], 10_000), :n_columns]
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = np.std(values, axis=0)
        # Only columns with gaps use nanstd, which is seven times as slow.
        gaps = np.isnan(deviations) & ~np.isnan(values).all(axis=0)
        if gaps.any():
            deviations[gaps] = np.nanstd(values[:, gaps], axis=0)
    return np.asarray(deviations)


def _hiding(
    dictionary: KernelDictionary | None, samples: Samples, *, novelty: bool
) -> list[int]:
    """Return columns so large that kernels on several columns ignore the others."""
    layout, X = samples.table.layout, samples.seen
    if dictionary is None or isinstance(dictionary, RandomSubsetGaussians):
        return []
    if not isinstance(X, np.ndarray):
        return []
    n_columns = len(layout.numeric)
    deviations, times = _deviations(X, n_columns), UNSEEN if novelty else HIDES
    spreads = deviations[deviations > 0.0]
    if spreads.size < 2 or spreads.max() <= times * spreads.min():
        return []
    hiding = set()
    for columns in _column_sets(dictionary, n_columns):
        spreads = deviations[list(columns)]
        varying = np.sort(spreads[spreads > 0.0])
        # A single column has no other to hide.
        if varying.size < 2:
            continue
        hidden = varying[0] if novelty else np.median(varying[:-1])
        if varying[-1] > times * hidden:
            hiding.add(columns[int(np.nanargmax(spreads))])
    return sorted(hiding)


def _column_sets(dictionary: KernelDictionary, n: int) -> set[tuple[int, ...]]:
    """Return the sets of columns whose scales matter to a kernel."""
    pairs = interactions_of(dictionary)
    dictionary = dictionary if pairs is None else pairs.mains
    sets = set()
    for m in range(len(dictionary)):
        kernel = dictionary[m]
        columns: Any = range(n)
        if isinstance(kernel, ColumnKernel):
            columns, kernel = kernel.columns, kernel.kernel
        if isinstance(kernel, CenteredKernel | OptionalKernel | ExpectedKernel):
            kernel = kernel.kernel
        if isinstance(columns, slice):
            columns = range(n)[columns]
        if isinstance(kernel, SCALED):
            sets.add(tuple(columns))
    return sets


def _column_name(samples: Samples, column: int) -> str:
    """Return the name of a column of the table."""
    layout = samples.table.layout
    return layout.name(layout.numeric[column])
