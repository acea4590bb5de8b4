"""The folds of a search as sets of samples, and reasons why a fold is unusable."""

import reprlib
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import get_routing_for_object

from multikernel._typing import Array, Indices
from multikernel._validation import listed
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.parameters import find_loss
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.targets import check_groups
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.losses.answers import unsuitable

Split = tuple[Indices, Indices]


class Splitter(Protocol):
    """A splitter of scikit-learn, such as `sklearn.model_selection.KFold`."""

    def split(
        self, X: Array, y: NDArray[np.generic], groups: Array | None, /
    ) -> Iterable[Split]:
        """Return the training and validation samples of each fold."""


Remarks = dict[tuple[str, str], list[int]]
"""The folds with the same remark; its first text precedes the number of the fold."""

REMEDY = "use fewer or stratified folds"


def make_splits(owner: str, model: BaseMKL, samples: Samples) -> list[Split]:
    """Return the folds; warn about unusable or incomplete folds."""
    # Folds contain positions among the samples of nonzero weight.
    # Skip folds whose training set cannot be fitted. Raise if a training or validation
    # set is empty, if all folds are skipped, or if no fold can be scored.
    splits: list[Split] = []
    n_scored, reasons = 0, list[str]()  # why folds cannot be fitted or scored
    remarks: Remarks = defaultdict(list)
    for k, (train, test) in enumerate(_sample_splits(model.cv, samples)):
        reason = find_obstacle(model, samples, train)
        if reason is not None:
            reasons.append(f"training set of fold {k} of cv {reason}")
            remarks["", f"is skipped because its training set {reason}"].append(k)
            continue
        if learnt_classes(samples, train) is not None:
            effect = "lacks a class, which its models never predict"
            remarks["the training set of ", effect].append(k)
        reason = model._why_unscored(samples, test)
        if reason is not None:
            reasons.append(f"validation set of fold {k} of cv {reason}")
            effect = f"because its validation set {reason}; mean scores ignore it"
            remarks["", f"has no score {effect}"].append(k)
        if np.isin(test, train).any():
            effect = "share samples, so scores are too high"
            remarks["the training and validation sets of ", effect].append(k)
        # Sort the samples, so that the fold's model equals a fit on this set alone.
        splits.append((np.sort(train), test))
        n_scored += reason is None
    if not n_scored and reasons:
        raise ValueError(
            f"{owner}: no fold of cv can be used, because the {reasons[0]}: {REMEDY}."
        )
    if not n_scored:
        advice = "pass a cv that yields at least one"
        if hasattr(model.cv, "__next__"):
            advice = "pass a list of folds, because an iterator serves one fit only"
        raise ValueError(f"cv={model.cv!r} yields no fold: {advice}.")
    _warn_folds(owner, samples, splits, remarks)
    return splits


def _warn_folds(
    owner: str, samples: Samples, splits: Sequence[Split], remarks: Remarks
) -> None:
    """Warn of remarks, and of folds that seem to be made for a shorter table."""
    sentences = [
        f"{sets}fold {listed(folds)} of cv {remark}"
        for (sets, remark), folds in remarks.items()
    ]
    used = np.unique(np.concatenate([part for split in splits for part in split]))
    rows, all_rows = (samples.rows_of(p) for p in (used, np.arange(samples.rows.size)))
    # Both are ascending, so the used rows are the first ones if their last row is.
    if rows.size < all_rows.size and rows[-1] == all_rows[rows.size - 1]:
        sentences.append(
            f"the folds of cv contain only the first {rows.size} of {all_rows.size} "
            "samples"
        )
    if sentences:
        warn_user(
            f"{owner}: {'; '.join(sentences)}. Pass another cv for this X, such as "
            "fewer, stratified or disjoint folds.",
            SearchWarning,
        )


def _sample_splits(cv: object, samples: Samples) -> Iterable[list[Indices]]:
    """Yield training and validation positions of every fold, see `make_splits`."""
    y = samples.table.y
    # The position of each row among the samples; -1 for rows of weight zero.
    positions = np.full(len(y), -1)
    positions[samples.rows] = np.arange(samples.rows.size)
    stratify, n_rows = samples.classes is not None, len(y)
    with warnings.catch_warnings():
        # The fit itself has already warned of classes that may be numbers.
        warnings.filterwarnings("ignore", "The number of unique classes is greater")
        folds = folds_of(cv, y, samples.groups, stratify=stratify)
    for k, split in enumerate(folds):
        try:
            train, test = split
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Fold {k} of cv must be a pair, the rows of the training set and "
                f"those of the validation set, got {reprlib.repr(split)}."
            ) from error
        row_sets = [_checked_rows(rows, n_rows, k) for rows in (train, test)]
        index_sets = [positions[rows][positions[rows] >= 0] for rows in row_sets]
        if not all(rows.size for rows in index_sets):
            raise ValueError(
                f"Fold {k} of cv has an empty training or validation set (samples "
                "of weight zero do not count): use fewer folds, or sets with samples."
            )
        yield index_sets


def find_obstacle(model: BaseMKL, samples: Samples, train: Indices) -> str | None:
    """Return why a model cannot be fitted on a training set; None if it can."""
    if samples.classes is None:
        reason = unsuitable(find_loss(model.loss), samples.targets.T[train])
        return None if reason is None else f"cannot be fitted ({reason})"
    learnt = learnt_classes(samples, train)
    if learnt is None or learnt.size >= (1 if samples.several else 2):
        return None
    absent = np.delete(samples.classes, learnt).tolist()[0]
    if samples.several:
        return f"has the same value of label {absent} (counted from 0) in all samples"
    return f"contains no sample of class {absent!r}"


def folds_of(
    cv: object, labels: NDArray[np.generic], groups: object, *, stratify: bool
) -> list[Split]:
    """Return the folds of `cv`, stratified if it is a number and `stratify` is true."""
    if isinstance(cv, type):
        raise ValueError(f"cv is the class {cv.__name__}: pass {cv.__name__}(...).")
    if groups is not None:
        groups = check_groups(groups, len(labels))
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        return list(cv)
    # If cv is a number or None, folds are stratified if `stratify`, and split no group.
    splitter: Splitter = _splitter(cv, labels, groups, stratify)
    # Splitters that use groups request them in scikit-learn's metadata routing.
    request = get_routing_for_object(splitter)
    is_routed = groups is None and "split" in vars(request)
    if is_routed and request.split.requests.get("groups"):
        raise ValueError(
            f"cv={splitter!r} requires groups, and groups is None: pass groups, one "
            "label for each sample."
        )
    try:
        return list(splitter.split(np.zeros((len(labels), 1)), labels, groups))
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise ValueError(
            f"cv={splitter!r} cannot split these data: {reason}. Pass another cv."
        ) from error


def _splitter(
    cv: object, labels: NDArray[np.generic], groups: Array | None, stratify: bool
) -> Any:
    """Return the splitter `cv`, or one with `cv` folds, stratified if `stratify`."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

    if groups is None or not (cv is None or isinstance(cv, Integral)):
        return check_cv(cv, labels, classifier=stratify)
    n_folds, n_groups = 5 if cv is None else int(cv), len(set(groups.tolist()))
    if n_groups < 2:
        raise ValueError(
            f"cv={n_folds} requires at least two groups, because folds keep groups "
            "together, but groups contains one: pass labels of at least two groups, or "
            "groups=None."
        )
    if not 2 <= n_folds <= n_groups:
        raise ValueError(
            f"cv={n_folds} is out of range for {n_groups} groups, because folds keep "
            f"groups together: use from 2 to {n_groups} folds."
        )
    stratified = stratify and labels.ndim == 1
    return (StratifiedGroupKFold if stratified else GroupKFold)(n_folds)


def _checked_rows(values: object, n_rows: int, k: int) -> Array:
    """Return the rows of a training or validation set; raise if they are invalid."""
    rows = np.asarray(values)
    if rows.dtype.kind == "b" and rows.shape == (n_rows,):
        return rows
    if rows.size == 0:
        return rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"Both sets of fold {k} of cv must be vectors of row numbers, or of "
            f"{n_rows} booleans, got an array of {rows.dtype} of shape {rows.shape}."
        )
    if rows.max() >= n_rows or rows.min() < -n_rows:
        raise ValueError(
            f"Fold {k} of cv has row numbers from {rows.min()} to {rows.max()}, "
            f"but X has {n_rows} rows: pass row numbers from 0 to {n_rows - 1}."
        )
    return rows


def learnt_classes(samples: Samples, train: Indices) -> Indices | None:
    """Return the class indices that a training set contains; None if all classes."""
    if samples.classes is None:
        return None
    if samples.several:
        counts = samples.labels[train].sum(axis=0)
        # A label that all or no training samples have cannot be learned.
        is_learnt = (counts > 0) & (counts < train.size)
    else:
        counts = np.bincount(samples.labels[train], minlength=samples.classes.size)
        is_learnt = counts > 0
    return None if is_learnt.all() else np.flatnonzero(is_learnt)
