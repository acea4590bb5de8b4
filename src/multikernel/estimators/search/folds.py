"""The folds of a search: which samples each side of them has."""

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import get_routing_for_object

from multikernel._typing import Array, Indices
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.targets import check_groups

Split = tuple[Indices, Indices]


def make_splits(cv: Any, samples: Samples) -> list[Split]:
    """Return the folds as positions among the samples of non-zero weight.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        As everywhere in scikit-learn.
    samples : Samples
        The samples, with the groups that folds keep together.

    Returns
    -------
    splits : list of (ndarray of int, ndarray of int)

    Raises
    ------
    ValueError
        If a side is empty, a training side lacks a class, or the splitter gives no
        positions.
    """
    from sklearn.model_selection import check_cv

    y, groups = samples.y, samples.groups
    if groups is not None:
        groups = check_groups(groups, len(y))
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        cv = [_checked_pair(sides, number) for number, sides in enumerate(cv)]
    splitter = check_cv(cv, y, classifier=samples.classes is not None)
    if groups is None and _asks_for_groups(splitter):
        raise ValueError(
            f"cv={splitter!r} keeps groups together and got none: call "
            "fit(X, y, groups=groups) with one label per sample."
        )
    place = np.full(y.shape[0], -1)
    place[samples.rows] = np.arange(samples.rows.size)
    splits = []
    everyone = np.zeros((y.shape[0], 1))
    for number, sides in enumerate(splitter.split(everyone, y, groups)):
        pair = _checked_pair(sides, number)
        rows = [_checked_rows(side, y.shape[0], number) for side in pair]
        train, test = (place[side][place[side] >= 0] for side in rows)
        if not (train.size and test.size):
            raise ValueError(f"Fold {number} of cv has an empty side.")
        _check_classes(samples, train, number)
        # The samples' own order, as in a fit on this side alone.
        splits.append((np.sort(train), test))
    if not splits:
        raise ValueError(f"cv={cv!r} gives no fold: at least one is needed.")
    return splits


def _asks_for_groups(splitter: Any) -> bool:
    """Return whether a splitter cannot do without groups."""
    request = get_routing_for_object(splitter)
    return "split" in vars(request) and bool(request.split.requests.get("groups"))


def _checked_pair(sides: Any, number: int) -> tuple[Any, Any]:
    """Return both sides of a split, or say that it is none."""
    listed = isinstance(sides, Sequence) or (
        isinstance(sides, np.ndarray) and sides.ndim
    )
    if listed and len(sides) == 2:
        return sides[0], sides[1]
    raise ValueError(
        f"Fold {number} of cv must be a pair of training and validation samples, got "
        f"{reprlib.repr(sides)}."
    )


def _checked_rows(side: Any, n_rows: int, number: int) -> Array:
    """Return one side of a split, or say why it does not choose among the samples."""
    rows = np.asarray(side)
    if rows.dtype.kind == "b" and rows.shape == (n_rows,):
        return rows
    if rows.size == 0:
        return rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"Fold {number} of cv must give its samples as a vector of positions or of "
            f"{n_rows} truth values, got an array of {rows.dtype} of shape "
            f"{rows.shape}."
        )
    if rows.max() >= n_rows or rows.min() < -n_rows:
        raise ValueError(
            f"Fold {number} of cv asks for sample {rows.max()}, but there are "
            f"{n_rows}, numbered from 0."
        )
    return rows


def _check_classes(samples: Samples, train: Indices, number: int) -> None:
    """Raise if a fold's training samples lack a class."""
    if samples.classes is None:
        return
    if samples.several:
        counts = samples.labels[train].sum(axis=0)
        constant = np.flatnonzero((counts == 0) | (counts == train.size))
        if constant.size:
            raise ValueError(
                f"On the training side of fold {number} of cv label {constant[0]} "
                "(counted from 0) is the same for all samples: use other folds."
            )
        return
    codes = np.arange(samples.classes.size)
    missing = samples.classes[~np.isin(codes, samples.labels[train])]
    if missing.size:
        raise ValueError(
            f"The training side of fold {number} of cv holds no sample of class "
            f"{missing.tolist()[0]!r}: use fewer or stratified folds."
        )
