"""SMO in blocks of samples finds what it finds on rows, and reads no row."""

from dataclasses import replace

import numpy as np
import pytest

from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import DenseMatrix, LowRankMatrix
from multikernel.losses import EpsilonInsensitiveLoss, HingeLoss, weighted
from multikernel.machines import SMO, warm_start
from multikernel.machines.smo import blocks

LOSSES = (HingeLoss(), EpsilonInsensitiveLoss(0.1))


class NoColumns(LowRankMatrix):
    """Factors, of whose products no column may be asked but that of a start's check."""

    def columns(self, indices):
        assert indices.size == 1
        return super().columns(indices)


def problem(loss, n=160, rank=12):
    """Return factors with their weights, and targets for a loss."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, rank))
    f = Z[:, 0] + np.sin(3.0 * Z[:, 1]) + 0.5 * rng.standard_normal(n)
    y = np.sign(f) if isinstance(loss, HingeLoss) else f
    return NoColumns(Z, rng.uniform(0.05, 0.3, rank)), y


def dense(gram):
    Z = gram.factor * np.sqrt(gram.weights)
    return DenseMatrix(Z @ Z.T)


@pytest.fixture
def small(monkeypatch):
    """Make blocks so small that there are many."""
    settings = replace(blocks.SETTINGS, size=20, spare=1.1)
    monkeypatch.setattr(blocks, "SETTINGS", settings)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_finds_what_it_finds_on_rows(loss, C, fit_intercept):
    gram, y = problem(loss)
    strong = weighted(loss, np.full(y.size, C))
    machine, K = SMO(tol=1e-7 * C), dense(gram)
    expected = machine.fit(K, y, strong, fit_intercept=fit_intercept)
    found = machine.fit(gram, y, strong, fit_intercept=fit_intercept)
    assert found.converged
    size = max(abs(expected.objective), 1.0)
    assert abs(found.objective - expected.objective) <= 1e-6 * size
    assert np.allclose(found.f, K.matvec(found.dual) + found.intercept, atol=1e-8 * C)
    if fit_intercept:
        assert abs(found.dual.sum()) <= 1e-9 * np.abs(found.dual).sum()
    # Nobody violates, by what a run from there on rows finds to do.
    start = replace(found, f=K.matvec(found.dual) + found.intercept)
    again = machine.fit(K, y, strong, fit_intercept=fit_intercept, init=start)
    assert again.n_steps == 0


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("loss", LOSSES)
def test_a_start_is_gone_on_from(loss):
    gram, y = problem(loss)
    machine = SMO(tol=1e-6)
    first = machine.fit(gram, y, loss, fit_intercept=True)
    start = warm_start(dense(gram), first.dual, intercept=first.intercept)
    assert machine.fit(gram, y, loss, fit_intercept=True, init=start).n_steps == 0
    other = NoColumns(gram.factor, 1.01 * gram.weights)
    start = warm_start(dense(other), first.dual, intercept=first.intercept)
    warm = machine.fit(other, y, loss, fit_intercept=True, init=start)
    cold = machine.fit(other, y, loss, fit_intercept=True)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert warm.n_steps < cold.n_steps


@pytest.mark.usefixtures("small")
def test_steps_are_limited_over_all_blocks():
    gram, y = problem(HingeLoss())
    fit = SMO(tol=1e-9, max_steps=7).fit(gram, y, HingeLoss(), fit_intercept=True)
    assert fit.n_steps == 7
    assert not fit.converged


def test_bytes_limit_blocks(monkeypatch):
    gram, y = problem(HingeLoss())
    sizes = []
    within = LowRankMatrix.within

    def counted(self, indices):
        sizes.append(indices.size)
        return within(self, indices)

    monkeypatch.setattr(LowRankMatrix, "within", counted)
    machine = SMO(tol=1e-5, cache_bytes=8 * 30**2)
    assert machine.fit(gram, y, HingeLoss(), fit_intercept=True).converged
    assert max(sizes) == 30


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_what_is_no_kernel_is_refused(fit_intercept):
    gram, y = problem(HingeLoss())
    wrong = NoColumns(gram.factor, np.where(np.arange(12) < 4, -0.5, 0.5))
    with pytest.raises(IndefiniteKernelError, match="not positive semidefinite"):
        SMO().fit(wrong, y, HingeLoss(), fit_intercept=fit_intercept)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_entries_among_samples_are_those_of_the_columns(sign):
    rng = np.random.default_rng(1)
    gram = LowRankMatrix(rng.standard_normal((30, 4)), sign * rng.uniform(1, 2, 4))
    both = gram.plus(rng.standard_normal((30, 2)))
    samples = np.array([3, 7, 8, 21])
    for matrix in (gram, both, dense(NoColumns(gram.factor, np.ones(4)))):
        expected = matrix.columns(samples)[samples]
        assert np.allclose(matrix.within(samples), expected, rtol=1e-12)
        rows = np.array([21, 0])
        expected = matrix.columns(samples)[rows]
        assert np.allclose(matrix.between(rows, samples), expected, rtol=1e-12)
    assert gram.quick_products
    assert both.quick_products
