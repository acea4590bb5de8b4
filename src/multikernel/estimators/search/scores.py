"""Scores of candidates on a fold, and the table of all folds."""

import copy
import difflib
import inspect
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.stats import rankdata

from multikernel._typing import Array, Indices, Mask
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import all_attributes, find_link, publish
from multikernel.estimators.method import Fold, Solved
from multikernel.estimators.parameters import find_joint_loss, is_likelihood, loss_of
from multikernel.estimators.scale import target_scale
from multikernel.estimators.search.splits import learnt_classes
from multikernel.estimators.tasks import class_codes, log_probabilities


@dataclass(frozen=True, eq=False)
class Scores:
    """Results of the folds of a search for all candidates, filled during the solves."""

    # The first four arrays have shape (n_folds, n_candidates, n_choices); n_choices is
    # the number of targets if each chooses its own candidate, otherwise one.
    scores: Array  # on the validation samples
    losses: Array  # mean validation losses, which break ties
    n_active: Array  # number of kernels of the models
    # Whether a model was solved; paths that end early, and callbacks, skip some.
    done: Mask
    # For each fold, a dict from scored candidates to masks of the classes that they
    # predict for any validation sample. With several labels, a mask has two entries per
    # label: present and absent. Masks are empty for a regression.
    predicted: list[dict[int, Mask]]
    lacks_class: Mask  # whether the validation set of a fold lacks a class
    refusals: list[str]  # error messages of the scorer for folds that it cannot score
    gaps: list[Array]  # relative duality gaps of the solves

    @classmethod
    def empty(cls, *shape: int) -> Self:
        """Return scores before any solve, with arrays of the given shape."""
        # The shape is (n_folds, n_candidates, n_choices).
        scores, losses = np.full((2, *shape), np.nan)
        n_active, done = np.zeros(shape), np.zeros(shape, dtype=bool)
        predicted: list[dict[int, Mask]] = [{} for _ in range(shape[0])]
        lacks_class, refusals = np.zeros(shape[0], dtype=bool), [""] * shape[0]
        return cls(scores, losses, n_active, done, predicted, lacks_class, refusals, [])

    def means(self, choices: Indices) -> Array:
        """Return the candidates' mean scores over folds, (n_candidates, n_choices)."""
        # `choices` are the indices of targets that choose separately, else [0].
        values, every_done = self.scores[:, :, choices], self.done[:, :, choices]
        used = scored_folds(values, every_done)[:, None]
        # Means are nan for candidates that are not yet solved on all folds.
        mean_scores = np.mean(values, axis=0, where=used)
        return np.where(every_done.all(axis=0), mean_scores, np.nan)


class FoldScorer:
    """Scores the models of one fold with any scorer of scikit-learn."""

    # `search` is the estimator that chooses candidates, and `fold` has the validation
    # samples. The scorer gets their inputs `X`, their targets `y` and `arguments`, its
    # keywords. `losses` has a loss for each output, in the units of the targets, and
    # `link` is the conversion of decision values to predictions, see `find_link`.

    def __init__(self, search: BaseMKL, fold: Fold) -> None:
        from sklearn.metrics import check_scoring

        self.search, self.fold = search, fold
        scoring, samples = search.scoring, fold.validation
        is_classifier = samples.classes is not None
        self.scorer: Callable[..., float] = check_scoring(search, scoring=scoring)
        if scoring is None and is_classifier:
            self.scorer = _accuracy
        # A scorer given by name uses only predictions; a function of the user may read
        # any fitted attribute of the model.
        self.needs_model = callable(scoring)
        self.link = find_link(search.loss, samples)
        # A classifier has a loss for each class, even if the training set lacks the
        # class. A regressor's losses depend on the standard deviations of the training
        # targets.
        fitted_samples = samples if is_classifier else fold.training.samples
        loss = loss_of(search)
        scale = target_scale(type(search).__name__, fitted_samples, loss.unit)
        self.losses = loss.at_scale(scale)[0]
        self.X = fold.inputs(with_matrices=self.needs_model)
        all_samples = np.arange(samples.rows.size)
        self.lacks_class = learnt_classes(samples, all_samples) is not None
        self.refusal = ""
        self.y = samples.table.y[samples.rows]
        self.arguments: dict[str, Array] = {}
        weights = samples.sample_weight
        if weights is not None and accepts(self.scorer, "sample_weight"):
            self.arguments["sample_weight"] = weights
        if samples.offset is not None and scoring is None and not is_classifier:
            self.arguments["offset"] = samples.offset

    def score_batch(
        self, batch: Sequence[Solved], scores: Scores, fold_index: int, block: Indices
    ) -> None:
        """Score the models of a batch for the targets of a block, filling `scores`."""
        # `block` has the targets' indices, or is [0] if all share one choice.
        values = self.fold.decision_values([solved.model for solved in batch])
        for solved, f in zip(batch, values, strict=True):
            targets = slice(None) if solved.targets is None else solved.targets
            candidates = np.asarray(solved.candidates, dtype=np.intp)
            cells = np.ix_(np.array([fold_index]), candidates, block[targets])
            scores.scores[cells], scores.losses[cells] = self.score_and_loss(solved, f)
            predicted = dict.fromkeys(solved.candidates, self.predicted(f))
            scores.predicted[fold_index].update(predicted)
            scores.n_active[cells] = solved.n_active
            scores.done[cells] = True
            scores.gaps.append(solved.gaps)
        scores.refusals[fold_index] = self.refusal

    def score_and_loss(
        self, solved: Solved, f: Array
    ) -> tuple[float | Array, float | Array]:
        """Return the score and the mean loss of a model, given its decision values."""
        return self(solved.attributes, f), self.loss(f)

    def __call__(self, attributes: Callable[[], dict[str, object]], f: Array) -> float:
        """Return a model's score; `f` are its decision values, (n_test, n_outputs)."""
        # `attributes` is called only if the scorer uses them.
        model = self._model(attributes() if self.needs_model else {}, f)
        try:
            score = self.scorer(model, self.X, self.y, **self.arguments)
        except AttributeError as error:
            reason = self._why_no_probabilities() if "_proba" in str(error) else ""
            if not reason:
                raise
            raise ValueError(reason) from error
        except ValueError as error:
            if "multi_class" in str(error) and self._is_multiclass():
                raise ValueError(
                    f"scoring={self.search.scoring!r} supports two classes only, but y "
                    f"has {len(self.fold.validation.output_names)}: pass "
                    "scoring='roc_auc_ovr', or another score for several classes."
                ) from error
            if not self.lacks_class and self.needs_model:
                raise  # an error of the user's own function
            if not self.lacks_class:
                reason = str(error).rstrip(".")
                raise ValueError(
                    f"scoring={self.search.scoring!r} does not apply to these targets: "
                    f"{reason}. Pass another scoring."
                ) from error
            self.refusal = str(error)
            return np.nan
        try:
            return float(score)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "The function passed as scoring must return one number, got "
                f"{reprlib.repr(score)}."
            ) from error

    def _why_no_probabilities(self) -> str:
        """Return why the scorer found no class probabilities; "" if there are some."""
        if self.fold.validation.classes is None:
            return (
                f"scoring={self.search.scoring!r} requires classes, but the targets "
                "are numbers: pass a score for numbers, such as scoring='r2'."
            )
        if is_likelihood(self.search.loss):
            return ""
        alternatives = "accuracy" if self._is_multiclass() else "roc_auc' or 'accuracy"
        return (
            "scoring requires class probabilities, which a model with "
            f"loss={self.search.loss!r} does not have: pass loss='log_loss', or a "
            f"score without probabilities, such as scoring='{alternatives}'."
        )

    def loss(self, f: Array) -> float:
        """Return the mean loss of decision values, (n_test, n_outputs)."""
        samples, loss = self.fold.validation, self.losses[0]
        targets = samples.targets.T  # (n_test, n_outputs), labels of classes are +-1
        joint = find_joint_loss(loss) if self.link == "joint" else None
        with np.errstate(over="ignore", invalid="ignore"):
            if joint is not None:  # a loss of all classes at once
                values = joint.value((targets > 0.0).astype(np.float64), f)
            elif self._is_multiclass() and is_likelihood(self.search.loss):
                # Use the negative mean log-probability of the true classes, with
                # one-vs-rest probabilities that are scaled to sum to one.
                logs = log_probabilities(f, self.link)
                values = -logs[np.arange(len(f)), samples.labels]
            else:
                # The loss of the model is summed over its outputs.
                losses = np.broadcast_to(np.asarray(self.losses), (f.shape[1],))
                pairs = zip(losses, targets.T, f.T, strict=True)
                values = np.sum([loss.value(y, g) for loss, y, g in pairs], axis=0)
            return float(np.average(values, weights=samples.sample_weight))

    def _is_multiclass(self) -> bool:
        """Return whether there are more than two classes, and one class per sample."""
        samples = self.fold.validation
        is_multiclass = samples.classes is not None and samples.classes.size > 2
        return is_multiclass and not samples.several

    def predicted(self, f: Array) -> Mask:
        """Return a mask of the classes predicted for any sample, see `Scores`."""
        # The mask shows whether all predictions are equal. With several labels, it has
        # two entries per label: present and absent.
        samples = self.fold.validation
        if samples.classes is None:
            return np.zeros(0, dtype=bool)
        if samples.several:
            return np.concatenate([(f > 0.0).any(axis=0), (f <= 0.0).any(axis=0)])
        return np.bincount(class_codes(f), minlength=samples.classes.size) > 0

    def _model(self, attributes: dict[str, object], f: Array) -> BaseMKL:
        """Return a fitted estimator whose decision values are `f`."""
        # The training set may lack classes; the scorer requires a model of all classes.
        data = self.fold.training.relabel(self.fold.validation)
        # Predictions on the object `X` use `f` instead of a fitted model.
        published = all_attributes(self.search, data, attributes, cached=(self.X, f))
        if data.precomputed:
            published["n_features_in_"] = self.fold.training.samples.rows.size
        model: BaseMKL = copy.copy(self.search)
        publish(model, published)
        return model


def _accuracy(
    model: BaseMKL, X: object, y: Array, sample_weight: Array | None = None
) -> float:
    """Return a classifier's accuracy, as ``score`` does, without checks of X and y."""
    # On 155 samples and 70 kernels, these checks take as long as a Newton step.
    right = model.predict(X) == y
    right = right.all(axis=1) if right.ndim == 2 else right
    return float(np.average(right, weights=sample_weight))


def accepts(function: Callable[..., object], *names: str) -> bool:
    """Return whether a scorer accepts a model, X and y, and the keywords `names`."""
    try:
        inspect.signature(function).bind(*range(3), **dict.fromkeys(names))
    except (TypeError, ValueError):  # some compiled functions have no signature
        return False
    return True


def scoring_choice(value: object) -> str | None:
    """Return a description of valid ``scoring``, or None if the value is valid."""
    if value is None or (callable(value) and accepts(value)):
        return None
    # Imported here, because it takes a fifth of this package's import time.
    from sklearn.metrics import get_scorer_names

    names = get_scorer_names()
    if isinstance(value, str) and value in names:
        return None
    similar = difflib.get_close_matches(value, names) if isinstance(value, str) else []
    hint = f" ({', '.join(map(repr, similar))})" if similar else ""
    return (
        "None, a callable with arguments (model, X, y), or a name of "
        f"sklearn.metrics.get_scorer_names(){hint}"
    )


def cv_results(columns: Mapping[str, Array], table: Scores) -> dict[str, object]:
    """Return the scores of all folds in the format of scikit-learn's searches."""
    # `columns` has the values of each parameter, (n_candidates,). Further candidates in
    # `table`, with more kernels than any model selected, are ignored. The arrays of
    # `table` have one choice.
    if not table.done.any():
        raise RuntimeError(
            "The callback returned True, which stops the search, before any candidate "
            "was scored: return True later."
        )
    size = len(next(iter(columns.values())))
    means = {name: values[:size, 0] for name, values in fold_means(table).items()}
    mean = means["mean_test_score"]
    if not np.isfinite(mean).any():
        raise ValueError(_no_scores_message(" and ".join(columns), table))
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    results: dict[str, object] = {
        "params": [dict(zip(columns, row, strict=True)) for row in rows]
    }
    results |= {f"param_{name}": column for name, column in columns.items()}
    splits = table.scores[:, :size, 0]
    results |= {f"split{k}_test_score": row for k, row in enumerate(splits)}
    results |= means
    results["rank_test_score"] = rankdata(
        np.where(np.isnan(mean), np.inf, -round_digits(mean)), method="min"
    ).astype(np.intp)
    return results


def _no_scores_message(names: str, table: Scores) -> str:
    """Return the error message for a search in which no candidate has a score."""
    refusal = next(filter(None, table.refusals), "")
    detail = f" The scorer says: {refusal}" if refusal else ""
    if table.lacks_class.all():
        return (
            "No fold of cv validates on samples of every class, but scoring requires "
            "all: remove the class with too few samples, use fewer or stratified "
            f"folds, or pass scoring='accuracy'.{detail}"
        )
    return (
        f"No {names} has a finite score in every fold: pass another scoring, or a cv "
        "whose folds contain all classes. For a regression, scoring='r2', the default, "
        f"requires at least two samples in every validation set.{detail}"
    )


def scored_folds(scores: Array, done: Mask) -> Mask:
    """Return a mask of the folds to average over: those that have any score."""
    # The arguments have shape (n_folds, n_candidates[, n_targets]). A fold that lacks a
    # class may have no score. If no fold has one, return all folds.
    has_score = (done & ~np.isnan(scores)).any(axis=1) | ~done.any(axis=1)
    return np.asarray(np.where(has_score.any(axis=0), has_score, True))


def fold_means(table: Scores) -> dict[str, Array]:
    """Return means over folds, (n_candidates, n_choices) each, and the scores' std."""
    # Use only folds on which all candidates are solved, if there are any. Candidates
    # that are not solved on any fold were skipped, and do not make a fold incomplete.
    done, scored = table.done, scored_folds(table.scores, table.done)[:, None]
    complete = scored & (done | ~done.any(axis=0)).all(axis=1, keepdims=True)
    used = done & np.where(complete.any(axis=0), complete, scored)
    counts = used.sum(axis=0)

    def mean(values: Array) -> Array:
        return np.asarray(np.where(used, values, 0.0).sum(axis=0) / counts)

    with np.errstate(over="ignore", invalid="ignore"):
        # A solved candidate whose score is nan keeps a mean of nan.
        mean_scores = mean(table.scores)
        deviations = np.where(used, table.scores - mean_scores, 0.0)
        return {
            "mean_test_score": mean_scores,
            # The square of a deviation above 1e154 would overflow; `hypot` does not.
            "std_test_score": np.hypot.reduce(deviations, axis=0) / np.sqrt(counts),
            "mean_test_loss": mean(table.losses),
            "mean_n_active": mean(table.n_active),
        }


def round_digits(values: Array) -> Array:
    """Return values to twelve digits, so that sums in any order give equal means."""
    return np.array([float(f"{value:.12g}") for value in values.tolist()])
