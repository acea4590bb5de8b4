"""Fits of one model on many resamples that share the Gram matrices."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_regressor

from multikernel._typing import Array, Indices
from multikernel._validation import Number, check_parameter, shown
from multikernel.certificates.columns import UnboundedModelError
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.by_copy import LearnsByCopy
from multikernel.estimators.fit import read_input
from multikernel.estimators.grams.method import GramMethod
from multikernel.estimators.grams.training import Training
from multikernel.estimators.hkl.method import HullMethod
from multikernel.estimators.method import Method
from multikernel.estimators.parameters import CHECKS
from multikernel.estimators.progress import make_watch
from multikernel.estimators.publish.fitted import warn_refit_without_offset
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.targets import check_groups
from multikernel.estimators.search.folds import for_each
from multikernel.estimators.search.search import Search
from multikernel.estimators.spicy.method import SparseMethod
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.inspection.pipelines import model_of, refitted_steps
from multikernel.linalg.tables import row_chunks, row_keys
from multikernel.problem import Solution

MOST_DRAWS = 100
"""Maximum number of draws of whole groups until every class is present."""


def quantile_levels(owner: str, level: float) -> tuple[float, float]:
    """Return the probabilities of the two quantiles that enclose a share `level`."""
    check_parameter(owner, "level", level, Number(0.0, 1.0, above=True))
    return 0.5 - 0.5 * level, 0.5 + 0.5 * level


FitData = tuple[object, ArrayLike, ArrayLike | None, object, ArrayLike | None]
"""The arguments X, y, sample_weight, groups and offset of a fit."""


@dataclass(frozen=True, eq=False)
class Refits:
    """Fitted attributes of a model on all samples and on each resample, by name."""

    full_fit: dict[str, Any]
    fits: dict[str, list[Any]]  # one value per resample
    names: KernelNames
    output_names: tuple[str, ...]


def refit(
    owner: str,
    estimator: BaseEstimator,
    data: FitData,
    draw: Callable[[Samples], Indices],
    names: tuple[str, ...],
    n_jobs: int | None,
) -> Refits:
    """Fit a model to all samples, and, starting from that fit, to every resample."""
    check_parameter(owner, "n_jobs", n_jobs, CHECKS["n_jobs"])
    before, model = model_of(owner, estimator)
    X, y, weights, groups, offset = data
    _check_estimator(owner, model, offset)
    X, rename_kernels = refitted_steps(before, X, y)
    ordered_classes = None
    if isinstance(model, LearnsByCopy):
        model, task = model._coded(X, y, weights, offset, groups)
        y, ordered_classes = task.codes, task.classes
    method = model._method()
    source = replace(method.source, parts=True)  # resamples are parts of the data
    attributes: dict[int, dict[str, Any]] = {}
    with warnings.catch_warnings():
        # `_warn_unsolved` later gives one warning about all fits without convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        samples = read_input(model, source, X, y, weights, groups, offset)
        training = source.prepare(samples)
        assert isinstance(training, Training)  # `_check_estimator` refuses graphs
        if training.samples.groups is None:
            warn_repeated(owner, training.samples, "pass groups")
        with training.naming_errors():
            resamples = Resamples(model, method, training)
            samples = training.samples
            if ordered_classes is not None:
                # Codes of ordered classes are stratified like classes.
                samples = replace(samples, classes=ordered_classes)
            counts = draw(samples)
            jobs = min(effective_n_jobs(n_jobs), len(counts))

            def work(index: int) -> None:
                try:
                    attributes[index] = resamples.fit(counts[index], names, jobs + 1)
                except UnboundedModelError as error:
                    raise ValueError(
                        f"{owner}: resample {index} (counted from 0) of {len(counts)} "
                        f"has no finite model, but the fit to all samples has. {error}"
                    ) from error

            for_each(len(counts), jobs, resamples.watch, work)
    ordered_fits = [attributes[index] for index in range(len(counts))]
    fits = {name: [fit[name] for fit in ordered_fits] for name in ordered_fits[0]}
    _warn_unsolved(owner, model, fits["duality_gap_"])
    kernel_names, samples = rename_kernels(training.names), training.samples
    return Refits(resamples.attributes, fits, kernel_names, samples.output_names)


def warn_repeated(owner: str, samples: Samples, advice: str) -> None:
    """Warn if rows of X repeat more often than with values shuffled in each column."""
    X = samples.X
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return
    counts = np.unique(row_keys(X), return_counts=True)[1]
    repeated = int(counts[counts > 1].sum())
    if repeated < 0.1 * len(X):
        return
    # If values were shuffled in each column, the share of equal pairs of rows would be
    # the product of the shares of equal pairs of values in the columns.
    pairs = len(X) * (len(X) - 1.0)
    shares = [_equal_pairs(np.unique(c, return_counts=True)[1]) / pairs for c in X.T]
    if _equal_pairs(counts) > 10.0 * pairs * np.prod(shares):
        warn_user(
            f"{owner}: {repeated} of {len(X)} rows of X repeat another row. If rows "
            f"belong to groups such as patients, results are too confident: {advice}."
        )


def _equal_pairs(counts: Indices) -> float:
    """Return twice the number of equal pairs if value i occurs counts[i] times."""
    return float(np.sum(counts * (counts - 1.0)))


class Resamples:
    """Fits of a model to resamples; each fit starts from the fit to all samples."""

    # `attributes` and `starts` are the fitted attributes and the solutions of the fit
    # to all samples. `_raw` has the kernels before normalization.

    def __init__(self, estimator: BaseMKL, method: Method, training: Training) -> None:
        # `training` contains kernels before normalization, because scales differ
        # between resamples.
        self.method = method
        full, rows = training.part(np.arange(training.samples.rows.size))
        copies = full.samples.copies
        self._weights = _or_ones(full.samples.weights, full.samples)
        # Equal samples may be merged; `_owners` maps each sample to its merged sample.
        self._owners = rows if copies is None else copies.owners
        self.watch = make_watch(estimator, None)
        self.attributes, self.starts = self._learn(full, method)
        # Rules for alpha do not support weights, which count the draws of a sample, so
        # fits with weights use the alpha of the fit to all samples.
        self._weighted_method = method
        if isinstance(method, SparseMethod):
            self._weighted_method = method.at_strength_of(full)
        # These are the kernels before normalization; the fit above has validated them.
        self._raw = training

    def fit(
        self, counts: Indices, names: tuple[str, ...], n_copies: int
    ) -> dict[str, Any]:
        """Fit one resample; return the attributes in `names` and the duality gap."""
        # `counts` says how often each sample occurs in the resample; `n_copies` is the
        # largest number of resamples in memory at a time.
        samples, method = self._raw.samples, self.method
        # Samples that are drawn several times get larger weights.
        if counts.max() > 1:
            method = self._weighted_method
            weights = counts * _or_ones(samples.sample_weight, samples)
            samples = replace(samples, sample_weight=weights)
        raw = replace(self._raw, samples=samples)
        sub, rows = raw.part(np.flatnonzero(counts), n_copies)
        _check_labels(sub.samples)
        fitted, _ = self._learn(sub, method, self._starts(sub.samples, rows))
        return {name: fitted[name] for name in (*names, "duality_gap_")}

    def _learn(
        self, data: Training, method: Method, starts: tuple[Solution, ...] = ()
    ) -> tuple[dict[str, Any], tuple[Solution, ...]]:
        """Fit some data; return the fitted attributes, and solutions as warm starts."""
        # Only methods on Gram matrices support warm starts.
        if not isinstance(method, GramMethod):
            return method.learn(data, self.watch), ()
        fit = method.solve(method.recipe(data), data, self.watch, starts)
        return method.publish(fit), tuple(fit.solutions)

    def _starts(self, samples: Samples, indices: Indices) -> tuple[Solution, ...]:
        """Return warm starts: the full fit's solutions at samples `indices`, scaled."""
        # A solution has dual variables and coefficients of samples. Dual variables are
        # proportional to sample weights. Coefficients are divided by the total weight
        # as well, so that functions keep their sizes.
        # Coefficients of low-rank factors give no warm starts, because each resample
        # has its own factors.
        if any(start.coefs.shape[1] != start.dual.shape[0] for start in self.starts):
            return ()
        owners, weights = (self._owners[indices], _or_ones(samples.weights, samples))
        dual_factors = weights / self._weights[owners]
        coef_factors = dual_factors * self._weights.sum() / weights.sum()
        return tuple(
            replace(
                start,
                dual=_scaled_part(start.dual, 0, owners, dual_factors),
                coefs=_scaled_part(start.coefs, 1, owners, coef_factors),
            )
            for start in self.starts
        )


def halves(n_resamples: int, rng: np.random.RandomState, samples: Samples) -> Indices:
    """Return halves as 0/1 masks, (n_resamples, n_samples), stratified by class."""
    # Rows 2k and 2k + 1 of the result are disjoint halves.

    def draw(stratum: Indices, n_drawn: int) -> Indices:
        counts = np.zeros((n_drawn, stratum.max() + 1), np.intp)
        size = len(stratum) // 2
        for pair in range(0, n_drawn, 2):
            order = rng.permutation(stratum)
            counts[pair, order[:size]] = counts[pair + 1, order[size : 2 * size]] = 1
        return counts[:, stratum]

    return _draw_counts(draw, n_resamples, 2, samples)


def draws_with_replacement(
    n_resamples: int, rng: np.random.RandomState, samples: Samples
) -> Indices:
    """Return how often each sample is drawn, (n_resamples, n_samples), by classes."""

    def draw(stratum: Indices, n_drawn: int) -> Indices:
        shares = np.full(stratum.size, 1.0 / stratum.size)
        return rng.multinomial(stratum.size, shares, size=n_drawn)

    return _draw_counts(draw, n_resamples, 1, samples)


def resampled_weights(
    rng: np.random.RandomState, n_resamples: int, weights: Array, groups: object
) -> Iterator[Array]:
    """Yield chunks of sample weights, (n_chunk, n_samples), for resampled groups."""
    group_of = group_numbers(groups, len(weights))
    # Samples or groups of weight zero are never drawn, nor counted in `n_groups`.
    drawable = np.minimum(np.bincount(group_of, weights > 0.0), 1.0)
    n_groups, probabilities = int(drawable.sum()), drawable / drawable.sum()
    for chunk in row_chunks(n_resamples, len(weights)):
        size = len(range(n_resamples)[chunk])
        counts = rng.multinomial(n_groups, probabilities, size=size)
        yield counts[:, group_of] * weights


def group_numbers(
    groups: object,
    n_samples: int,
    argument: str = "groups",
    rows: Indices | slice = slice(None),
) -> Indices:
    """Return the group number of each row; without groups, each row is a group."""
    labels = np.arange(n_samples) if groups is None else check_groups(groups, n_samples)
    numbers = np.unique(labels[rows], return_inverse=True)[1]
    if groups is not None and not numbers.any():
        raise ValueError(
            f"{argument} contains one group: pass labels of at least two groups."
        )
    return numbers


def _draw_counts(
    draw: Callable[[Indices, int], Indices],
    n_resamples: int,
    size: int,
    samples: Samples,
) -> Indices:
    """Return counts of samples in resamples, shape (n_resamples, n_samples)."""
    # `draw(stratum, n)` returns the counts of the groups of one stratum in n resamples,
    # (n, stratum.size). Without groups, each sample is a group. Resamples come in sets
    # of `size`; a set is drawn again if one of its resamples lacks a class.
    strata, group_of = _strata(samples)

    def draw_all(n_drawn: int) -> Indices:
        counts = np.zeros((n_drawn, 1 + group_of.max()), dtype=np.intp)
        for stratum in strata:
            counts[:, stratum] = draw(stratum, n_drawn)
        return counts[:, group_of]

    counts = draw_all(n_resamples)
    if samples.groups is None or samples.classes is None or samples.several:
        return counts
    indicators = np.arange(samples.classes.size) == samples.labels[:, None]
    for _ in range(MOST_DRAWS):
        is_missing = counts @ indicators == 0
        is_incomplete = is_missing.any(axis=1)
        is_incomplete = np.repeat(is_incomplete.reshape(-1, size).any(axis=1), size)
        if not is_incomplete.any():
            return counts
        counts[is_incomplete] = draw_all(int(np.count_nonzero(is_incomplete)))
    missing_class = samples.classes[is_missing.any(axis=0)].tolist()[0]
    raise ValueError(
        f"groups: after {MOST_DRAWS} attempts, a resample of whole groups still has no "
        f"sample of class {shown(missing_class)}, because few groups contain this "
        "class: remove its samples, or pass smaller groups."
    )


def _strata(samples: Samples) -> tuple[list[Indices], Indices]:
    """Return the numbers of the groups in each stratum, and each sample's group."""
    # Without groups, each sample is a group. Groups are numbered in the order of the
    # input: a fit sorts its samples, in an order that depends on the last digits.
    group_of = group_numbers(samples.groups, len(samples.table.y), rows=samples.rows)
    all_groups = np.arange(1 + group_of.max())
    if samples.classes is None or samples.several:
        return [all_groups], group_of
    classes = samples.classes.tolist()
    by_class = [np.unique(group_of[samples.labels == c]) for c in range(len(classes))]
    for label, groups in zip(classes, by_class, strict=True):
        if groups.size < 2:
            unit = "sample" if samples.groups is None else "group"
            raise ValueError(
                f"Class {label!r} has one {unit}, but resampling requires at least two "
                f"{unit}s of every class: remove the samples of this class."
            )
    # Strata are the classes if every group has one class.
    are_pure = sum(groups.size for groups in by_class) == all_groups.size
    return (by_class if are_pure else [all_groups]), group_of


def _check_labels(samples: Samples) -> None:
    """Raise if one of several 0/1 labels is the same for all samples of a resample."""
    if samples.classes is None or not samples.several:
        return
    constant = np.flatnonzero(np.ptp(samples.labels, axis=0) == 0.0)
    if constant.size:
        raise ValueError(
            f"Label {constant[0]} (counted from 0) is constant in a resample, because "
            "it is too rare or too frequent: remove this column of y."
        )


def _or_ones(weights: Array | None, samples: Samples) -> Array:
    """Return sample weights, (n_samples,); None means ones."""
    return np.ones(samples.labels.shape[0]) if weights is None else weights


def _scaled_part(values: Array, axis: int, owners: Indices, factors: Array) -> Array:
    """Return `values` at the positions `owners` of an axis, each times its factor."""
    # The positions are those of samples. `factors` has one number per position.
    shape = [1] * values.ndim
    shape[axis] = -1
    scaled: Array = np.take(values, owners, axis) * factors.reshape(shape)
    return scaled


def _check_estimator(owner: str, model: BaseMKL, offset: ArrayLike | None) -> None:
    """Raise unless a model can be fitted to resamples; warn if an offset is missing."""
    name, method = type(model).__name__, model._method()
    inner = method.method if isinstance(method, Search) else method
    if isinstance(inner, HullMethod):
        raise TypeError(
            f"{owner} requires a fixed list of kernels, but {name} searches a graph: "
            "fit it to your own resamples, and count its active_kernels_."
        )
    if isinstance(method, Search):
        each = ""
        if is_regressor(model) and getattr(model, "selection", "") == "separate":
            each = ". If alpha is an array, pass one column of y with its alpha"
        raise TypeError(
            f"{owner} requires a model with fixed parameters, but {name} chooses them "
            f"in every fit: pass {name.removesuffix('CV')} with the best_params_ of "
            f"the search{each}."
        )
    model._check_parameters()
    warn_refit_without_offset(owner, model, offset)


def _warn_unsolved(
    owner: str, model: BaseMKL, gaps_of_fits: list[float | Array]
) -> None:
    """Warn if fits stopped above the tolerance, with their number."""
    tol = getattr(model, "tol", np.inf)
    gaps = np.array([np.max(gap) for gap in gaps_of_fits])
    n_unsolved = int(np.count_nonzero(gaps > tol))
    if n_unsolved:
        warn_user(
            f"{n_unsolved} of the {gaps.size} fits of {owner} stopped above "
            f"tol={tol:g}; the largest relative duality gap is {np.nanmax(gaps):.2e}. "
            "Raise max_iter or tol.",
            ConvergenceWarning,
        )
