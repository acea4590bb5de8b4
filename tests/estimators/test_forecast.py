"""What is told of the time that is left, in searches that are simulated."""

import itertools
from functools import partial

import numpy as np
import pytest

from multikernel.estimators.forecast import Course, Work
from multikernel.estimators.progress import Watch
from multikernel.problem import Progress

LINE = Progress(1, 0.0, 1.0, 0.1, 3)


def simulated(solves, n_jobs, refit):
    """Return the lines of a search as (time, share, time left), and when it ends.

    The `solves` are seconds, (n_folds, n_candidates), and `refit` those of the model on
    all samples.
    """
    n_folds, size = solves.shape
    now, lines = [0.0], []
    watch = Watch(
        [lambda line: lines.append((now[0], line.done, line.left))],
        clock=lambda: now[0],
    )
    watch.expect(Work(size * (n_folds + 1), 1, n_folds, n_jobs, refit=True))
    free, events = [0.0] * n_jobs, []
    for fold, seconds in enumerate(solves):
        thread = int(np.argmin(free))
        ends = free[thread] + np.cumsum(seconds)
        events.append((free[thread], partial(watch.fold_begun, fold)))
        events += [(end, partial(watch.advance, 1)) for end in ends]
        events.append((ends[-1], partial(watch.fold_ended, fold)))
        free[thread] = ends[-1]
    for now[0], event in sorted(events, key=lambda pair: pair[0]):
        event()
        watch(LINE)
    end = max(free) + sum(refit)
    for now[0] in max(free) + np.cumsum(refit)[:-1]:
        watch(LINE)
    return lines, end


LAWS = {
    "alike": np.ones(8),
    "steeper": 2.0 ** np.arange(8),
    "falling": 0.7 ** np.arange(8),
    "one long": np.where(np.arange(8) == 5, 100.0, 1.0),
}


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("n_folds", [2, 5, 10])
@pytest.mark.parametrize("law", LAWS)
def test_a_forecast_is_right_within_a_factor_of_two_or_not_made(law, n_folds, n_jobs):
    rng = np.random.default_rng(n_folds)
    for seconds, compiling, refit in itertools.product(
        (3.0, 30.0, 1000.0), (0.0, 25.0), (0.1, 1.5)
    ):
        solves = LAWS[law] / LAWS[law].sum() * seconds
        solves = solves * rng.uniform(0.9, 1.1, (n_folds, 1))
        last = solves[0] * refit
        solves[:n_jobs, 0] += compiling
        lines, end = simulated(solves, n_jobs, last)
        told = [(time, left) for time, _, left in lines if left is not None]
        for time, left in told:
            assert 0.5 <= left / (end - time) <= 2.0, (seconds, compiling, time)
        shares = [share for _, share, _ in lines]
        assert shares == sorted(shares)
        if n_folds >= 5 and n_jobs == 1 and seconds == 1000.0:
            first, third = np.cumsum(solves.sum(axis=1))[[0, 2]] * [1.001, 0.999]
            between = [left for time, _, left in lines if first < time < third]
            assert len(between) > 12
            assert None not in between


def test_folds_side_by_side_have_no_forecast():
    now = [0.0]
    watch = Watch([], clock=lambda: now[0])
    watch.expect(Work(120, refit=True))
    for now[0] in range(100):
        watch.advance(1)
        assert watch.seconds_left() is None


def test_one_share_for_building_solving_and_refinement():
    course = Course()
    told = [course.building(0.5), course.building(0.2), course.building(1.0)]
    told += [course.solving(0.0), course.solving(0.5)]
    told += [course.building(1.0), course.solving(0.2), course.solving(1.0)]
    assert told == pytest.approx([0.05, 0.05, 0.1, 0.1, 0.55, 0.55, 0.55, 1.0])
    assert Course().solving(0.5) == 0.5
