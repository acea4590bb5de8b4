"""The folds of a search: their data, training sets that lack classes, fold models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import listed
from multikernel.certificates.columns import UnboundedModelError
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import find_link
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Candidates, Data, Fold
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.intervals import FoldModels
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.splits import REMEDY, Split, learnt_classes
from multikernel.linalg.threads import run_blocks
from multikernel.losses.base import predicted_means

NEVER = -1e3
"""Decision value of classes that the training set lacks, so they are not predicted."""

# A path can end when its mean score falls, if all folds are solved at the same time.
ALL_FOLDS_BYTES = 2**31
"""Maximum bytes of the kernels of all folds for solving them at the same time."""

# On 1500 rows of 14 columns a fold with low-rank factors took 28 MB, its kernels 7 MB.
SOLVE_FACTOR = 4.0
"""Memory that a fold takes between two solves, as a multiple of that of its kernels."""


def for_each(
    n_calls: int, n_threads: int, watch: Watch, solve: Callable[[int], None]
) -> None:
    """Call `solve` with 0, ..., n_calls - 1, in `n_threads` threads."""
    if n_threads > 1:
        # These threads use all cores, so BLAS uses one thread in each of them. An
        # interrupt by the user stops all threads.
        run_blocks(solve, range(n_calls), n_threads, watch.stop)
    else:
        for k in range(n_calls):
            solve(k)


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of a search, their data, and the candidates to solve on each fold."""

    model: BaseMKL
    data: Data  # the data from which folds are cut
    splits: Sequence[Split]
    candidates: Candidates  # with the looser tolerance of folds
    watch: Watch
    n_threads: int  # number of folds that are solved at a time

    @property
    def blocks(self) -> Sequence[Indices]:
        """Indices of the targets in each block that is solved together."""
        # If all targets share one choice, there is one block, with the index 0.
        return self.candidates.blocks or [np.zeros(1, dtype=np.intp)]

    def cut(self, fold_index: int) -> Fold | None:
        """Return a fold, or None if a callback has stopped the search."""
        split, data = self.splits[fold_index], self.data
        if self.watch.stopped:
            return None
        if self.candidates.blocks is not None:
            # The fold has all targets, so blocks of targets share its kernels. Its
            # decision values are without offsets, because `TargetScorer` adds them.
            assert isinstance(data, Training)
            return data.fold(*split, self.n_in_memory, omit_offset=True)
        link = find_link(self.model.loss, data.samples)
        return cut_fold(data, split, self.n_in_memory, link)

    @property
    def fit_in_memory(self) -> bool:
        """Whether the kernels and solves of all folds fit into memory together."""
        # HKL has no parameter max_bytes.
        room, limit = float(ALL_FOLDS_BYTES), getattr(self.model, "max_bytes", None)
        # The matrices of all samples count twice: before and after their normalization.
        if limit is not None:
            room = min(room, (limit - 2.0 * self.data.n_bytes) / SOLVE_FACTOR)
        return len(self.splits) * self.data.n_bytes <= room

    @property
    def n_in_memory(self) -> int:
        """The number of folds in memory at a time."""
        return len(self.splits) if self.fit_in_memory else self.n_threads

    def expect(self, n_per_candidate: int) -> None:
        """Set the number of solves for progress lines."""
        # `n_per_candidate` counts the solves on all folds and those after the choice.
        samples = self.data.samples
        n_outputs = 1 if samples.shared else len(samples.targets)
        if self.candidates.blocks is not None:
            n_outputs = self.blocks[0].size
        n_solves = len(self.candidates) * n_per_candidate * len(self.blocks)
        # In memory are the kernels of all samples and of `n_in_memory` folds.
        n_bytes = (1 + self.n_in_memory) * self.data.n_bytes
        owner = type(self.model).__name__
        self.watch.expect(n_solves, n_outputs, owner, n_bytes)

    def for_each(self, solve: Callable[[int], None]) -> None:
        """Call `solve` with the index of every fold; error messages name the fold."""

        def named(fold_index: int) -> None:
            try:
                solve(fold_index)
            except UnboundedModelError as error:
                test = self.data.samples.rows[self.splits[fold_index][1]].tolist()
                raise ValueError(
                    f"{type(self.model).__name__}: the training set of fold "
                    f"{fold_index} of cv, which validates on rows {listed(test)}, has "
                    f"no finite model. {error} If a fit on all samples works, {REMEDY}."
                ) from error

        for_each(len(self.splits), self.n_threads, self.watch, named)


def cut_fold(data: Data, split: Split, n_in_memory: int, link: str) -> Fold:
    """Return the fold of a split; its training set may lack classes."""
    # The models have only the classes in the training set, but the decision values have
    # a column for each class. `n_in_memory` folds are in memory at a time.
    samples, (train, test) = data.samples, split
    classes = learnt_classes(samples, train)
    if classes is None:
        return data.fold(train, test, n_in_memory)
    fold = data.relabel(_restrict_classes(samples, classes)).fold(
        train, test, n_in_memory
    )
    # `link` is the kind of decision values, see `find_link`. Of `absent_values`, only
    # those of classes that the training set lacks are used.
    absent_values = np.full(len(samples.targets), NEVER)
    if link == "labels":
        # A label that all training samples have is always predicted.
        absent_values *= 1.0 - 2.0 * (samples.labels[train].min(axis=0) > 0)

    def decision_values(models: Sequence[object]) -> Array:
        """Return decision values, also of absent classes."""
        f = fold.decision_values(models)
        if link != "labels" and classes.size == 2:
            # Models of two classes have one decision value, that of the second class.
            # The first class has the opposite value, or zero in a loss of all classes.
            f = np.concatenate([0.0 * f if link == "joint" else -f, f], axis=2)
        full = np.empty((*f.shape[:2], absent_values.size))
        full[:] = absent_values
        full[..., classes] = f
        return full

    return Fold(fold.training, samples.subset(test), decision_values)


def _restrict_classes(samples: Samples, class_indices: Indices) -> Samples:
    """Return the samples as if the targets had only the given classes or labels."""
    # Samples of other classes get the code of the first class, which has no effect:
    # the training set of the fold does not contain them.
    assert samples.classes is not None
    classes = samples.classes[class_indices]
    if samples.several:
        labels = samples.labels[:, class_indices]
        return replace(samples, labels=labels, classes=classes)
    codes = np.zeros(samples.classes.size, dtype=np.intp)
    codes[class_indices] = np.arange(class_indices.size)
    weights = samples.class_weight
    if isinstance(weights, Mapping):
        names = classes.tolist()
        weights = {name: w for name, w in weights.items() if name in names}
    return replace(
        samples, labels=codes[samples.labels], classes=classes, class_weight=weights
    )


def check_exchangeable(owner: str, samples: Samples, splits: Sequence[Split]) -> None:
    """Raise if residuals of folds cannot give prediction intervals for new samples."""
    # Intervals require exchangeable samples, and exactly one residual of each sample.
    weights = samples.sample_weight
    if weights is not None and np.ptp(weights) > 0.0:
        raise ValueError(
            f"{owner}: intervals=True requires equal sample weights, but "
            "sample_weight differs between samples: pass intervals=False, or no "
            "sample_weight."
        )
    tests = np.concatenate([test for _, test in splits])
    counts = np.bincount(tests, minlength=samples.rows.size)
    if (counts != 1).any():
        row = np.argmax(counts != 1)
        raise ValueError(
            f"{owner}: intervals=True requires folds that validate every sample once, "
            f"but sample {samples.rows[row]} is validated by {counts[row]} "
            f"of the {len(splits)} folds of cv: pass a cv that validates each sample "
            "once, such as KFold."
        )


def models_of_folds(folds: Folds, best: object) -> FoldModels | None:
    """Return the models of candidate `best` on all folds; None if a callback stops."""
    # Fit the folds again: to store the models of all candidates, with their samples,
    # would take more memory than the kernels.
    samples = folds.data.samples
    fold_of = np.empty(samples.rows.size, dtype=np.intp)
    residuals = np.empty(samples.targets.T.shape)  # (n_samples, n_outputs)
    models: list[Any] = [None] * len(folds.splits)
    link = find_link(folds.model.loss, samples)

    def fit_fold(fold_index: int) -> None:
        # The model has not seen the samples `test`, so its residuals on them are like
        # those on new samples.
        train, test = folds.splits[fold_index]
        training = folds.data.part(train, folds.n_threads + 1)[0]
        attributes = folds.candidates.refit(training, folds.watch, best)
        models[fold_index] = attributes["_model"]
        f = models[fold_index].decision_values(samples.X[test])
        if samples.offset is not None:
            f += samples.offset[test]
        fold_of[test] = fold_index
        residuals[test] = np.abs(samples.targets.T[test] - predicted_means(link, f))

    folds.for_each(fit_fold)
    if folds.watch.stopped:
        return None
    return FoldModels(tuple(models), fold_of, residuals)
