"""Searches that choose a strength for every target, where selections are separate.

Such targets are problems of their own: each has the strength with its own best mean
score, as if it were alone. What is shared are the kernels of all folds, the products
with them, and the grid. Targets are taken in blocks, which is what bounds the memory.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Candidates, E, Fold
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import merge
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.choice import OF_A_TARGET, no_better, widened
from multikernel.estimators.search.folds import Folds
from multikernel.estimators.search.scores import Scores, cv_results
from multikernel.estimators.search.search import (
    Search,
    SearchOutcome,
    Trial,
)
from multikernel.estimators.search.target_scores import (
    TargetScorer,
    best_of_targets,
    fold_of_targets,
    mean_over_targets,
    target_means,
)
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.gram.refine import residual_traces
from multikernel.problem import Solution, Status

BLOCK_BYTES = 2.0**27
"""What solves of a block of targets hold on all folds together, beside the kernels."""

ARRAYS = 36
"""Vectors over the samples that a target holds on a fold, beside kernels: its small
space, half of them, and what it has alone."""


def has_own_strengths(model: Any, samples: Samples) -> bool:
    """Return whether a search chooses a strength for every target.

    That is for several targets with separate selections; a function for ``scoring``
    says one number of all targets, and then they have one strength.
    """
    targets = samples.classes is None and len(samples.targets) > 1
    return targets and not samples.shared and not callable(model.scoring)


class TargetCandidates(Candidates[E, Training]):
    """Strengths that every target may choose among."""

    @abstractmethod
    def solve_each(
        self, training: Training, watch: Watch, ends: Indices
    ) -> Iterator[Sequence[Solution | None]]:
        """Yield the solutions of all targets, strength after strength.

        A target has none beyond the place where it `ends`; see `follow_targets`.
        """

    @abstractmethod
    def refit_each(
        self, training: Training, watch: Watch, best: Indices, blocks: Sequence[Indices]
    ) -> dict[str, Any]:
        """Return the attributes of the models with a strength for every target."""


@dataclass(frozen=True, eq=False)
class TargetSearch(Search[Training, Recipe, list[Solution]]):
    """A `Search` that chooses for every target where `has_own_strengths` says so."""

    def _on_folds(
        self, problem: Trial[Training], folds: Folds[Training]
    ) -> SearchOutcome:
        """Return the scores of all folds and targets, and what gives the models."""
        samples, watch = folds.data.samples, folds.watch
        if not has_own_strengths(self.model, samples):
            return super()._on_folds(problem, folds)
        blocks = _blocks(problem.whole, folds.n_copies)
        candidates = cast(TargetCandidates[Any], folds.candidates)
        keeper = self._expect(
            folds,
            partial(candidates.refit_each, blocks=blocks),
            n_outputs=blocks[0].size,
            n_blocks=len(blocks),
        )
        shape = len(folds.splits), len(candidates), len(samples.targets)
        scores = Scores.empty(*shape)
        if not watch.stopped:
            (_side_by_side if folds.together else _alone)(folds, blocks, scores)
        last = cast(TargetCandidates[Any], problem.candidates).refit_each
        refit = partial(last, problem.whole, watch, blocks=blocks)
        return SearchOutcome(scores, refit if self.model.refit else None, keeper)

    def publish(
        self, problem: Trial[Training], data: Training, solution: SearchOutcome
    ) -> dict[str, Any]:
        """Choose for every target, and return the models with the scores."""
        if not has_own_strengths(self.model, data.samples):
            return super().publish(problem, data, solution)
        candidates, scores = problem.candidates, solution.scores
        columns = candidates.columns()
        results = cv_results(columns, mean_over_targets(scores))
        means = target_means(scores)
        best = best_of_targets(means, scores)
        reached = np.take_along_axis(means["mean_test_score"], best[None], axis=0)
        attributes = self._chosen(
            candidates,
            solution,
            best,
            {
                "cv_results_": results,
                "target_scores_": np.ascontiguousarray(means["mean_test_score"].T),
                "best_index_": best,
                "best_params_": {name: each[best] for name, each in columns.items()},
                "best_score_": float(reached.mean()),
                "predicted_alike_": "",
            },
        )
        self._warn_choices(candidates, means, best)
        return attributes

    def _warn_choices(
        self,
        candidates: Candidates[Any, Training],
        means: Mapping[str, Array],
        best: Indices,
    ) -> None:
        """Say of how many targets a model is constant, or at an end of the grid."""
        owner, parameters = self.source.owner, self.model.get_params(deep=False)
        everyone = np.arange(best.size)
        empty = means["mean_n_active"][best, everyone] == 0.0
        if empty.any():
            warn_user(
                f"{owner} chose a model without any kernel for {empty.sum()} of "
                f"{best.size} targets: none scored better than the constant.",
                SearchWarning,
            )
        scores = means["mean_test_score"]
        labels = next(iter(candidates.columns().values()))
        for outermost, inside in ((0, 1), (len(scores) - 1, len(scores) - 2)):
            grids = candidates.edges({"alpha": labels[outermost]})
            at_end = (best == outermost) & ~empty
            # Nothing is known of a neighbour that was left out.
            at_end &= scores[outermost] > scores[inside]
            if len(scores) < 3 or not grids or not at_end.any():
                continue
            name, grid = next(iter(grids.items()))
            end = "smallest" if labels[outermost] == grid.min() else "largest"
            warn_user(
                f"{owner} chose the {end} {name} of those tried for {at_end.sum()} of "
                f"{best.size} targets: a wider grid may hold a better one, by "
                f"{widened(parameters, name, end)}.",
                SearchWarning,
            )


def _blocks(whole: Training, n_folds: int) -> list[Indices]:
    """Return targets in blocks of about equal size, solved for one after another.

    What a block holds on so many folds is within BLOCK_BYTES. Matrices that may be
    refined on the way are so for all targets at once.
    """
    n_kernels, n_samples, _ = whole.stack.shape
    targets = np.arange(len(whole.samples.targets))
    shares = np.full(n_samples, 1.0 / n_samples)
    if not whole.stack.in_memory or residual_traces(whole.stack, shares).any():
        return [targets]
    bytes_each = 8.0 * n_samples * (ARRAYS + n_kernels) * n_folds
    size = max(1, int(BLOCK_BYTES // bytes_each))
    return np.array_split(targets, -(-targets.size // size))


def _cut(folds: Folds[Training], number: int) -> Fold[Training]:
    """Return a fold that holds neither kernels nor targets of its own.

    Blocks of targets are what the memory is for; `fold_of_targets` gives theirs.
    """
    split = folds.splits[number]
    fold = folds.data.fold(*split, folds.n_copies, by_blocks=True)
    training = fold.training.among(fold.training.samples.without_targets())
    return Fold(training, fold.outside.without_targets(), fold.decision_values)


def _side_by_side(
    folds: Folds[Training], blocks: Sequence[Indices], scores: Scores
) -> None:
    """Solve on all folds, strength after strength.

    A path of a target ends where its mean score has gone down.
    """
    n_folds, _, n_targets = scores.scores.shape
    cuts = [_cut(folds, number) for number in range(n_folds)]
    chain = range(len(folds.candidates))
    for block in blocks:
        folds.watch.note = f"{block[0]} of {n_targets} targets have a strength"
        runs = [TargetRun(folds, k, cuts[k], block, scores) for k in range(n_folds)]
        going = np.ones(block.size, dtype=bool)

        def step(number: int, runs: Any = runs, going: Mask = going) -> None:
            runs[number].step(going)

        while not all(run.ended for run in runs):
            folds.each(step)
            means = scores.scores[:, :, block].mean(axis=0)
            going &= [not no_better(c, chain, OF_A_TARGET) for c in means.T]


def _alone(folds: Folds[Training], blocks: Sequence[Indices], scores: Scores) -> None:
    """Solve on one fold after another for all strengths: there is room for no other."""

    def solve(number: int) -> None:
        if folds.watch.stopped:
            return
        fold = _cut(folds, number)
        for block in blocks:
            run = TargetRun(folds, number, fold, block, scores)
            while not run.ended:
                run.step(np.ones(block.size, dtype=bool))

    folds.each(solve)


class TargetRun:
    """One side of a split that is solved on for a block of targets, and scored."""

    def __init__(
        self,
        folds: Folds[Training],
        number: int,
        fold: Fold[Training],
        block: Indices,
        scores: Scores,
    ) -> None:
        self.number, self.block, self.scores = number, block, scores
        self.fold, self.watch = fold_of_targets(fold, block), folds.watch
        self.size = len(folds.candidates)
        self.reached, self.ended = 0, self.watch.stopped
        self._ends = np.full(block.size, self.size)
        self._scorer = TargetScorer(folds.model, self.fold)
        self._offset = self.fold.outside.offset
        candidates = cast(TargetCandidates[Any], folds.candidates)
        training = self.fold.training
        self._paths = candidates.solve_each(training, self.watch, self._ends)

    def step(self, going: Mask) -> None:
        """Solve for the next strength, for the targets that go on."""
        if self.ended:
            return
        self._ends[~going] = -1
        solved_now = next(self._paths, None) if going.any() else None
        models = [] if solved_now is None else [s for s in solved_now if s is not None]
        if solved_now is None or any(s.status is Status.STOPPED for s in models):
            self._end()
            return
        targets = np.flatnonzero([s is not None for s in solved_now])
        f, offset = self.fold.decision_values([merge(models)])[0], self._offset
        f = f if offset is None else f + offset[:, targets]
        places, scores = (self.number, self.reached, self.block[targets]), self.scores
        scores.scores[places] = self._scorer.scores(f, targets)
        scores.losses[places] = self._scorer.losses(f, targets)
        scores.n_active[places] = [s.active.size for s in models]
        scores.done[places] = True
        scores.gaps.append(np.array([s.duality_gap for s in models]))
        self.reached += 1
        self.watch.advance(1)
        if self.reached == self.size:
            self._end()

    def _end(self) -> None:
        """Count all remaining strengths as done, and free the memory of the solves."""
        self.watch.advance(self.size - self.reached)
        self.ended = True
        self._paths = iter(())
