"""Solutions of one stack are joined into one model."""

import numpy as np

from multikernel.estimators.publish.fitted import merge, worst_status
from multikernel.problem import Solution, Status


def solution(active, coefs, intercept, status=Status.CONVERGED):
    return Solution(
        kernel_weights=np.zeros(6),
        norms=np.zeros(6),
        active=np.array(active, dtype=np.intp),
        coefs=coefs,
        intercept=np.atleast_1d(intercept),
        dual=np.zeros(3),
        objective=0.0,
        duality_gap=0.0,
        n_iter=1,
        status=status,
    )


def test_expansions_are_joined_over_the_union_of_kernels():
    one, two = np.full((2, 3), 1.0), np.full((1, 3), 2.0)
    joined = merge([solution([1, 4], one, 0.5), solution([2], two, -0.5)])
    np.testing.assert_array_equal(joined.active, [1, 2, 4])
    np.testing.assert_array_equal(joined.coefs[:, 0], [[1, 0], [0, 2], [1, 0]])
    np.testing.assert_array_equal(joined.intercept, [0.5, -0.5])


def test_a_solution_may_have_several_outputs():
    coefs = np.arange(12.0).reshape(2, 3, 2)
    joined = merge([solution([0, 5], coefs, [1.0, 2.0])])
    np.testing.assert_array_equal(joined.coefs, coefs)
    np.testing.assert_array_equal(joined.intercept, [1.0, 2.0])


def test_nothing_active_is_an_empty_expansion():
    joined = merge([solution([], np.empty((0, 3)), 0.0)] * 2)
    assert joined.coefs.shape == (0, 3, 2)
    assert joined.active.dtype == np.intp


def test_the_worst_status_is_reported():
    solutions = [
        solution([], np.empty((0, 3)), 0.0, status)
        for status in (Status.CONVERGED, Status.STALLED, Status.STOPPED)
    ]
    assert worst_status(solutions) is Status.STALLED
    assert worst_status(solutions[:1]) is Status.CONVERGED


def test_every_status_has_a_rank():
    for status in Status:
        alone = solution([], np.empty((0, 3)), 0.0, status)
        assert worst_status([alone]) is status
