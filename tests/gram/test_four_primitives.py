"""A storage of four primitives is all that any method asks for."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from reference.toys import toy_grams, toy_loss, toy_regularizer, toy_targets

from multikernel.certificates import duality_gap
from multikernel.gram import DenseStack, GramMatrix, GramStack, tail_sums
from multikernel.gram.checks import trivial_distances
from multikernel.problem import Problem
from multikernel.regularizers import SparseBlockNorm, SquaredBlockNorm
from multikernel.solvers import (
    UFOMKL,
    FixedWeights,
    GroupOMP,
    InterleavedNewton,
    IterativeShrinkage,
    SpicyMKL,
    TailConv,
    TailDC,
    solve_path,
    ufo_exponent,
)
from multikernel.solvers.lp_choice import LP_SOLVERS, SPARSE_ONLY
from multikernel.solvers.one_class import OneClass
from multikernel.testing import check_gram_stack

GRAMS = toy_grams()


@dataclass(frozen=True, eq=False)
class Packed(GramStack):
    """Matrices as their lower triangles, row after row, unpacked when asked for."""

    triangles: np.ndarray
    n: int

    @property
    def shape(self):
        return len(self.triangles), self.n, self.n

    def matvec(self, v):
        images = [self._unpacked(triangle) @ v for triangle in self.triangles]
        return np.array(images).reshape(len(self.triangles), *v.shape)

    def combine(self, weights):
        return PackedMatrix(self, weights)

    def columns(self, indices):
        chosen = [self._unpacked(t)[:, indices] for t in self.triangles]
        return np.array(chosen).reshape(len(self.triangles), self.n, indices.size)

    def take(self, kernels):
        return Packed(self.triangles[kernels], self.n)

    def _unpacked(self, triangle):
        K = np.zeros((self.n, self.n))
        K[np.tril_indices(self.n)] = triangle
        return K + np.tril(K, -1).T


@dataclass(frozen=True, eq=False)
class PackedMatrix(GramMatrix):
    """A weighted sum of such matrices, which is not built."""

    stack: Packed
    weights: np.ndarray

    @property
    def shape(self):
        return self.stack.n, self.stack.n

    def matvec(self, v):
        return np.tensordot(self.weights, self.stack.matvec(v), axes=1)

    def columns(self, indices):
        return np.tensordot(self.weights, self.stack.columns(indices), axes=1)


def packed(array):
    n = array.shape[1]
    return Packed(array[(slice(None), *np.tril_indices(n))], n)


def both(loss, regularizer, n_outputs=None, y=None):
    """Return a problem on plain arrays, and the same one on triangles."""
    if y is None:
        y = toy_targets(loss, n_outputs=n_outputs)
    dense = Problem(DenseStack(GRAMS), y, toy_loss(loss), regularizer)
    return dense, replace(dense, gram=packed(GRAMS))


def check_same(dense, own, solve, tol, **close):
    """Solve both, and hold gaps, objectives and duals against each other."""
    expected, found = solve(dense), solve(own)
    assert found.status is expected.status
    assert found.duality_gap <= tol
    assert found.objective == pytest.approx(expected.objective, rel=2.0 * tol)
    # The gap of either, computed from scratch on the other's storage.
    assert duality_gap(dense, found) <= 1.01 * found.duality_gap + 1e-10
    assert duality_gap(own, found) <= 1.01 * found.duality_gap + 1e-10
    assert duality_gap(own, expected) <= 1.01 * expected.duality_gap + 1e-10
    return found


def test_it_conforms():
    check_gram_stack(packed(GRAMS), GRAMS)
    check_gram_stack(packed(GRAMS[:1, :1, :1]), GRAMS[:1, :1, :1])


class Unfinished(GramStack):
    """A storage without weighted sums."""

    shape = (1, 2, 2)
    matvec = columns = take = None


def test_a_method_left_out_is_named():
    with pytest.raises(TypeError, match="combine"):
        Unfinished()


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("n_outputs", [None, 2])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_spicy_mkl(loss, n_outputs, l1_ratio):
    problems = both(loss, toy_regularizer(0.4, l1_ratio), n_outputs)
    check_same(*problems, SpicyMKL(tol=1e-7).solve, 1e-7)


def test_paths():
    dense, own = both("log_loss", toy_regularizer(1.0))
    strengths = [4.0, 2.0, 1.0, 0.5]
    solver = SpicyMKL(tol=1e-7)
    expected, found = (solve_path(p, solver, strengths) for p in (dense, own))
    for one, other in zip(expected, found, strict=True):
        assert other.duality_gap <= 1e-7
        assert other.objective == pytest.approx(one.objective, rel=2e-7)


@pytest.mark.parametrize(
    ("name", "p"),
    [
        (name, p)
        for name in LP_SOLVERS
        for p in (1.0, 4 / 3, 2.0, np.inf)
        if p == 1.0 or name not in SPARSE_ONLY
    ],
)
def test_lp_norm_by_every_solver(name, p):
    solver = LP_SOLVERS[name](tol=1e-4)
    dense, own = both("hinge", SquaredBlockNorm(0.5, p))
    check_same(dense, own, solver.solve, 1e-4)


def test_the_stochastic_solver():
    penalty = SparseBlockNorm(0.5, 0.3, p=ufo_exponent(6))
    dense, own = both("hinge", penalty)
    pair = (replace(problem, fit_intercept=False) for problem in (dense, own))
    check_same(*pair, UFOMKL(tol=1e-2).solve, 1e-2)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_iterative_shrinkage(loss):
    dense, own = both(loss, toy_regularizer(0.5))
    check_same(dense, own, IterativeShrinkage(tol=1e-4).solve, 1e-4)


@pytest.mark.parametrize("loss", ["squared_error", "hinge", "log_loss"])
def test_group_omp(loss):
    dense, own = both(loss, SquaredBlockNorm(0.5, np.inf))
    solver = GroupOMP(max_kernels=4)
    one, other = (solver.path(problem) for problem in (dense, own))
    np.testing.assert_array_equal(other.order, one.order)
    np.testing.assert_allclose(other.objectives, one.objectives, rtol=1e-6)
    assert other.solution().objective == pytest.approx(one.solution().objective, 1e-6)


def test_local_rademacher():
    dense, own = both("hinge", SquaredBlockNorm(0.5, 2.0))
    machine = InterleavedNewton(tol=1e-6)
    expected = TailConv(machine, 1).solve(dense)
    found = TailConv(machine, 1).solve(own)
    assert found.duality_gap <= 1e-6
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)
    first, second = TailDC(machine, 1).solve(dense), TailDC(machine, 1).solve(own)
    assert second.objective == pytest.approx(first.objective, rel=1e-4)
    expected, found = tail_sums(dense.gram, 3), tail_sums(own.gram, 3)
    np.testing.assert_allclose(found.tails, expected.tails, rtol=1e-5, atol=1e-6)


def test_uniform_weights():
    def uniform(stack, y, shares):
        return np.full(stack.shape[0], 1.0 / stack.shape[0])

    solver = FixedWeights(uniform, InterleavedNewton(tol=1e-6))
    dense, own = both("log_loss", SquaredBlockNorm(0.5, np.inf))
    expected, found = solver.solve(dense), solver.solve(own)
    assert found.duality_gap <= 1e-6
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_one_class(p):
    shares = np.full(24, 1.0 / 24)
    solver = OneClass(nu=0.4, p=p, tol=1e-5)
    expected = solver.solve(DenseStack(GRAMS), shares)
    found = solver.solve(packed(GRAMS), shares)
    assert found.duality_gap <= 1e-5
    assert found.objective == pytest.approx(expected.objective, rel=1e-4, abs=1e-8)


def test_what_is_asked_before_a_fit():
    dense, own = DenseStack(GRAMS), packed(GRAMS)
    for one, other in zip(
        trivial_distances(dense), trivial_distances(own), strict=True
    ):
        np.testing.assert_allclose(other, one, rtol=1e-9)
