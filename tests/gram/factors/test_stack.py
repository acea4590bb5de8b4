"""Factors in blocks of rows: everything equals the factors in one array."""

import tracemalloc

import numpy as np
import pytest
from gram.blocks import both_stacks

from multikernel.certificates import decision_values, duality_gap
from multikernel.gram.factors.row_blocks import FAN_IN, RowBlocks
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL
from multikernel.testing import check_gram_stack

OFFSETS = np.array([0, 1, 3, 4, 8])


def pair(
    n_samples=40, ends=(0, 7, 7, 30, 40), offsets=OFFSETS, residual=False, single=False
):
    """Return the same kernels in one array and in blocks."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n_samples, offsets[-1])) / np.sqrt(n_samples)
    Z = Z.astype(np.float32).astype(np.float64) if single else Z
    roots = rng.uniform(0.0, 1e-3, (offsets.size - 1, n_samples)) if residual else None
    if residual:
        roots[:, 7:30] = 0.0
    kind = np.float32 if single else np.float64
    return both_stacks(Z, offsets, ends, roots, kind)


def dense(stack):
    every = np.arange(stack.shape[1])
    return stack.columns(every)


@pytest.mark.parametrize("offsets", [OFFSETS, np.array([0, 30, 31, 60])])
def test_conformance(offsets):
    # The second ranks add up to more than there are samples.
    whole, stack = pair(offsets=offsets)
    check_gram_stack(stack, dense(whole))


def test_single_precision_is_added_up_in_double():
    whole, stack = pair(single=True)
    check_gram_stack(stack, dense(whole), tol=1e-13)


def test_conformance_of_some_kernels():
    whole, stack = pair()
    chosen = np.array([3, 0, 3])
    check_gram_stack(stack.take(chosen), dense(whole)[chosen])


@pytest.mark.parametrize("shape", [(40,), (40, 2)])
def test_bounds_of_residuals(shape):
    whole, stack = pair(residual=True)
    v = np.random.default_rng(1).standard_normal(shape)
    some = np.array([2, 1])
    np.testing.assert_allclose(stack.residual_bounds(v), whole.residual_bounds(v))
    np.testing.assert_allclose(
        stack.take(some).residual_bounds(v), whole.take(some).residual_bounds(v)
    )
    for one, other in ((stack, whole), (stack.take(some), whole.take(some))):
        traces = other.residual_traces(np.abs(v.reshape(40, -1)[:, 0]))
        assert traces.all()
        found = one.residual_traces(np.abs(v.reshape(40, -1)[:, 0]))
        np.testing.assert_allclose(found, traces)
    part = stack.restrict(np.arange(20))
    np.testing.assert_allclose(
        part.residual_bounds(v[:20]),
        whole.restrict(np.arange(20)).residual_bounds(v[:20]),
    )


def test_forms_of_a_vector_that_was_changed_in_place():
    whole, stack = pair()
    v = np.ones(40)
    stack.quadratic_forms(v)
    v[0] = 3.0
    np.testing.assert_allclose(stack.quadratic_forms(v), whole.quadratic_forms(v))


def test_rows_of_sums():
    whole, stack = pair()
    weights, rows = np.array([0.5, 0.0, 2.0, 1.0]), np.array([31, 2, 8])
    np.testing.assert_allclose(
        stack.combined_rows(weights, rows), whole.combined_rows(weights, rows)
    )


@pytest.mark.parametrize("n_blocks", [1, FAN_IN + 1, FAN_IN**2 + 3])
def test_sums_over_many_blocks(n_blocks):
    blocks = RowBlocks.from_arrays(range(n_blocks), [1] * n_blocks)
    total, squares = blocks.sum(lambda b: (np.array([b]), np.array([b * b])))
    assert total == sum(range(n_blocks))
    assert squares == sum(b * b for b in range(n_blocks))


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss(), HingeLoss()])
@pytest.mark.parametrize("offsets", [OFFSETS, np.array([0, 25, 31, 60])])
def test_solution_is_that_of_one_array(loss, offsets, residual):
    rng = np.random.default_rng(2)
    whole, stack = pair(offsets=offsets, residual=residual)
    y = np.where(dense(whole)[0] @ rng.standard_normal(40) > 0.0, 1.0, -1.0)
    found = []
    for gram in (whole, stack):
        problem = Problem(gram, y, loss, BlockL1(0.05))
        solution = SpicyMKL(tol=1e-10).solve(problem)
        expected = Status.LIMITED if residual else Status.CONVERGED
        assert solution.status is expected
        assert (
            duality_gap(problem, solution)
            <= 1e-10 + (1.0 + 1e-6) * solution.duality_gap
        )
        found.append(solution)
    one, other = found
    assert one.active.size
    # As many numbers a kernel as its factor has columns, not one for each sample.
    assert other.coefs.shape == (other.active.size, np.diff(offsets).max())
    again = SpicyMKL(tol=1e-10).solve(problem, one)
    assert again.status is expected
    values = [decision_values(problem, s) for s in (one, other, again)]
    np.testing.assert_allclose(values[1:], values[:2], rtol=0, atol=1e-5)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-9)
    np.testing.assert_allclose(one.norms, other.norms, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), pytest.param(SquaredLoss(), marks=pytest.mark.slow)]
)
def test_memory_does_not_grow_with_the_kernels(loss):
    few, many = problem_of_rows(200, loss), problem_of_rows(4_000, loss)
    SpicyMKL(tol=1e-3).solve(few)  # imports and compiles
    tracemalloc.start()
    solution = SpicyMKL(tol=1e-3).solve(many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert solution.active.size > 50
    # Less than one number for each kernel and row.
    assert peak < 640 * 4_000


def problem_of_rows(n_samples, loss):
    """Return a problem of eighty kernels, each a feature."""
    ends = np.linspace(0, n_samples, 11).astype(int)
    _, stack = pair(n_samples, ends, offsets=np.arange(81))
    rng = np.random.default_rng(3)
    f = stack.factors.times(rng.standard_normal(80))
    y = np.where(f > 0.1 * rng.standard_normal(n_samples), 1.0, -1.0)
    return Problem(stack, y, loss, BlockL1(0.1))
