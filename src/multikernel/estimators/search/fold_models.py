"""The models of all folds at the choice of a search, which intervals rest on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from multikernel.estimators.fit import find_link
from multikernel.estimators.method import Data
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.intervals import FoldModels
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.folds import Split, for_each
from multikernel.losses.base import means_of


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


@dataclass(frozen=True, eq=False)
class FoldKeeper:
    """What gives the models of the folds once a search has chosen.

    They are solved for once more: to hold the models of all candidates, with the
    samples that they expand in, would take more memory than kernels do.

    Parameters
    ----------
    model : SearchCV
        The search.
    data : Data
        What folds are cut from.
    splits : sequence of (train, test)
        The folds.
    fit : callable
        From the training side of a fold, who looks on and a choice to its attributes.
    watch : Watch
        Who looks on.
    jobs : int
        Folds at a time.
    """

    model: Any
    data: Any
    splits: Sequence[Split]
    fit: Callable[..., dict[str, Any]]
    watch: Watch
    jobs: int

    def __call__(self, best: Any) -> FoldModels | None:
        """Return the models at a choice, None where a callback stopped the search."""
        samples = self.data.samples
        fold_of = np.empty(samples.rows.size, dtype=np.intp)
        residuals = np.empty(samples.targets.T.shape)
        models: dict[int, Any] = {}
        link = find_link(self.model.loss, samples)

        def learn(number: int) -> None:
            train, test = self.splits[number]
            training: Data = self.data.part(train, self.jobs + 1)[0].unchecked()
            models[number] = self.fit(training, self.watch, best)["_model"]
            f = models[number].decision_values(samples.X[test])
            if samples.offset is not None:
                f += samples.offset[test]
            fold_of[test] = number
            residuals[test] = np.abs(samples.targets.T[test] - means_of(link, f))

        for_each(len(self.splits), self.jobs, self.watch, learn)
        if self.watch.stopped:
            return None
        ordered = tuple(models[number] for number in range(len(models)))
        return FoldModels(ordered, fold_of, residuals)


def keeping_folds(
    model: Any,
    data: Any,
    splits: Sequence[Split],
    fit: Callable[..., dict[str, Any]],
    watch: Watch,
    jobs: int,
) -> FoldKeeper | None:
    """Return what gives the models of the folds, None where they are not asked for.

    Folds that intervals cannot rest on are refused.
    """
    if not (model.refit and getattr(model, "intervals", False)):
        return None
    check_exchangeable(type(model).__name__, data.samples, splits)
    return FoldKeeper(model, data, splits, fit, watch, jobs)
