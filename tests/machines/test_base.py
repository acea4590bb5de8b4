"""Starts, products over the support, and the choice of a machine."""

import numpy as np
import pytest

from multikernel.exceptions import UnsupportedProblemError
from multikernel.gram import DenseMatrix
from multikernel.losses import COUPLED_LOSSES, LOSSES
from multikernel.machines import (
    MACHINES,
    KernelMachine,
    machine_for,
    support_product,
    warm_start,
)


@pytest.mark.parametrize("shape", [(600,), (600, 3)])
@pytest.mark.parametrize("n_support", [0, 1, 100, 599])
def test_support_product(shape, n_support):
    rng = np.random.default_rng(0)
    K = rng.normal(size=(5, 600))
    v = np.zeros(shape)
    v[rng.choice(600, n_support, replace=False)] = rng.normal(size=shape)[:n_support]
    product = support_product(DenseMatrix(K), v)
    np.testing.assert_allclose(product, K @ v, atol=1e-12)


def test_large_supports_are_read_in_blocks():
    asked = []

    class Watched(DenseMatrix):
        def columns(self, indices):
            asked.append(len(indices))
            return super().columns(indices)

    v = np.zeros(4000)
    v[:900] = 1.0
    support_product(Watched(np.ones((2, 4000))), v)
    assert sum(asked) == 900
    assert max(asked) <= 256


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_warm_start_holds_the_decision_values(shape):
    rng = np.random.default_rng(0)
    K, dual = rng.normal(size=(4, 4)), rng.normal(size=shape)
    b = rng.normal(size=1 if len(shape) == 1 else 2)
    start = warm_start(DenseMatrix(K), dual, intercept=b)
    np.testing.assert_allclose(start.f, K @ dual + b)
    np.testing.assert_allclose(warm_start(DenseMatrix(K), dual).f, K @ dual)


def test_every_loss_has_a_machine_and_every_machine_a_loss():
    losses = [*LOSSES.values(), *COUPLED_LOSSES.values()]
    chosen = {type(machine_for(loss())) for loss in losses}
    assert chosen == set(MACHINES)
    assert all(isinstance(machine(), KernelMachine) for machine in MACHINES)


def test_without_a_machine_all_reasons_are_given():
    class Odd:
        def value(self, y, f):
            return f**4

    with pytest.raises(UnsupportedProblemError, match=r"Ridge .* SMO .* Newton"):
        machine_for(Odd())
