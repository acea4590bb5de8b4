"""The folds of a search: which samples they have, their scores, the table of all."""

import copy
import difflib
import inspect
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.utils.metadata_routing import get_routing_for_object

from multikernel._typing import Array, Indices
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import named, publish
from multikernel.estimators.method import Data, Fold
from multikernel.estimators.parameters import is_likelihood
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.targets import check_groups
from multikernel.estimators.scale import Grid

Split = tuple[Indices, Indices]


def make_splits(cv: Any, samples: Samples) -> list[Split]:
    """Return the folds of ``cv`` as positions among the samples of non-zero weight.

    An empty side, and a training side without a class, are refused.
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


Scorer = Callable[..., float]


@dataclass(frozen=True, eq=False)
class FoldScores:
    """What one fold says of every candidate.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        Validation scores.
    n_active : ndarray of shape (n_candidates,)
        Kernels in the models.
    done : ndarray of shape (n_candidates,)
        Which candidates were solved for: all, unless a callback asked to stop.
    gaps : ndarray of shape (n_solves,)
        Relative duality gaps of the solves.
    """

    scores: Array
    n_active: Array
    done: Array
    gaps: Array


class FoldScorer:
    """Scores the models of one fold by any of scikit-learn's scorers.

    A scorer by name reads predictions only; a function gets the model with all its
    attributes. Both see the validation samples, whose decision values are known.

    Parameters
    ----------
    search : BaseMKL
        The search; not changed.
    scoring : str, callable or None
        Its scoring.
    fold : Fold
        The fold.
    """

    def __init__(self, search: BaseMKL, scoring: Any, fold: Fold[Data]) -> None:
        from sklearn.base import is_classifier
        from sklearn.metrics import check_scoring

        self.search, self.fold = search, fold
        self.scorer: Scorer = check_scoring(search, scoring=scoring)
        if scoring is None and is_classifier(search):
            self.scorer = _accuracy
        self.whole = callable(scoring)
        self.X = fold.inputs(self.whole)
        samples = fold.outside
        self.y, self.arguments = samples.y[samples.rows], {}
        if samples.sample_weight is not None and takes(self.scorer, 3, "sample_weight"):
            self.arguments["sample_weight"] = samples.sample_weight

    def __call__(self, attributes: Callable[[], dict[str, Any]], f: Array) -> float:
        """Return the score of a model by its decision values, (n_test, n_outputs).

        Its `attributes` are asked for where the scorer looks at them. A scorer that
        wants probabilities the loss does not have, or returns no number, is refused.
        """
        model = self._model(attributes() if self.whole else {}, f)
        try:
            score = self.scorer(model, self.X, self.y, **self.arguments)
        except AttributeError as error:
            if is_likelihood(self.search.loss) or "_proba" not in str(error):
                raise
            raise ValueError(
                "scoring asks for class probabilities, which a model with loss="
                f"{self.search.loss!r} does not have: use loss='log_loss', or a score "
                "of decision values or labels, such as 'roc_auc' or 'accuracy'."
            ) from error
        try:
            return float(score)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"scoring must return one number, got {reprlib.repr(score)}."
            ) from error

    def _model(self, attributes: dict[str, Any], f: Array) -> BaseMKL:
        """Return a fitted model that knows its decision values."""
        data = self.fold.training
        found = named(self.search, data, attributes, known=(self.X, f))
        if data.precomputed:
            found["n_features_in_"] = data.samples.rows.size
        model = copy.copy(self.search)
        publish(model, found)
        return model


def _accuracy(
    model: Any, X: Any, y: Array, sample_weight: Array | None = None
) -> float:
    """Return what a classifier's ``score`` does, without its checks of X and y.

    These take as long as a Newton step on 155 samples and 70 kernels.
    """
    right = model.predict(X) == y
    right = right.all(axis=1) if right.ndim == 2 else right
    return float(np.average(right, weights=sample_weight))


def takes(function: Callable[..., Any], n_arguments: int, *names: str) -> bool:
    """Return whether a function can be called in a way; True where it does not tell.

    With so many arguments by position, and others by their names.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions that are compiled have none
        return not names
    try:
        signature.bind(*range(n_arguments), **dict.fromkeys(names))
    except TypeError:
        return False
    return True


def scoring_choice(value: Any) -> str | None:
    """Check a ``scoring`` parameter: one score, by name or as a function."""
    if value is None or (callable(value) and takes(value, 3)):
        return None
    # Imported here: it takes a fifth of the time of importing this package.
    from sklearn.metrics import get_scorer_names

    names = get_scorer_names()
    if isinstance(value, str) and value in names:
        return None
    near = difflib.get_close_matches(value, names) if isinstance(value, str) else []
    known = f" ({', '.join(map(repr, near))})" if near else ""
    return (
        "None, a callable with arguments (model, X, y), or a name of "
        f"sklearn.metrics.get_scorer_names(){known}"
    )


def cv_results(
    columns: Mapping[str, Array], folds: Sequence[FoldScores]
) -> dict[str, Any]:
    """Return the scores of all folds as scikit-learn's searches do.

    The `columns` are the parameters that candidates differ in. Where a callback stopped
    the search, candidates are compared on the folds that were finished, or where none
    was, on what there is of every candidate.
    """
    size = len(next(iter(columns.values())))
    scores = np.array([fold.scores[:size] for fold in folds])
    done = np.array([fold.done[:size] for fold in folds])
    n_active = np.array([fold.n_active[:size] for fold in folds])
    mean, std, mean_active = _moments(scores, n_active, done)
    if not done.any():
        raise RuntimeError(
            "A callback stopped the search before any candidate was scored."
        )
    if not np.isfinite(mean).any():
        raise ValueError(
            f"No {' and '.join(columns)} has a finite score in every fold: check "
            "scoring, that every fold holds every class, and for r2, the default of a "
            "regression, that it holds at least two samples."
        )
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    results: dict[str, Any] = {
        "params": [dict(zip(columns, row, strict=True)) for row in rows]
    }
    results |= {f"param_{name}": column for name, column in columns.items()}
    results |= {f"split{k}_test_score": row for k, row in enumerate(scores)}
    results["mean_test_score"] = mean
    results["std_test_score"] = std
    results["rank_test_score"] = rankdata(
        np.where(np.isnan(mean), np.inf, -mean), method="min"
    ).astype(np.intp)
    results["mean_n_active"] = mean_active
    return results


def _moments(scores: Array, n_active: Array, done: Array) -> tuple[Array, Array, Array]:
    """Return mean and deviation of the scores, and the mean number of kernels."""
    # What no fold was solved for was left out.
    finished = done[:, done.any(axis=0)].all(axis=1)
    if finished.any():
        scores, n_active, done = scores[finished], n_active[finished], done[finished]
    # A score that is nan though its candidate was solved for remains so.
    counts = done.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(done, scores, 0.0).sum(axis=0) / counts
        deviations = np.where(done, scores - mean, 0.0)
        # The square of a deviation of an error from 1e154 on is no number.
        largest = np.abs(deviations).max(axis=0)
        scale = np.where(largest > 0.0, largest, 1.0)
        spread = scale * np.sqrt(((deviations / scale) ** 2).sum(axis=0) / counts)
        active = np.where(done, n_active, 0.0).sum(axis=0) / counts
    return mean, spread, active


def best_candidate(results: Mapping[str, Any]) -> int:
    """Return the candidate with the best mean score in `cv_results`.

    Of several with the same score one with kernels goes before one without, and
    then the first, which is the simplest.
    """
    mean = results["mean_test_score"]
    ties = np.flatnonzero(mean == np.nanmax(mean))
    filled = ties[results["mean_n_active"][ties] > 0.0]
    return int(filled[0] if filled.size else ties[0])


def said(params: Mapping[str, Any]) -> str:
    """Return parameters as a message writes them."""
    texts = {
        name: repr(value) if isinstance(value, str) else f"{value:.3g}"
        for name, value in params.items()
    }
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def grid_end(
    results: Mapping[str, Any], best: int, name: str, grid: Grid
) -> str | None:
    """Return which end of a grid the choice is at, if it beats its neighbor inside."""
    value, labels = results["params"][best][name], grid.labels()
    if labels.size < 3 or value not in (labels[0], labels[-1]):
        return None
    first = value == labels[0]
    column = results[f"param_{name}"]
    alike = column == labels[1 if first else -2]
    for other, wanted in results["params"][best].items():
        if other != name:
            alike &= results[f"param_{other}"] == wanted
    mean = results["mean_test_score"]
    # Nothing is known of a neighbor that was left out.
    if not (mean[best] > mean[alike]).all():
        return None
    ascending = grid.values[0] < grid.values[-1]
    return "smallest" if first == ascending else "largest"
