"""Factors in blocks are those in memory, and what they leave is known of every row."""

import gc
from dataclasses import replace

import numpy as np
import pytest

import multikernel.gram.factors.blocked_build as search
import multikernel.gram.factors.row_blocks as row_blocks
import multikernel.gram.factors.rows as plan
from multikernel.exceptions import StackTooLargeError
from multikernel.gram import (
    LowRank,
    LowRankStack,
    TailNormalizer,
    build_stack,
)
from multikernel.gram.refine import Refinement, refined
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)
from multikernel.testing import check_gram_stack

KERNELS = ListDictionary(
    [
        ColumnKernel(GaussianKernel(1.0), 0),
        LinearKernel(),
        PolynomialKernel(2, offset=1.0),
        ColumnKernel(GaussianKernel(2.0), [0, 1]),
    ]
)


def in_blocks(X, n_blocks=3, sample=None):
    parts = np.array_split(X, n_blocks)
    blocks = row_blocks.RowBlocks.from_arrays(parts, [*map(len, parts)])
    return row_blocks.SampledRows(blocks, X if sample is None else sample)


def draw(n_samples=60):
    return np.random.default_rng(0).standard_normal((n_samples, 3))


@pytest.mark.parametrize(
    "normalize",
    [None, "trace", "variance", "cosine", ("center", "trace"), ("cosine", "center")],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_whole_sample_gives_the_factors_of_memory(normalize, weighted):
    X, weights = draw(), np.random.default_rng(1).uniform(0.5, 2.0, 60)
    # Landmarks of blocks are chosen in the order that the bytes of rows have.
    X = X[np.argsort(X.view("V24")[:, 0])]
    weights = weights if weighted else None
    options = LowRank(tol=1e-6)
    if weighted:
        # In memory the weights tell when to stop as well; let nothing depend on that.
        options = LowRank(tol=1e-6, first=12, max_rank=12)
    given = {"normalize": normalize, "sample_weight": weights}
    whole = build_stack(KERNELS, X, storage=options, **given)
    found = search.build_blocked(KERNELS, in_blocks(X), options=options, **given)
    every = np.arange(60)
    assert isinstance(whole.stack, LowRankStack)
    check_gram_stack(found.stack, whole.stack.columns(every), tol=1e-8)
    v = np.random.default_rng(2).standard_normal(60)
    # Residuals of 1e-8 are differences of numbers near one: rounding of those is felt.
    np.testing.assert_allclose(
        found.stack.residual_bounds(v),
        whole.stack.residual_bounds(v),
        rtol=1e-5,
        atol=1e-10,
    )
    assert found.stack.ranks.tolist() == whole.stack.ranks.tolist()


def test_proof_holds_for_rows_that_were_not_sampled():
    X = draw(200)
    X[7] = 8.0  # an outlier that the sample lacks
    built = search.build_blocked(
        KERNELS,
        in_blocks(X, sample=X[20:60]),
        normalize="trace",
        options=LowRank(first=6),
    )
    dense = build_stack(KERNELS, X, normalize="trace", storage="dense").stack
    rng = np.random.default_rng(3)
    for _ in range(20):
        v = rng.standard_normal(200)
        own, full = built.stack.quadratic_forms(v), dense.quadratic_forms(v)
        bound = built.stack.residual_bounds(v)
        assert np.all(full >= own * (1.0 - 1e-12))
        assert np.all(full <= own + bound + 1e-9 * full)


def test_rows_that_the_sample_lacks_join_it():
    X = draw(300)
    X[[7, 250]] = [[9.0] * 3, [-9.0] * 3]
    built = search.build_blocked(KERNELS, in_blocks(X, sample=X[20:60])).stack
    v = np.random.default_rng(3).standard_normal(300)
    v[[7, 250]] = 5.0
    before = built.residual_bounds(v)
    assert before[0] > 1.0
    finer = refined(built, Refinement(v, {0: 1e-3, 3: 1e-3}))
    assert np.all(finer.residual_bounds(v)[[0, 3]] < 0.01 * before[[0, 3]])
    assert 9.0 in finer.landmarks.X[finer.landmarks.kernels[0].chosen, 0]


def test_landmarks_do_not_depend_on_the_order_of_the_sample():
    X = draw()
    one = search.build_blocked(KERNELS, in_blocks(X)).stack.landmarks
    other = search.build_blocked(KERNELS, in_blocks(X, sample=X[::-1])).stack.landmarks
    for own, others in zip(one.kernels, other.kernels, strict=True):
        np.testing.assert_array_equal(one.X[own.chosen], other.X[others.chosen])


def test_rounding_is_no_reason_for_landmarks():
    X = draw(300)
    options = LowRank(tol=0.0)
    stack = search.build_blocked(KERNELS, in_blocks(X), options=options).stack
    whole = build_stack(KERNELS, X, storage=options).stack
    # Rows that join the sample may bring one that it has already.
    assert np.all(stack.ranks <= 1.1 * whole.ranks + 2)


@pytest.mark.parametrize("normalize", ["trace", ("center", "variance")])
def test_refinement_keeps_scales_and_lowers_bounds(normalize):
    X = draw(200)
    rows = in_blocks(X, sample=X[::4])
    options = LowRank(first=5)
    built = search.build_blocked(KERNELS, rows, normalize=normalize, options=options)
    v = np.random.default_rng(4).standard_normal(200)
    before = built.stack.residual_bounds(v)
    goals = {0: 1e-2 * before[0], 3: 2.0 * before[3]}
    finer = replace(built, stack=search.refine_blocked(built.stack, v, goals, None))
    after = finer.stack.residual_bounds(v)
    # The first grows to its goal, the other by half although it is there.
    assert after[0] <= 2e-2 * before[0]
    assert finer.stack.ranks.tolist() == [finer.stack.ranks[0], 3, 10, 7]
    assert after[3] < before[3]
    np.testing.assert_allclose(after[1:3], before[1:3])
    np.testing.assert_array_equal(
        finer.stack.landmarks.scales, built.stack.landmarks.scales
    )
    dense = build_stack(KERNELS, X, normalize=normalize, storage="dense").stack
    full = dense.quadratic_forms(v)
    assert np.all(full <= finer.stack.quadratic_forms(v) + after + 1e-9 * full)
    goals = {0: 1e-6 * before[0]}
    again = replace(built, stack=search.refine_blocked(finer.stack, v, goals, None))
    assert again.stack.ranks[0] > finer.stack.ranks[0]
    assert again.stack.ranks[3] == 7


def test_degenerate_kernels_are_named():
    X = draw()
    X[:, 0] = 1.0
    kernels = ListDictionary([ColumnKernel(LinearKernel(), 0), LinearKernel()])
    built = search.build_blocked(kernels, in_blocks(X), normalize="variance")
    assert built.degenerate.tolist() == [0]


def test_refusals():
    rows = in_blocks(draw())
    with pytest.raises(ValueError, match="requires eigenvalues"):
        search.build_blocked(KERNELS, rows, normalize=TailNormalizer(2))
    with pytest.raises(StackTooLargeError, match="more workers"):
        search.build_blocked(KERNELS, rows, max_bytes=1000)


def test_factors_before_normalisation_are_given_back(monkeypatch):
    seen = []
    assembled = search.LandmarkSearch.assemble

    def looking(self, blocks, scalings):
        gc.collect()
        # Not isinstance: it asks proxies of other modules, which may be dead.
        seen.append(sum(type(o) is plan.RawBlock for o in gc.get_objects()))
        return assembled(self, blocks, scalings)

    monkeypatch.setattr(search.LandmarkSearch, "assemble", looking)
    search.build_blocked(KERNELS, in_blocks(draw()), normalize="trace")
    assert seen == [0]


def test_factors_in_files_are_computed_twice(monkeypatch, tmp_path):
    calls, compute = [], plan.KernelPlan.__call__

    def counting(self, X, weights):
        calls.append(X.shape[0])
        return compute(self, X, weights)

    monkeypatch.setattr(plan.KernelPlan, "__call__", counting)
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 20)
    options = LowRank(folder=tmp_path)
    rows = row_blocks.rows_in_blocks(draw(), tmp_path)
    search.build_blocked(KERNELS, rows, normalize="trace", options=options)
    # For the sums that scales are learnt from, and to be written.
    assert sum(calls) == 2 * 60 * len(KERNELS)
