"""The folds of a search: which samples, and Gram matrices cut from one stack."""

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object

from multikernel._typing import Array, Indices
from multikernel.estimators.data.copies import made_one
from multikernel.estimators.data.read import check_groups
from multikernel.estimators.data.samples import Samples
from multikernel.estimators.fit.one_vs_rest import Expansion
from multikernel.estimators.fit.solve import Training

Split = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class Fold(ABC):
    """One side of a split to learn from, and the other to score on.

    Parameters
    ----------
    training : Training
        The training samples, their matrices normalised by what they say alone.
    outside : Samples
        The validation samples.
    """

    training: Training
    outside: Samples

    @abstractmethod
    def decision_values(self, expansions: Sequence[Expansion]) -> Array:
        """Return the decision values of several models on the validation samples.

        Parameters
        ----------
        expansions : sequence of Expansion
            The models.

        Returns
        -------
        f : ndarray of shape (n_models, n_test, n_outputs)
        """
        ...

    def inputs(self, whole: bool) -> Any:
        """Return the validation samples as the user gave them.

        Parameters
        ----------
        whole : bool
            Whether somebody may look into precomputed matrices, which are copied for
            that; otherwise their numbers stand for them.

        Returns
        -------
        X : array-like of shape (n_test, ...)
        """
        table, rows = self.outside.table, self.outside.rows
        if table.X.ndim == 2:
            return _safe_indexing(table.given, rows)
        if whole:
            return table.X[np.ix_(rows, self.training.samples.rows)]
        return rows


@dataclass(frozen=True, eq=False)
class GramFold(Fold):
    """A fold whose models are coefficients over the training samples.

    Parameters
    ----------
    training, outside
        As in `Fold`.
    images : callable
        From the number of a kernel, and coefficients over the training samples, to
        the values of its function on the validation samples, (n_test, n_outputs).
    """

    images: Callable[[int, Array], Array]

    def decision_values(self, expansions: Sequence[Expansion]) -> Array:
        """Return the decision values; every kernel is read once for all models."""
        n_test = self.outside.rows.size
        f = np.repeat([[e.intercept] for e in expansions], n_test, axis=1)
        users: dict[int, list[tuple[int, int]]] = {}
        for model, expansion in enumerate(expansions):
            for position, kernel in enumerate(expansion.active.tolist()):
                users.setdefault(kernel, []).append((model, position))
        for kernel, places in users.items():
            coefs = [expansions[model].coefs[position] for model, position in places]
            images = self.images(kernel, np.concatenate(coefs, axis=1))
            models = [model for model, _ in places]
            images = images.reshape(n_test, len(models), f.shape[2])
            f[models] += np.moveaxis(images, 1, 0)
        return f


def make_fold(
    whole: Training, train: Indices, test: Indices, merge: bool, n_jobs: int
) -> Fold:
    """Return a fold, the same as if its training samples were fitted alone.

    Kernels that are held in memory were computed once, for all folds.

    Parameters
    ----------
    whole : Training
        All samples, and Gram matrices that are not normalised.
    train, test : ndarray of int
        The fold's samples, as positions among those of `whole`.
    merge : bool
        Whether copies among the training samples are made one.
    n_jobs : int
        How many folds are held at a time.

    Returns
    -------
    fold : Fold
    """
    # Where folds need copies, so does the model on all samples, which is held already.
    training, train = part_of(whole, train, merge, n_jobs + 1)
    if whole.grams.dictionary is None:
        # Scorers see matrices that are cut to the fold on both axes.
        grams = replace(training.grams, rows=np.arange(train.size))
        training = replace(training, grams=grams)
    outside = whole.samples.subset(test)
    normalization = training.grams.built.normalization
    stack = whole.stack
    if not stack.in_memory:
        X = whole.grams.X[test]

        def computed(m: int, coefs: Array) -> Array:
            return training.grams.images(X, m, coefs)

        return GramFold(training, outside, computed)

    def cut(m: int, coefs: Array) -> Array:
        K, diagonal = stack.entries(m, test, train), stack.diagonals()[m].copy()
        normalization.apply(m, K, diagonal[test], diagonal[train])
        return K @ coefs

    return GramFold(training, outside, cut)


def whole_of(raw: Training, merge: bool) -> Training:
    """Return all samples with their normalised Gram matrices, as a fit has them.

    Parameters
    ----------
    raw : Training
        All samples, and Gram matrices that are not normalised.
    merge : bool
        Whether copies among them are made one. Matrices are then computed anew if
        there are any, so that weights and copies give the same to the last digit.

    Returns
    -------
    training : Training
    """
    everyone = np.arange(raw.samples.rows.size)
    training, chosen = part_of(raw, everyone, merge)
    if chosen.size == everyone.size:
        return training
    grams = raw.grams.anew(chosen, training.samples.weights)
    return replace(training, grams=grams)


def part_of(
    whole: Training, chosen: Indices, merge: bool, n_copies: int = 1
) -> tuple[Training, Indices]:
    """Return some of the samples with their normalised Gram matrices.

    Parameters
    ----------
    whole : Training
        All samples, and Gram matrices that are not normalised.
    chosen : ndarray of int
        The samples to take.
    merge : bool
        Whether copies among them are made one.
    n_copies : int, default=1
        How many parts are held at a time, where each needs a copy.

    Returns
    -------
    training : Training
    chosen : ndarray of int
        Those of the samples that are left.
    """
    if merge:
        chosen, samples = made_one(whole.samples, chosen)
    else:
        samples = whole.samples.subset(chosen)
    grams = whole.grams.part(chosen, samples.weights, n_copies)
    return Training(samples, grams, whole.fit_intercept), chosen


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
