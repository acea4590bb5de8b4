"""The folds of a search as sets of samples, and reasons why a fold is unusable."""

import reprlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import get_routing_for_object

from multikernel._typing import Array, Indices
from multikernel._validation import listed
from multikernel.estimators.parameters import find_loss
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.targets import check_groups
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.losses.answers import unsuitable

Split = tuple[Indices, Indices]

REMEDY = "use fewer or stratified folds"


def make_splits(owner: str, model: Any, samples: Samples) -> list[Split]:
    """Return the folds; warn about unusable or incomplete folds."""
    # Folds contain positions among the samples of nonzero weight.
    # Skip folds whose training set cannot be fitted. Raise if a training or validation
    # set is empty, if all folds are skipped, or if no fold can be scored.
    splits: list[Split] = []
    lacking: list[int] = []
    # The folds that share a reason, by reason.
    unsolvable: dict[str, list[int]] = {}
    unscored: dict[str, list[int]] = {}
    shared: list[int] = []
    for k, (train, test) in enumerate(_sample_splits(model.cv, samples)):
        reason = find_obstacle(model, samples, train)
        if reason is not None:
            unsolvable.setdefault(reason, []).append(k)
            continue
        if learnt_classes(samples, train) is not None:
            lacking.append(k)
        if (reason := model._why_unscored(samples, test)) is not None:
            unscored.setdefault(reason, []).append(k)
        if np.isin(test, train).any():
            shared.append(k)
        # Sort the samples, so that the fold's model equals a fit on this set alone.
        splits.append((np.sort(train), test))
    if not splits and not unsolvable:
        _refuse_empty(model.cv)
    if sum(map(len, unscored.values())) == len(splits):
        which = "training" if unsolvable else "validation"
        reason, folds = next(iter((unsolvable or unscored).items()))
        raise ValueError(
            f"{owner}: no fold of cv can be used, because the {which} set of fold "
            f"{folds[0]} of cv {reason}: {REMEDY}."
        )
    _warn_folds(owner, lacking, unsolvable, unscored)
    _warn_overlap(owner, shared)
    _warn_incomplete(owner, splits, samples)
    return splits


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
        _check_split(split, k)
        row_sets = [_checked_rows(rows, n_rows, k) for rows in split]
        index_sets = [positions[rows][positions[rows] >= 0] for rows in row_sets]
        if not all(rows.size for rows in index_sets):
            raise ValueError(
                f"Fold {k} of cv has an empty training or validation set (samples "
                "of weight zero do not count): use fewer folds, or sets with samples."
            )
        yield index_sets


def find_obstacle(model: Any, samples: Samples, train: Indices) -> str | None:
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


def _refuse_empty(cv: object) -> None:
    """Raise because `cv` yields no fold."""
    advice = "pass a cv that yields at least one"
    if hasattr(cv, "__next__"):
        advice = "pass a list of folds, because an iterator serves one fit only"
    raise ValueError(f"cv={cv!r} yields no fold: {advice}.")


def _warn_folds(
    owner: str,
    lacking: list[int],
    unsolvable: Mapping[str, list[int]],
    unscored: Mapping[str, list[int]],
) -> None:
    """Warn about folds that lack a class, a model or a score."""
    sentences = []
    if lacking:
        sentences.append(
            f"the training set of fold {listed(lacking)} of cv lacks a class, which "
            "its models never predict"
        )
    for reason, skipped in unsolvable.items():
        sentences.append(
            f"fold {listed(skipped)} of cv is skipped because its training set {reason}"
        )
    for reason, without in unscored.items():
        sentences.append(
            f"fold {listed(without)} of cv has no score because its validation set "
            f"{reason}; mean scores ignore it"
        )
    if sentences:
        warn_user(
            f"{owner}: {'; '.join(sentences)}. {REMEDY.capitalize()}.", SearchWarning
        )


def _warn_overlap(owner: str, shared: list[int]) -> None:
    if shared:
        warn_user(
            f"{owner}: the training and validation sets of fold {listed(shared)} of "
            "cv share samples, so scores are too high: pass disjoint sets.",
            SearchWarning,
        )


def _warn_incomplete(owner: str, splits: list[Split], samples: Samples) -> None:
    """Warn if folds contain only the first samples, as if made for a shorter table."""
    used = np.unique(np.concatenate([part for split in splits for part in split]))
    rows, all_rows = (samples.rows_of(p) for p in (used, np.arange(samples.rows.size)))
    # Both are ascending, so the used rows are the first ones if their last row is.
    if rows.size < all_rows.size and rows[-1] == all_rows[rows.size - 1]:
        warn_user(
            f"{owner}: the folds of cv contain only the first {rows.size} of "
            f"{all_rows.size} samples: pass a cv that was made for this X.",
            SearchWarning,
        )


def folds_of(cv: Any, labels: Any, groups: Any, *, stratify: bool) -> list[Any]:
    """Return the folds of `cv`, stratified if it is a number and `stratify` is true."""
    if isinstance(cv, type):
        raise ValueError(f"cv is the class {cv.__name__}: pass {cv.__name__}(...).")
    if groups is not None:
        groups = check_groups(groups, len(labels))
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        return list(cv)
    # If cv is a number or None, folds are stratified if `stratify`, and split no group.
    splitter = _splitter(cv, labels, groups, stratify)
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


def _splitter(cv: Any, labels: Any, groups: Array | None, stratify: bool) -> Any:
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


def _check_split(split: Any, k: int) -> None:
    """Raise unless fold `k` is a pair of training and validation rows."""
    is_sequence = isinstance(split, Sequence) or (
        isinstance(split, np.ndarray) and split.ndim
    )
    if is_sequence and len(split) == 2:
        return
    raise ValueError(
        f"Fold {k} of cv must be a pair, the rows of the training set and those of the "
        f"validation set, got {reprlib.repr(split)}."
    )


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
