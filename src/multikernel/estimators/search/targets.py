"""Searches that choose a strength for every target, where selections are separate.

Such targets are problems of their own: each has the strength with its own best mean
score, as if it were alone. What is shared are the kernels of all folds, the products
with them, and the grid. Targets are taken in blocks, which is what bounds the memory.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from joblib import effective_n_jobs

from multikernel._typing import Array, Indices, Mask
from multikernel.estimators.forecast import Work
from multikernel.estimators.grams.method import merge
from multikernel.estimators.grams.training import Problems, Training
from multikernel.estimators.method import Candidates, E, Fold
from multikernel.estimators.progress import Watch
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.choice import widened
from multikernel.estimators.search.fold_models import keeping_folds
from multikernel.estimators.search.folds import for_each, make_splits
from multikernel.estimators.search.patience import OF_A_TARGET, no_better
from multikernel.estimators.search.scores import cv_results
from multikernel.estimators.search.search import (
    TOGETHER_BYTES,
    Search,
    SearchOutcome,
    Trial,
)
from multikernel.estimators.search.target_scores import (
    TargetOutcome,
    TargetScorer,
    best_of_targets,
    fold_of_targets,
    mean_over_targets,
    target_means,
)
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.gram.refine import residual_traces
from multikernel.problem import Solution, Status

BLOCK_BYTES = 2.0**26
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
    ) -> Iterator[list[Solution | None]]:
        """Yield the solutions of all targets, strength after strength.

        A target has none beyond the place where it `ends`; see `follow_targets`.
        """

    @abstractmethod
    def refit_each(
        self, training: Training, watch: Watch, best: Indices, blocks: Sequence[Indices]
    ) -> dict[str, Any]:
        """Return the attributes of the models with a strength for every target."""


@dataclass(frozen=True, eq=False)
class TargetSearch(Search[Training, Problems, list[Solution]]):
    """A `Search` that chooses for every target where `has_own_strengths` says so."""

    def solve(  # type: ignore[override]
        self, problem: Trial[Training], data: Training, watch: Watch
    ) -> SearchOutcome | TargetOutcome:
        """Return the scores of all folds and targets, and what gives the models."""
        model, samples = self.model, data.samples
        if not has_own_strengths(model, samples):
            return super().solve(problem, data, watch)
        splits = make_splits(self.source.owner, model.cv, samples)
        candidates = cast(
            TargetCandidates[Any], problem.candidates.with_tol(self.cv_tol)
        )
        size = len(candidates)
        jobs = min(effective_n_jobs(model.n_jobs), len(splits))
        together = len(splits) * data.n_bytes <= TOGETHER_BYTES
        n_copies = len(splits) if together else jobs
        blocks = _blocks(problem.whole, n_copies)
        each_fold = partial(candidates.refit_each, blocks=blocks)
        keeper = keeping_folds(model, data, splits, each_fold, watch, jobs)
        rounds = 2 if keeper else 1
        work = Work(
            size * (rounds * len(splits) + bool(model.refit)) * len(blocks),
            n_outputs=blocks[0].size,
            n_jobs=jobs,
            refit=bool(model.refit),
        )
        n_bytes = (1 + n_copies) * data.n_bytes
        watch.expect(work, self.source.owner, n_bytes)
        last = cast(TargetCandidates[Any], problem.candidates).refit_each
        refit = partial(last, problem.whole, watch, blocks=blocks)
        outcome = TargetOutcome.empty(
            (len(splits), size, len(samples.targets)),
            refit if model.refit else None,
            keeper,
        )
        folds = FoldsOfTargets(
            model, candidates, watch, [partial(data.fold, *s, n_copies) for s in splits]
        )
        each = partial(for_each, len(splits), jobs, watch)
        if together:
            folds.side_by_side(blocks, outcome, each)
        else:
            each(partial(folds.alone, blocks, outcome))
        return outcome

    def publish(
        self,
        problem: Trial[Training],
        data: Training,
        solution: SearchOutcome | TargetOutcome,
    ) -> dict[str, Any]:
        """Choose for every target, and return the models with the scores."""
        if isinstance(solution, SearchOutcome):
            return super().publish(problem, data, solution)
        candidates = problem.candidates
        columns = candidates.columns()
        results = cv_results(columns, mean_over_targets(solution))
        means = target_means(solution)
        best = best_of_targets(means, solution.scores)
        params = {name: labels[best] for name, labels in columns.items()}
        reached = np.take_along_axis(means["mean_test_score"], best[None], axis=0)
        attributes: dict[str, Any] = {
            "cv_results_": results,
            "target_scores_": np.ascontiguousarray(means["mean_test_score"].T),
            "best_index_": best,
            "best_params_": params,
            "best_score_": float(reached.mean()),
            "n_splits_": len(solution.scores),
            "predicted_alike_": "",
        }
        if candidates.method.with_tol(self.cv_tol) is not candidates.method:
            attributes["cv_tol_"] = self.cv_tol
        gaps = [np.empty(0), *solution.gaps]
        if solution.refit is not None:
            attributes |= solution.refit(best)
            if solution.keeper is not None:
                attributes["_folds"] = solution.keeper(best)
            path = attributes["path_"].duality_gaps
            gaps.append(path[~np.isnan(path)])
        self._warn_unsolved(np.concatenate(gaps))
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


@dataclass(frozen=True, eq=False)
class FoldsOfTargets:
    """The folds of a search, on which blocks of targets are solved for.

    Parameters
    ----------
    model : SearchCV
        The search.
    candidates : TargetCandidates
        What targets choose among.
    watch : Watch
        Who looks on.
    cuts : sequence of callable
        Each returns a fold, with kernels of its own.
    """

    model: Any
    candidates: TargetCandidates[Any]
    watch: Watch
    cuts: Sequence[Callable[[], Fold[Training]]]

    def side_by_side(
        self,
        blocks: Sequence[Indices],
        outcome: TargetOutcome,
        each: Callable[[Callable[[int], None]], None],
    ) -> None:
        """Solve on all folds, strength after strength; `each` does a work on all.

        A path of a target ends where its mean score has gone down.
        """
        if self.watch.stopped:
            return
        folds = [cut() for cut in self.cuts]
        for block in blocks:
            n_targets = int(blocks[-1][-1]) + 1
            self.watch.note = f"{block[0]} of {n_targets} targets have a strength"
            runs = [self._run(fold, block) for fold in folds]
            going = np.ones(block.size, dtype=bool)
            while not all(run.ended for run in runs):
                self._step(runs, going, each)
                means = np.mean([run.scores for run in runs], axis=0)
                chain = range(len(means))
                better = [not no_better(c, chain, OF_A_TARGET) for c in means.T]
                going = going & better
            for number, run in enumerate(runs):
                outcome.write(number, block, run)

    def _step(
        self,
        runs: Sequence["TargetRun"],
        going: Mask,
        each: Callable[[Callable[[int], None]], None],
    ) -> None:
        """Solve for one strength on all folds."""
        each(lambda number: runs[number].step(going))

    def alone(
        self, blocks: Sequence[Indices], outcome: TargetOutcome, number: int
    ) -> None:
        """Solve on one fold for all strengths: there is room for no other."""
        if self.watch.stopped:
            return
        fold = self.cuts[number]()
        for block in blocks:
            run = self._run(fold, block)
            while not run.ended:
                run.step(np.ones(block.size, dtype=bool))
            outcome.write(number, block, run)

    def _run(self, fold: Fold[Training], block: Indices) -> "TargetRun":
        own_fold = fold_of_targets(fold, block)
        return TargetRun(self.model, own_fold, self.candidates, self.watch)


class TargetRun:
    """One side of a split that is solved on for a block of targets, and scored."""

    def __init__(
        self,
        model: Any,
        fold: Fold[Training],
        candidates: TargetCandidates[Any],
        watch: Watch,
    ) -> None:
        self.fold, self.watch = fold, watch
        n_targets = len(fold.outside.targets)
        self.size = len(candidates)
        shape = self.size, n_targets
        self.scores, self.losses = np.full(shape, np.nan), np.full(shape, np.nan)
        self.n_active, self.done = np.zeros(shape), np.zeros(shape, dtype=bool)
        self.gaps: list[Array] = []
        self.reached, self.ended = 0, watch.stopped
        self._ends = np.full(n_targets, self.size)
        self._scorer = TargetScorer(model, fold)
        self._paths = candidates.solve_each(fold.training, watch, self._ends)

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
        f = self.fold.decision_values([merge(models)])[0]
        number, self.reached = self.reached, self.reached + 1
        self.scores[number, targets] = self._scorer.scores(f, targets)
        self.losses[number, targets] = self._scorer.losses(f, targets)
        self.n_active[number, targets] = [s.active.size for s in models]
        self.done[number, targets] = True
        self.gaps.append(np.array([s.duality_gap for s in models]))
        self.watch.advance(1)
        if self.reached == self.size:
            self._end()

    def _end(self) -> None:
        """Count all remaining strengths as done, and free the memory of the solves."""
        self.watch.advance(self.size - self.reached)
        self.ended = True
        self._paths = iter(())
