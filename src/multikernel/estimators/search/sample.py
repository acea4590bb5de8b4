"""Samples of the rows of a long table, on which a search scores its candidates.

A sample doubles until the folds can distinguish the best candidates. The folds of a
sample are those of all rows, restricted to rows of the sample. So training and
validation sets still have no group in common, and a training set that precedes its
validation set in time still does.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr
from sklearn.utils import check_random_state

from multikernel._typing import Array, Indices, Mask
from multikernel.estimators.read.targets import check_groups
from multikernel.estimators.search.folds import Folds
from multikernel.estimators.search.scores import Scores, scored_folds
from multikernel.estimators.search.splits import Split, find_obstacle, learnt_classes

FIRST_ROWS = 2000
"""Number of rows of the first sample; tables of up to twice as many are used whole."""

# A larger group could fill the sample, or exceed it.
LARGEST_GROUP = 0.2
"""Size of a group, as a share of the smallest sample, above which it is divided."""

FEWEST_FOLDS = 2.5
"""Minimum of `effective_folds` for a standard error over folds."""

# We accept a difference in score of 0.003 between a search on a sample and a search on
# all rows. This limit is half of it.
LARGEST_REGRET = 1.5e-3
"""A sample is large enough if its choice is expected to lose at most this score."""


def sample_sizes(n_rows: int, max_rows: int | str | None) -> list[int]:
    """Return the sizes of the samples on which a search scores, ascending."""
    # `max_rows` is the parameter ``max_search_rows`` of the search; its only text is
    # "auto", which sets no maximum.
    if max_rows is None:
        return [n_rows]
    max_size = n_rows if isinstance(max_rows, str) else min(max_rows, n_rows)
    if max_size == n_rows <= 2 * FIRST_ROWS:
        return [n_rows]
    n_doublings = int(np.log2(max(max_size / FIRST_ROWS, 1.0)))
    return [*(FIRST_ROWS * 2**k for k in range(n_doublings)), max_size]


def growing_scores(
    folds: Folds,
    solve: Callable[[Folds], Scores],
    n_final_solves: int,
) -> tuple[Scores, int]:
    """Return scores on the first row sample that is large enough, and its size."""
    # `solve` returns the scores of all candidates on given folds. Progress lines use
    # `n_final_solves`, the number of models that are fitted after the choice. Each of
    # these models is the end of a path, which requires up to one solve per candidate.
    # So `n_solves` counts the solves of one candidate.
    n_solves = n_final_solves
    scores, n_rows, watch = None, 0, folds.watch
    for sampled in growing_folds(folds):
        # Each fold adds one solve per candidate.
        n_solves += len(sampled.splits)
        sampled.expect(n_solves)
        latest = solve(sampled)
        # If a callback stopped the search on this sample, its scores are incomplete:
        # use those on the previous sample.
        if scores is None or not watch.stopped:
            scores, n_rows = latest, sampled.data.samples.rows.size
        is_last = watch.stopped or sampled is folds
        if is_last or expected_regret(latest, sampled) <= LARGEST_REGRET:
            break
    assert scores is not None
    return scores, n_rows


def growing_folds(folds: Folds) -> Iterator[Folds]:
    """Yield the folds on larger and larger samples of rows, see `sample_sizes`."""
    model, n_rows = folds.model, folds.data.samples.rows.size
    # With too few folds for a standard error, no sample but the largest would be large
    # enough.
    sizes = sample_sizes(n_rows, model.max_search_rows)
    if effective_folds(folds) < FEWEST_FOLDS:
        sizes = sizes[-1:]
    draw = None if sizes == [n_rows] else row_sampler(folds, sizes[0])
    for size in sizes:
        sampled: Folds | None = folds
        if draw is not None and size < n_rows:
            sampled = folds_on_rows(folds, draw(size))
        if sampled is not None:
            yield sampled
        elif size == sizes[-1]:
            raise ValueError(
                f"{type(model).__name__}: max_search_rows={size} is too small, because "
                "after sampling rows, the training or validation set of a fold of cv "
                "is empty or has lost a class: pass a larger number, or None for all "
                "rows."
            )


def row_sampler(folds: Folds, min_rows: int) -> Callable[[int], Indices]:
    """Return a function that draws n rows, for a given n, and returns their indices."""
    # `min_rows` is the size of the smallest sample.
    samples = folds.data.samples
    n_rows = samples.rows.size
    fold_of = np.zeros(n_rows, dtype=np.intp)
    classes = fold_of.copy()
    for fold_index, (_, test) in enumerate(folds.splits):
        fold_of[test] = fold_index
    if samples.classes is not None:
        classes = np.unique(samples.labels, axis=0, return_inverse=True)[1].reshape(-1)
    strata = classes * len(folds.splits) + fold_of
    seed = folds.model.random_state
    random = check_random_state(0 if seed is None else seed)
    if samples.groups is None:
        # Without groups, draw the same share of each class in each validation set: rows
        # at equal distances in an order that is sorted by these strata.
        order = np.lexsort((random.permutation(n_rows), strata))
    else:
        groups = check_groups(samples.groups, len(samples.table.y))[samples.rows]
        # Draw complete groups, up to the requested number of rows. A group with more
        # than `LARGEST_GROUP` times `min_rows` rows is divided into pieces, which are
        # drawn like groups.
        group_of_row = split_groups(groups, int(LARGEST_GROUP * min_rows), random)
        order = random.permutation(group_of_row.max() + 1)

    def draw(size: int) -> Indices:
        is_drawn = np.zeros(order.size, dtype=bool)
        if samples.groups is None:
            is_drawn[order[np.arange(size) * n_rows // size]] = True
        else:
            is_drawn[order[np.cumsum(np.bincount(group_of_row)[order]) <= size]] = True
            is_drawn = is_drawn[group_of_row]
        # On the drawn rows, the training set and the validation set of each fold should
        # contain the same classes as on all rows.
        return np.flatnonzero(with_rare_classes(is_drawn, folds.splits, classes))

    return draw


def split_groups(groups: Array, size: int, random: np.random.RandomState) -> Indices:
    """Return the index of each sample's group, after large groups are divided."""
    # A group of more than `size` samples is divided at random into pieces of at most
    # `size` samples. Each piece has its own index.
    group = np.unique(groups, return_inverse=True)[1]
    # The rank of a sample in a random order of its group, divided by `size`, is the
    # number of its piece.
    order = np.lexsort((random.permutation(group.size), group))
    starts = np.cumsum(np.bincount(group)) - np.bincount(group)
    ranks = np.empty(group.size, dtype=np.intp)
    ranks[order] = np.arange(group.size)
    pieces = (ranks - starts[group]) // max(size, 1)
    pairs = np.column_stack([group, pieces])
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)


def with_rare_classes(
    is_drawn: Mask, splits: Sequence[Split], classes: Indices
) -> Mask:
    """Exchange drawn samples so that no training or validation set lacks a class."""
    changed = is_drawn.copy()
    for rows in (np.asarray(rows) for split in splits for rows in split):
        present, first_rows = np.unique(classes[rows], return_index=True)
        is_missing = ~np.isin(present, classes[rows[changed[rows]]])
        changed[rows[first_rows[is_missing]]] = True
    n_new = int(changed.sum() - is_drawn.sum())
    if not (n_new and is_drawn.any()):
        return is_drawn
    frequent_class = np.argmax(np.bincount(classes[is_drawn]))
    # The added samples replace drawn samples of the most frequent class. If this would
    # replace more than half of them, nothing is exchanged.
    candidates = np.flatnonzero(is_drawn & (classes == frequent_class))
    if 2 * n_new > candidates.size:
        return is_drawn
    changed[candidates[np.arange(n_new) * candidates.size // n_new]] = False
    return changed


def folds_on_rows(folds: Folds, rows: Indices) -> Folds | None:
    """Return the folds restricted to `rows`; None if a fold cannot be used on them."""
    samples, n_rows = folds.data.samples, folds.data.samples.rows.size
    # `new_rows` has the position in `rows` of each sample, -1 for samples not in it.
    data, new_rows = folds.data.sample(rows), np.full(n_rows, -1)
    new_rows[rows] = np.arange(rows.size)
    splits: list[Split] = []
    for split in folds.splits:
        train, test = sampled = [new_rows[old][new_rows[old] >= 0] for old in split]
        for old, new in zip(split, sampled, strict=True):
            classes = learnt_classes(samples, old), learnt_classes(data.samples, new)
            before, after = (None if c is None else set(c) for c in classes)
            if new.size == 0 or before != after:
                return None
        if find_obstacle(folds.model, data.samples, train) is not None:
            return None
        if folds.model._why_unscored(data.samples, test) is not None:
            return None
        splits.append((train, test))
    candidates = folds.candidates.scaled_to_share(rows.size / n_rows)
    return replace(folds, data=data, splits=splits, candidates=candidates)


def effective_folds(folds: Folds) -> float:
    """Return the number of validated samples over the mean size of validation sets."""
    # A repetition of the folds validates the same samples again, so it adds no folds.
    tests = [test for _, test in folds.splits]
    return float(np.unique(np.concatenate(tests)).size / np.mean([*map(len, tests)]))


def expected_regret(scores: Scores, folds: Folds) -> float:
    """Return the loss of score to expect if the candidate of best mean is chosen."""
    # If another candidate's mean score is lower by d, with the standard error s over
    # folds, its expected advantage is s (phi(d / s) - d / s Phi(-d / s)), with the
    # normal density phi and distribution function Phi. The result is the largest of
    # these values, averaged over targets that choose separately. It is infinite if
    # there are too few folds for a standard error.
    n_folds, regrets = effective_folds(folds), []
    for target in range(scores.scores.shape[2]):
        values = scores.scores[:, :, target]  # (n_folds, n_candidates)
        values = values[scored_folds(values, scores.done[:, :, target])]
        values = values[:, np.isfinite(values).all(axis=0)]
        if n_folds < FEWEST_FOLDS or len(values) < 3 or not values.size:
            return np.inf
        means = values.mean(axis=0)
        # Folds count as at most `n_folds` independent ones, see `effective_folds`.
        deficits = values[:, [np.argmax(means)]] - values
        error = deficits.std(axis=0, ddof=1) / np.sqrt(n_folds)
        z = np.minimum(deficits.mean(axis=0) / np.maximum(error, 1e-100), 40.0)
        regret = error * (np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi) - z * ndtr(-z))
        # Divide the regret by the size of the best score if this score is above one, or
        # if scores are negative errors.
        is_share = folds.model.scoring in (None, "r2") or means.max() >= 0.0
        regrets.append(regret.max() / max(abs(means.max()), 1.0 if is_share else 0.0))
    return float(np.mean(regrets))
