"""Warnings about kernels that are of no use, and errors about invalid kernels."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel._validation import (
    ZERO_DIAGONAL,
    has_zero_diagonal,
    listed,
    not_semidefinite,
)
from multikernel.estimators.read.precomputed import by_name
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.tables import sample_kernels
from multikernel.exceptions import (
    DegenerateKernelWarning,
    DictionaryWarning,
    IndefiniteKernelError,
    warn_user,
)
from multikernel.gram.checks import ROUNDING, non_product_kernels, trivial_distances
from multikernel.gram.factors.landmarks import landmarks_of
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
from multikernel.kernels.interactions import mains_of
from multikernel.linalg import EPS
from multikernel.linalg.tables import evenly_spaced

if TYPE_CHECKING:
    from multikernel.estimators.grams.training import Training

# A Gaussian kernel whose width is 22 median distances is at this limit.
NEARLY_CONSTANT = 1e-3
"""Entries of a nearly constant kernel differ by less than this share of the largest."""

# A difference this small has no correct digit in single precision, and half of the
# digits in double precision.
CONSTANT_WHEN_SCALED = 1e-8
"""`NEARLY_CONSTANT` for kernels with variance scaled to one."""

# At this ratio, a hidden column contributes a ten-thousandth of squared distances.
DOMINANCE_RATIO = 100.0
"""A column hides others if its deviation exceeds their median by this factor."""

# At this ratio, kernels on both columns do not reveal a row whose value in the column
# of smaller scale is ten standard deviations from the mean of that column.
NOVELTY_RATIO = 10.0
"""Ratio of two columns' deviations above which one hides outliers of the other."""

SCALE_DEPENDENT = (GaussianKernel, LinearKernel, PolynomialKernel)
"""Kernels that depend on the scales of columns."""

ROUNDED_AWAY = "vary by less than the rounding errors of their values: {}; "
SUBTRACT_MEANS = "subtract the means of their columns, for example with StandardScaler"
CENTER_FEATURES = "compute these matrices from centered features"


def warn_degenerate(training: "Training") -> None:
    """Warn about kernels that cannot enter the model; raise for distance matrices."""
    degenerate = training.built.degenerate
    # Degenerate kernels are zero after normalization: they are zero on the training
    # samples, or constant there and then centered or scaled by the variance.
    if degenerate.size:
        for m in degenerate.tolist():
            _refuse_distances(training, m)
        varies = np.array([_varies(training, m) for m in degenerate.tolist()])
        is_given = are_given(training, degenerate)
        sentences = []
        for mask, cause in [
            (~varies, "are zero or constant on the training data: {}; remove them"),
            (varies & ~is_given, f"{ROUNDED_AWAY}{SUBTRACT_MEANS}"),
            (varies & is_given, f"{ROUNDED_AWAY}{CENTER_FEATURES}, or remove them"),
        ]:
            if mask.any():
                count, names = _count_and_names(training, degenerate[mask])
                sentences.append(f"ignores {count}, which {cause.format(names)}")
        message = f"{training.source.owner} {'. It '.join(sentences)}."
        warn_user(message, DegenerateKernelWarning)
    # A kernel of rank `theta` or less has no eigenvalues to bound its weight, so it
    # gets a separate warning.
    for step in training.built.normalization.steps:
        if isinstance(step, TailStep):
            warn_low_rank(training, step.short, step.theta)


def _count_and_names(training: "Training", kernels: Indices) -> tuple[str, str]:
    """Return the number of kernels and the names of the first few, both as text."""
    names = listed(training.names(kernels[:5].tolist()), kernels.size)
    return f"{kernels.size} of {training.stack.shape[0]} kernels", names


def are_given(training: "Training", kernels: Indices) -> Mask:
    """Return a mask of the kernels that use a Gram matrix given by the user."""
    dictionary = training.dictionary
    if dictionary is None:
        return np.ones(kernels.size, dtype=bool)
    found = [[*sample_kernels([dictionary[m]])] for m in kernels.tolist()]
    return np.array([bool(matrices) for matrices in found], dtype=bool)


def _varies(training: "Training", m: int) -> bool:
    """Return whether kernel m has different values on 30 training samples."""
    K = _small_matrix(training, m, n_rows=30)
    return bool(np.ptp(K) > 8.0 * EPS * np.abs(K).max())


def _refuse_non_kernels(training: "Training") -> None:
    """Raise if values on some samples prove that a user's function is not a kernel."""
    kernels = getattr(training.dictionary, "mains", training.dictionary)
    if kernels is None or all(map(is_built_in, getattr(kernels, "kernels", [None]))):
        return
    X, factored = training.samples.seen, landmarks_of(training.stack) is not None
    centered = "center" in training.source.options.normalize
    few_rows, many_rows = (X[evenly_spaced(len(X), n_rows)] for n_rows in (30, 100))
    for m in range(len(kernels)):
        if not is_built_in(kernels[m]):
            _refuse_asymmetric(kernels[m], m, few_rows)
            # Unlike dense matrices, factors are not checked after a fit, so more values
            # are checked here.
            if factored:
                _refuse_negative(kernels[m], m, many_rows, centered=centered)


def _refuse_negative(kernel: Kernel, m: int, rows: Array, *, centered: bool) -> None:
    """Raise if the matrix of kernel `m` on `rows` has a negative eigenvalue."""
    # If `centered`, the centered matrix is tested, as the fit uses it.
    K = np.asarray(kernel(rows), dtype=np.float64)
    if centered:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    lowest = float(np.linalg.eigvalsh(K)[0])
    if lowest < -ROUNDING * np.abs(K.diagonal()).sum():
        raise IndefiniteKernelError(
            f"Kernel {m} ({kernel_name(kernel)}) is not positive semidefinite: on "
            f"{len(K)} samples its smallest eigenvalue is {lowest:.3g}, and its trace "
            f"is {K.trace():.3g}. Use another kernel.",
            m,
        )


def _refuse_asymmetric(kernel: Kernel, m: int, rows: Array) -> None:
    """Raise unless values of kernel `m` are symmetric functions of two samples."""
    name, half = f"Kernel {m} ({kernel_name(kernel)})", rows[: (len(rows) + 1) // 2]
    K, half_K = (
        checked_values(partial(kernel, X, rows), (len(X), len(rows)), name)
        for X in (rows, half)
    )
    for values, cause in [
        (K.T, "the order of the two samples"),
        (half_K, "the other samples of a call"),
    ]:
        difference = np.abs(K[: len(values)] - values)
        if difference.max() > ROUNDING * np.abs(K).max():
            i, j = np.unravel_index(int(np.argmax(difference)), difference.shape)
            raise ValueError(
                f"{name} depends on {cause}: for the same two samples its value is "
                f"{K[i, j]:.9g} or {values[i, j]:.9g}. A kernel must be a symmetric "
                "function of only two samples: correct it, and test it with "
                "multikernel.testing.check_kernel."
            )


def _small_matrix(training: "Training", m: int, n_rows: int) -> Array:
    """Return the Gram matrix of a kernel on at most `n_rows` training samples."""
    # Without a dictionary, the samples are precomputed matrices, one per kernel.
    X = training.samples.seen
    rows = evenly_spaced(len(X), n_rows)
    if training.dictionary is None:
        return np.asarray(X[np.ix_(rows, rows)][:, :, m])
    return training.dictionary[m](X[rows])


def _refuse_distances(training: "Training", m: int) -> None:
    """Raise if kernel `m` is not constant, although its features do not vary."""
    # A positive semidefinite kernel whose features have no positive variance is
    # constant on the samples. One that is not constant is not positive semidefinite;
    # it may be a matrix of distances.
    dictionary = training.dictionary
    if dictionary is not None and is_built_in(dictionary[m]):
        return
    K = _small_matrix(training, m, n_rows=1000)
    # If the values of K differ by at most this share of the largest absolute value, the
    # features may have a variance that rounding hides.
    allowed = max(ROUNDING, 10.0 * np.sqrt(np.finfo(K.dtype).eps))
    if np.ptp(K) <= allowed * np.abs(K).max():
        return
    finding = "its diagonal is smaller than its other values on average"
    if has_zero_diagonal(K):
        finding = ZERO_DIAGONAL
    error = not_semidefinite(f"Gram matrix {m}", finding, m)
    has_names = not training.precomputed or training.names.given
    raise by_name(error, training.names([m])[0]) if has_names else error


def warn_low_rank(training: "Training", has_low_rank: Mask, theta: int) -> None:
    """Warn about kernels of rank `theta` or less, whose weights have no bound."""
    # `has_low_rank` marks these kernels. Tail sums bound a kernel's weight by its
    # eigenvalues beyond the first `theta`, which are zero here.
    if not has_low_rank.any():
        return
    n_samples, owner = training.stack.shape[1], training.source.owner
    count, names = _count_and_names(training, np.flatnonzero(has_low_rank))
    message = (
        f"{owner}: {count} have rank {theta} or less, so their eigenvalues beyond the "
        f"first theta={theta} are zero and do not bound their weights: {names}. Lower "
        "theta, or remove these kernels."
    )
    if theta >= n_samples:
        message = (
            f"{owner}: theta={theta} has no effect, because a matrix on {n_samples} "
            f"samples has only {n_samples} eigenvalues. Pass a theta far below the "
            "number of samples."
        )
    warn_user(message, DegenerateKernelWarning)


def check_kernels(training: "Training") -> None:
    """Raise for functions that are no kernels; warn about kernels of little use."""
    source, samples = training.source, training.samples
    _refuse_non_kernels(training)
    # A search warns of degenerate kernels after it has normalized the matrices.
    if not source.parts:
        warn_degenerate(training)
    # For default kernels, only the scales of the columns are checked.
    sentences = [] if source.kernels is None else _describe_useless(training)
    dominant = _dominant_columns(training.dictionary, samples, novelty=source.novelty)
    if dominant:
        layout = samples.table.layout
        names = listed([layout.name(layout.numeric[column]) for column in dominant])
        limit = f"{DOMINANCE_RATIO:g} times that of the other columns"
        # Novelty detection requires that every column can reveal an unusual sample.
        if source.novelty:
            limit = f"{NOVELTY_RATIO:g} times that of a column whose outliers it hides"
        sentences.append(
            f"kernels on several columns depend almost only on {names}, whose standard "
            f"deviation is more than {limit}: standardize the columns, for example "
            "with StandardScaler"
        )
    if sentences:
        warn_user(f"{source.owner}: {'; '.join(sentences)}.", DictionaryWarning)


def _describe_useless(training: "Training") -> list[str]:
    """Return warnings about kernels with nearly diagonal or constant matrices."""
    checked = non_product_kernels(training.stack)
    spans, ratios = trivial_distances(training.stack)
    steps = training.source.options.normalize
    scaled = "variance" in steps or "center" in steps
    is_constant = spans < (CONSTANT_WHEN_SCALED if scaled else NEARLY_CONSTANT)
    # Degenerate kernels are already named by another warning.
    is_constant[np.isin(checked, training.built.degenerate)] = False
    is_given = is_constant.copy()
    is_given[is_constant] = are_given(training, checked[is_constant])
    advice = "make them narrower, or use normalize='variance'"
    if scaled:
        advice = f"make Gaussian kernels narrower; for other kernels, {SUBTRACT_MEANS}"
    cause = "are nearly constant on the training data: {}; "
    cases = {
        "can only memorize the targets, because they are almost zero between any two "
        "training samples: {}; remove them, or make them wider": ratios < MEMORIZES,
        f"{cause}{advice}": is_constant & ~is_given,
        f"{cause}{CENTER_FEATURES}, or center them, for example with "
        "sklearn.preprocessing.KernelCenterer": is_given,
    }
    sentences = []
    for sentence, mask in cases.items():
        if mask.any():
            count, names = _count_and_names(training, checked[mask])
            sentences.append(f"{count} {sentence.format(names)}")
    return sentences


def _deviations(X: Array, n_columns: int) -> Array:
    """Return the standard deviations of the first columns, nan for empty columns."""
    # Ten thousand rows are enough for a warning.
    values = X[evenly_spaced(X.shape[0], 10_000), :n_columns]
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = np.std(values, axis=0)
        # Only columns with gaps use nanstd, which is seven times as slow.
        has_gaps = np.isnan(deviations) & ~np.isnan(values).all(axis=0)
        if has_gaps.any():
            deviations[has_gaps] = np.nanstd(values[:, has_gaps], axis=0)
    # The computed deviation of a constant column may be a rounding error.
    deviations[np.fmin.reduce(values) == np.fmax.reduce(values)] = 0.0
    return np.asarray(deviations)


def _dominant_columns(
    dictionary: KernelDictionary | None, samples: Samples, *, novelty: bool
) -> list[int]:
    """Return columns of such large scale that kernels hardly depend on the others."""
    # The scale of a column is its standard deviation. It is large if it exceeds
    # `DOMINANCE_RATIO` times the median scale of the kernel's other columns; with
    # `novelty`, if it exceeds `NOVELTY_RATIO` times their smallest scale.
    layout, X = samples.table.layout, samples.seen
    if dictionary is None or isinstance(dictionary, RandomSubsetGaussians):
        return []
    if not isinstance(X, np.ndarray):
        return []
    n_columns = len(layout.numeric)
    deviations = _deviations(X, n_columns)
    ratio = NOVELTY_RATIO if novelty else DOMINANCE_RATIO
    positive = deviations[deviations > 0.0]
    if positive.size < 2 or positive.max() <= ratio * positive.min():
        return []
    dominant = set()
    for columns in _column_sets(dictionary, n_columns):
        spreads = deviations[list(columns)]
        ascending = np.sort(spreads[spreads > 0.0])
        # If only one column varies, there is no other column to depend on.
        if ascending.size < 2:
            continue
        reference = ascending[0] if novelty else np.median(ascending[:-1])
        if ascending[-1] > ratio * reference:
            dominant.add(columns[int(np.nanargmax(spreads))])
    return sorted(dominant)


def _column_sets(dictionary: KernelDictionary, n: int) -> set[tuple[int, ...]]:
    """Return the column sets of all kernels that change if a column is scaled."""
    # `n` is the number of numeric columns of the table.
    dictionary = mains_of(dictionary)
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
        if isinstance(kernel, SCALE_DEPENDENT):
            sets.add(tuple(columns))
    return sets
