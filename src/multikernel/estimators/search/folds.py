"""The folds of a search: their samples, what classes they lack, their models.

A class with fewer members than folds is missing on some training sides. Models there
know the other classes only, and what they say of the missing one is filled in. The
models of all folds at a choice are what intervals rest on.
"""

import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.metadata_routing import get_routing_for_object

from multikernel._typing import Array, Indices
from multikernel._validation import listed
from multikernel.estimators.fit import find_link
from multikernel.estimators.method import Candidates, D, Data, Fold
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.intervals import FoldModels
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.targets import check_groups
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.linalg.threads import run_blocks
from multikernel.losses.base import means_of

Split = tuple[Indices, Indices]

NEVER = -1e3
"""The decision value of what no training sample of a fold is: it is never predicted,
and has a probability of zero in double precision."""

REMEDY = "use fewer or stratified folds"


TOGETHER_BYTES = 2**31
"""Folds are solved side by side, so that a path may end where their mean score has gone
down, where kernels for all of them take no more than that; else one after another."""


def for_each(
    n_parts: int, jobs: int, watch: Watch, work: Callable[[int], None]
) -> None:
    """Call `work` with the number of every fold or resample, on `jobs` threads."""
    if jobs > 1:
        # They share the cores; each gets one for BLAS. An interrupt stops all.
        run_blocks(work, range(n_parts), jobs, watch.stop)
    else:
        for number in range(n_parts):
            work(number)


@dataclass(frozen=True, eq=False)
class Folds(Generic[D]):
    """The folds of a search, and how they are solved for.

    Parameters
    ----------
    model : SearchCV
        The search.
    data : Data
        What folds are cut from.
    splits : sequence of (train, test)
        The folds.
    candidates : Candidates
        What is chosen among, solved for to the gap of folds.
    watch : Watch
        Who looks on.
    jobs : int
        Folds at a time.
    """

    model: Any
    data: D
    splits: Sequence[Split]
    candidates: Candidates[Any, D]
    watch: Watch
    jobs: int

    @property
    def together(self) -> bool:
        """Return whether there is room for the kernels of all folds."""
        return len(self.splits) * self.data.n_bytes <= TOGETHER_BYTES

    @property
    def n_copies(self) -> int:
        """Return how many folds are held at a time."""
        return len(self.splits) if self.together else self.jobs

    def each(self, work: Callable[[int], None]) -> None:
        """Call `work` with the number of every fold."""
        for_each(len(self.splits), self.jobs, self.watch, work)


def make_splits(owner: str, cv: Any, samples: Samples) -> list[Split]:
    """Return the folds of ``cv`` as positions among the samples of non-zero weight.

    An empty side is refused. A training side that lacks a class is named in a warning,
    and is left out where it holds one class only; if all do, they are refused.
    """
    fold_of_row = np.full(samples.y.shape[0], -1)
    fold_of_row[samples.rows] = np.arange(samples.rows.size)
    splits: list[Split] = []
    lacking: list[int] = []
    single: list[int] = []
    with warnings.catch_warnings():
        # What the fit has said already, of targets that may be numbers.
        warnings.filterwarnings("ignore", "The number of unique classes is greater")
        sides = list(_sides(cv, samples))
    for number, rows in enumerate(sides):
        train, test = (fold_of_row[side][fold_of_row[side] >= 0] for side in rows)
        if not (train.size and test.size):
            raise ValueError(f"Fold {number} of cv has an empty side.")
        least = 1 if samples.several else 2
        learnt = learnt_classes(samples, train)
        if learnt is not None:
            (lacking if learnt.size >= least else single).append(number)
        if learnt is None or learnt.size >= least:
            # The samples' own order, as in a fit on this side alone.
            splits.append((np.sort(train), test))
        elif len(single) == 1:
            missing = _missing(samples, learnt)
    if not splits and single:
        raise ValueError(f"The training side of fold {single[0]} {missing}: {REMEDY}.")
    if not splits:
        used = ", as it was iterated over before" if hasattr(cv, "__next__") else ""
        raise ValueError(
            f"cv={cv!r} gives no fold{used}: give a splitter, or a list of folds."
        )
    _warn_lacking(owner, lacking, single)
    return splits


def _sides(cv: Any, samples: Samples) -> Iterable[list[Array]]:
    """Yield both sides of every fold of ``cv``, as rows of the input."""
    from sklearn.model_selection import check_cv

    y, groups = samples.y, samples.groups
    if groups is not None:
        groups = check_groups(groups, len(y))
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        cv = [_checked_pair(sides, number) for number, sides in enumerate(cv)]
    splitter = check_cv(cv, y, classifier=samples.classes is not None)
    if groups is None and asks_for_groups(splitter):
        raise ValueError(
            f"cv={splitter!r} keeps groups together and got none: call "
            "fit(X, y, groups=groups) with one label per sample."
        )
    everyone = np.zeros((y.shape[0], 1))
    for number, sides in enumerate(splitter.split(everyone, y, groups)):
        pair = _checked_pair(sides, number)
        yield [_checked_rows(side, y.shape[0], number) for side in pair]


def asks_for_groups(splitter: Any) -> bool:
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


def learnt_classes(samples: Samples, train: Indices) -> Indices | None:
    """Return the classes that a training side holds, None for all of them.

    Of several labels it is those that differ between its samples.
    """
    if samples.classes is None:
        return None
    if samples.several:
        counts = samples.labels[train].sum(axis=0)
        learnt = (counts > 0) & (counts < train.size)
    else:
        learnt = np.bincount(samples.labels[train], minlength=samples.classes.size) > 0
    return None if learnt.all() else np.flatnonzero(learnt)


@contextmanager
def quiet_metrics(samples: Samples, splits: Sequence[Split]) -> Iterator[None]:
    """Keep metrics quiet where validation sides lack a class: a search says it once."""
    sides = (learnt_classes(samples, test) for _, test in splits)
    with warnings.catch_warnings():
        if any(classes is not None for classes in sides):
            warnings.simplefilter("ignore", UndefinedMetricWarning)
        yield


def _missing(samples: Samples, learnt: Indices) -> str:
    """Return what a training side lacks."""
    assert samples.classes is not None
    absent = np.delete(samples.classes, learnt).tolist()[0]
    if samples.several:
        return f"of cv has label {absent} (counted from 0) the same for all samples"
    return f"of cv holds no sample of class {absent!r}"


def _warn_lacking(owner: str, lacking: Sequence[int], single: Sequence[int]) -> None:
    """Name the folds whose training sides lack a class."""
    sentences = []
    if lacking:
        sentences.append(
            f"the training side of fold {listed(lacking)} of cv lacks a class, and "
            "models there never predict it"
        )
    if single:
        sentences.append(
            f"fold {listed(single)} of cv is left out, as one class is all that its "
            "training side holds"
        )
    if sentences:
        warn_user(
            f"{owner}: {'; '.join(sentences)}. A class has fewer members than there "
            f"are folds, or stands together in the samples: {REMEDY}.",
            SearchWarning,
        )


def cut_fold(data: D, split: Split, n_copies: int, link: str) -> Fold[D]:
    """Return a fold of data, whose models are of the classes on its training side.

    The `link` belongs to the decision values of all classes, see `find_link`.
    """
    samples, (train, test) = data.samples, split
    learnt = learnt_classes(samples, train)
    if learnt is None:
        return data.fold(train, test, n_copies)
    fold = data.among(_only(samples, learnt)).fold(train, test, n_copies)
    absent = np.full(len(samples.targets), NEVER)
    if link == "labels":
        # What all training samples have is always predicted.
        absent *= 1.0 - 2.0 * (samples.labels[train].min(axis=0) > 0)
    values = partial(_with_absent, fold.decision_values, learnt, absent, link)
    return Fold(fold.training, samples.subset(test), values)


def _only(samples: Samples, learnt: Indices) -> Samples:
    """Return samples with some of their classes, or labels, as if there were no more.

    Those of another class, which are not learnt from, pass for the first one.
    """
    assert samples.classes is not None
    classes = samples.classes[learnt]
    if samples.several:
        return replace(samples, labels=samples.labels[:, learnt], classes=classes)
    codes = np.zeros(samples.classes.size, dtype=np.intp)
    codes[learnt] = np.arange(learnt.size)
    weights = samples.class_weight
    if isinstance(weights, Mapping):
        names = classes.tolist()
        weights = {name: w for name, w in weights.items() if name in names}
    return replace(
        samples, labels=codes[samples.labels], classes=classes, class_weight=weights
    )


def _with_absent(
    values: Callable[[Sequence[Any]], Array],
    learnt: Indices,
    absent: Array,
    link: str,
    models: Sequence[Any],
) -> Array:
    """Return decision values of all classes, (n_models, n_test, n_outputs)."""
    f = values(models)
    if link != "labels" and learnt.size == 2:
        # Two classes have one value, which belongs to the second.
        f = np.concatenate([0.0 * f if link == "joint" else -f, f], axis=2)
    full = np.empty((*f.shape[:2], absent.size))
    full[:] = absent
    full[..., learnt] = f
    return full


def check_exchangeable(owner: str, samples: Samples, splits: Sequence[Split]) -> None:
    """Raise a sentence where residuals of folds say nothing of new samples."""
    weights = samples.sample_weight
    if weights is not None and np.ptp(weights) > 0.0:
        raise ValueError(
            f"{owner}: intervals=True counts the residual of every sample once, and "
            "sample_weight differs between samples: leave one of them out."
        )
    if samples.groups is not None:
        raise ValueError(
            f"{owner}: intervals=True holds for new samples that stand to the training "
            "samples as these to one another, which groups say they do not: leave "
            "intervals or groups out."
        )
    counts = np.zeros(samples.rows.size, dtype=np.intp)
    for _, test in splits:
        np.add.at(counts, test, 1)
    wrong = np.flatnonzero(counts != 1)
    if wrong.size:
        raise ValueError(
            f"{owner}: intervals=True needs folds that every sample validates once, "
            f"and sample {samples.rows[wrong[0]]} validates {counts[wrong[0]]} of the "
            f"{len(splits)} of cv: take folds without repetition that cover all "
            "samples, such as KFold."
        )


Keeper = Callable[[Any], FoldModels | None]
"""What gives the models of the folds once a search has chosen."""


def keeping_folds(
    folds: Folds[Any], fit: Callable[..., dict[str, Any]]
) -> Keeper | None:
    """Return what gives the models of the folds, None where they are not asked for.

    `fit` leads from the training side of a fold, who looks on and a choice to its
    attributes. Folds that intervals cannot rest on are refused.
    """
    model = folds.model
    if not (model.refit and getattr(model, "intervals", False)):
        return None
    check_exchangeable(type(model).__name__, folds.data.samples, folds.splits)
    return partial(_models_of_folds, folds, fit)


def _models_of_folds(
    folds: Folds[Any], fit: Callable[..., dict[str, Any]], best: Any
) -> FoldModels | None:
    """Return the models at a choice, None where a callback stopped the search.

    They are solved for once more: to hold the models of all candidates, with the
    samples that they expand in, would take more memory than kernels do.
    """
    samples = folds.data.samples
    fold_of = np.empty(samples.rows.size, dtype=np.intp)
    residuals = np.empty(samples.targets.T.shape)
    models: dict[int, Any] = {}
    link = find_link(folds.model.loss, samples)

    def learn(number: int) -> None:
        train, test = folds.splits[number]
        training: Data = folds.data.part(train, folds.jobs + 1)[0].unchecked()
        models[number] = fit(training, folds.watch, best)["_model"]
        f = models[number].decision_values(samples.X[test])
        if samples.offset is not None:
            f += samples.offset[test]
        fold_of[test] = number
        residuals[test] = np.abs(samples.targets.T[test] - means_of(link, f))

    folds.each(learn)
    if folds.watch.stopped:
        return None
    ordered = tuple(models[number] for number in range(len(models)))
    return FoldModels(ordered, fold_of, residuals)
