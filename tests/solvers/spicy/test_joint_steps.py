"""Newton steps of several outputs at once, against their whole systems."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multikernel.linalg.shifted import shifted_root
from multikernel.solvers.spicy.coupled import constrained_step
from multikernel.solvers.spicy.kernels import (
    JointHessian,
    QuadraticModel,
    newton_step,
)

intercepts = pytest.mark.parametrize("centered", [True, False])


@dataclass(frozen=True, eq=False)
class StoredNodes:
    """A Hessian that is an array, with roots or without."""

    matrix: np.ndarray
    roots: bool = True

    def solve(self, rhs, shift):
        return np.linalg.solve(self.matrix + np.diag(shift), rhs)

    def root(self, shift):
        return shifted_root(self.matrix, shift) if self.roots else None

    def rows(self, indices):
        return self.matrix[indices]

    def times(self, x):
        return self.matrix @ x


def draw(seed, n=9, T=3, centered=True, roots=True):
    """Return a model, and its Hessian as one matrix."""
    rng = np.random.default_rng(seed)
    A, U = rng.normal(size=(n, n)), rng.normal(size=(2, n, T))
    excess = rng.normal(size=T) if centered else None
    excess = None if excess is None else excess - excess.mean()
    hessian = JointHessian(StoredNodes(A @ A.T, roots), U)
    model = QuadraticModel(hessian, rng.normal(size=(n, T)), excess)
    flat = U.reshape(2, -1)
    return rng, model, np.kron(A @ A.T, np.eye(T)) + flat.T @ flat


def whole_step(H, model, pull, in_simplices):
    """Return the step by one system over all samples and outputs."""
    n, T = pull.shape
    A, right = np.zeros((0, n * T)), np.zeros(0)
    if in_simplices:
        A, right = np.kron(np.eye(n), np.ones((1, T))), np.zeros(n)
    if model.excess is not None:
        A, right = (
            np.vstack([A, np.tile(np.eye(T), n)]),
            np.append(right, -model.excess),
        )
    system = np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]])
    side = np.append(-(pull + model.gradient).ravel(), right)
    found = np.linalg.lstsq(system, side, rcond=None)[0]
    return found[: n * T].reshape(n, T), found[n * T :][-T:]


class Constant(StoredNodes):
    """A Hessian whose constant part is so large that rounding leaves no other."""

    def solve(self, rhs, shift):
        return rhs - rhs.mean(axis=0)


@pytest.mark.parametrize("outputs", [1, 2])
def test_without_a_step_of_the_intercept_there_is_none(outputs):
    hessian, ones = Constant(np.eye(4), roots=False), np.ones((4, outputs))
    curvature = ones * np.arange(1.0, 1.0 + outputs)
    if outputs == 1:
        model = QuadraticModel(hessian, ones[:, 0], np.zeros(()))
        curvature = curvature[:, 0]
    else:
        joint = JointHessian(hessian, ones[None])
        model = QuadraticModel(joint, ones, np.zeros(outputs))
    with pytest.raises(np.linalg.LinAlgError, match="rounding errors are too large"):
        newton_step(model, np.zeros_like(curvature), curvature)


@intercepts
@pytest.mark.parametrize("roots", [True, False])
@pytest.mark.parametrize("alike", [True, False])
def test_steps_of_outputs_are_those_of_the_whole_system(centered, roots, alike):
    rng, model, H = draw(0, centered=centered, roots=roots)
    pull = rng.normal(size=model.gradient.shape)
    curvature = rng.uniform(0.5, 2.0, (9, 1 if alike else 3)) * np.ones((9, 3))
    step, shift = newton_step(model, pull, curvature)
    best, b = whole_step(H + np.diag(curvature.ravel()), model, pull, False)
    np.testing.assert_allclose(step, best, atol=1e-10)
    if centered:
        np.testing.assert_allclose(shift, b, atol=1e-10)


@intercepts
@given(seed=st.integers(0, 10**6), exact=st.booleans())
def test_steps_within_simplices_are_those_of_the_whole_system(centered, seed, exact):
    rng, model, H = draw(seed, centered=centered)
    pull = rng.normal(size=model.gradient.shape)
    softness = 10.0 ** rng.uniform(-3.0, 3.0, model.gradient.shape)
    step, shift = constrained_step(softness, model, pull, 1e-9, exact=exact)
    best, b = whole_step(H + np.diag(1.0 / softness.ravel()), model, pull, True)
    np.testing.assert_allclose(step, best, atol=1e-5 * np.abs(best).max())
    np.testing.assert_allclose(step.sum(axis=1), 0.0, atol=1e-12 * np.abs(best).max())
    if centered:
        gap = shift - shift.mean() - (b - b.mean())
        np.testing.assert_allclose(gap, 0.0, atol=1e-4 * (1.0 + np.abs(b).max()))
