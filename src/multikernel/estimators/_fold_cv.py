"""Cross-validation on folds cut from the stack of all samples."""

import difflib
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.metadata_routing import get_routing_for_object

from multikernel._typing import Array, Indices
from multikernel._validation import FLAG, NOTHING, AnyOf, Check, Number
from multikernel.estimators._base import BaseMKL
from multikernel.estimators._grams import Grams
from multikernel.estimators._samples import Samples
from multikernel.estimators._scores import FoldScores, make_score
from multikernel.exceptions import ConvergenceWarning
from multikernel.linalg.threads import with_one_blas_thread
from multikernel.problem import Callback


def scoring_choice(value: Any) -> str | None:
    """Check a ``scoring`` parameter: one score, by name or as a function."""
    if value is None or callable(value):
        return None
    # Imported here: it takes a fifth of the time of importing this package.
    from sklearn.metrics import get_scorer_names

    names = get_scorer_names()
    if isinstance(value, str) and value in names:
        return None
    near = difflib.get_close_matches(value, names) if isinstance(value, str) else []
    known = f" ({', '.join(map(repr, near))})" if near else ""
    return f"None, a callable, or a name of sklearn.metrics.get_scorer_names(){known}"


FOLD_CHECKS: Mapping[str, Check] = {
    "scoring": scoring_choice,
    "n_jobs": AnyOf((NOTHING, Number(1, integer=True), Number(high=-1, integer=True))),
    "refit": FLAG,
}


def _asks_for_groups(splitter: Any) -> bool:
    """Return whether a splitter cannot do without groups."""
    request = get_routing_for_object(splitter)
    return "split" in vars(request) and bool(request.split.requests.get("groups"))


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


class FoldCV(BaseMKL):
    """Adds folds and their scores to a model; goes before it among the bases.

    A subclass implements `_score_fold` and chooses in `_fit_samples`.
    """

    loss: str
    cv: Any
    scoring: Any
    n_jobs: int | None
    refit: bool

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Choose the parameters, and fit the model that they give.

        An exception on the way, such as an interrupt from the keyboard, leaves the
        estimator as it was.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data; with ``kernels="precomputed"`` Gram matrices of shape
            (n_samples, n_samples, n_kernels), see `stack_grams`.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples. An integer weight does what as many
            copies of the sample would do, a weight of zero what leaving it out would.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups for splitters that ask for them, such as
            `sklearn.model_selection.GroupKFold`.
        callback : callable, default=None
            Called with a `Progress` once per outer iteration, its objective in the
            summed scale of `Problem`; the fit stops where it returns True.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are wrong; the message says which and how.
        multikernel.exceptions.StackTooLargeError
            If the Gram matrices would need more than ``max_bytes``.

        Warns
        -----
        ConvergenceWarning
            If solves stopped above the tolerance; the message says how many.
        """
        return self._fit(X, y, sample_weight, callback, groups)

    @abstractmethod
    def _score_fold(
        self,
        samples: Samples,
        grams: Grams,
        split: tuple[Indices, Indices],
        alphas: Array,
        watch: Callback | None,
    ) -> FoldScores:
        """Fit on one side of a split, and score on the other."""

    def _score(self, samples: Samples, outside: Samples) -> Callable[[Array], float]:
        """Return the score of decision values of the validation samples of a fold."""
        from sklearn.metrics import check_scoring

        y = samples.y[outside.rows]
        scorer = check_scoring(self, scoring=self.scoring)
        return make_score(scorer, self.loss, samples.classes, y, outside.weights)

    def _splits(self, samples: Samples) -> list[tuple[Indices, Indices]]:
        """Return the folds as positions among the samples of non-zero weight."""
        from sklearn.model_selection import check_cv

        y = samples.y
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        groups = samples.groups
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
            rows = [_checked_rows(side, y.shape[0], number) for side in sides]
            train, test = (place[side][place[side] >= 0] for side in rows)
            if not (train.size and test.size):
                raise ValueError(f"Fold {number} of cv has an empty side.")
            self._check_fold(samples, train, number)
            # The samples' own order, as in a fit on this side alone.
            splits.append((np.sort(train), test))
        return splits

    def _check_fold(self, samples: Samples, train: Indices, number: int) -> None:
        """Raise if a fold's training samples lack a class."""
        if samples.classes is None:
            return
        codes = np.arange(samples.classes.size)
        missing = samples.classes[~np.isin(codes, samples.labels[train])]
        if missing.size:
            raise ValueError(
                f"The training side of fold {number} of cv holds no sample of class "
                f"{missing.tolist()[0]!r}: use fewer or stratified folds."
            )

    def _fold_scores(
        self,
        samples: Samples,
        grams: Grams,
        alphas: Array,
        watch: Callback | None,
    ) -> list[FoldScores]:
        """Return the scores of all folds, several of them at a time if asked to."""
        splits = self._splits(samples)
        jobs = min(effective_n_jobs(self.n_jobs), len(splits))

        def run() -> list[FoldScores]:
            scores: list[FoldScores] = Parallel(jobs, require="sharedmem")(
                delayed(self._score_fold)(samples, grams, split, alphas, watch)
                for split in splits
            )
            return scores

        # Folds that run at the same time share the cores; each gets one for BLAS.
        return with_one_blas_thread(run) if jobs > 1 else run()

    def _warn_unsolved(self, gaps: Array) -> None:
        """Say how many solves of paths ended above the tolerance, if any did."""
        unsolved = int(np.count_nonzero(~(gaps <= self.tol)))
        if unsolved:
            warnings.warn(
                f"{unsolved} of {gaps.size} solves along the paths of "
                f"{type(self).__name__} stopped above tol={self.tol:g}; the largest "
                f"relative duality gap is {gaps.max():.2e}. Raise max_iter or loosen "
                "tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _require_fitted(self) -> None:
        if not self.refit:
            raise NotFittedError(
                f"{type(self).__name__} has refit=False: it chooses parameters and "
                "fits no model on all samples."
            )
        super()._require_fitted()
