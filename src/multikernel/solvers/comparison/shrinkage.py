"""Iterative shrinkage: gradient steps on the loss, each with a soft threshold."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import (
    Expansion,
    Model,
    best_intercepts,
    expand,
    project_dual,
)
from multikernel.certificates.incumbent import Incumbent
from multikernel.losses.base import SmoothConjugateLoss
from multikernel.losses.coupled import SmoothCoupledLoss
from multikernel.problem import Callback, Problem, Solution
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.base import incumbents

SMOOTH = (SmoothConjugateLoss, SmoothCoupledLoss)


@dataclass(frozen=True)
class IterativeShrinkage:
    r"""Sparse multiple kernel learning by iterative shrinkage, for comparison.

    Minimizes the objective of SpicyMKL for differentiable losses. A step of size gamma
    replaces the expansions :math:`\alpha_m` by :math:`\mathrm{ST}_{\gamma}(\alpha_m +
    \gamma \rho)`, :math:`\rho = -\nabla \ell(y, f + b)`, with the soft threshold ST in
    the norm of each kernel (Suzuki and Tomioka, METR 2009-45, section 4.1). The
    intercept b is the best one for f; the paper moves it along the slope. With
    `momentum` a step starts at a point beyond the last model (Beck and Teboulle, SIAM
    J. Imaging Sciences 2, 2009), with restarts when the objective increases
    (O'Donoghue and Candes, Found. Comput. Math. 15, 2015). Every step is a pass over
    all Gram matrices and certifies the relative gap, which decreases at best as the
    inverse square of the number of steps.
    """

    tol: float = 1e-3
    max_iter: int = 10_000
    momentum: bool = True

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        if not isinstance(problem.regularizer, ProximableRegularizer):
            return (
                "IterativeShrinkage needs a regularizer with a separable prox, got "
                f"{type(problem.regularizer).__name__}: use BlockL1 or BlockElasticNet."
            )
        if not isinstance(problem.loss, SMOOTH):
            return (
                "IterativeShrinkage needs a differentiable loss, got "
                f"{type(problem.loss).__name__}: use the squared or the logistic loss."
            )
        return None

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; see `Solver.solve`."""
        # Steps lower the objective long before the gap decreases.
        patience = self.max_iter + 1
        penalties = [problem.regularizer]
        incumbent = next(incumbents(self, problem, penalties, callback, patience))
        incumbent.start(init)
        run = _Tangents(incumbent, self.momentum)
        if init is not None:
            run.begin(init)
        return incumbent.run(run.step, self.tol, self.max_iter)


def _forms(functions: Array) -> Array:
    """Return squared norms, (n_kernels,), of one function for each kernel."""
    # `functions` contains two arrays of shape (n_kernels, n_samples): the coefficients
    # c_m and the values K_m c_m.
    squares: Array = np.einsum("mi,mi->m", *functions)
    return np.maximum(squares, 0.0)


@dataclass(frozen=True, eq=False)
class _Tangent:
    """Tangent of the loss: its value at the best intercept, and minus its slope."""

    intercept: Array
    loss: float
    rho: Array


@dataclass
class _Tangents:
    """State of the solver: the last model, and the base point of the next tangent."""

    # `last` and `base`, (2, n_kernels, n_samples * n_outputs), contain the coefficients
    # c_m and the values K_m c_m of a model.
    incumbent: Incumbent
    momentum: bool
    last: Array = field(init=False)
    base: Array = field(init=False)
    objective: float = np.inf  # of `last`
    pace: float = 1.0  # t_k of Beck and Teboulle, which determines the momentum
    step_size: float = 0.0  # zero before the first step

    first: ClassVar[float] = 8.0
    """The first step size is this number over the curvature of a squared loss along the
    slope. Half of it is safe for the logistic loss, with at most a quarter of this
    curvature, if no direction is more curved."""

    rounding: ClassVar[float] = 1e-14
    """Share of the loss by which rounding may raise it above the step's parabola."""

    def __post_init__(self) -> None:
        self.problem = self.incumbent.problem
        n_kernels = self.problem.gram.shape[0]
        self.last = self.base = np.zeros((2, n_kernels, self.problem.y.size))

    def begin(self, init: Solution) -> None:
        """Start at a solution, if its expansions have one coefficient per sample."""
        shape = self.problem.y.shape
        if init.coefs.shape[1:] == shape:
            coefs = np.zeros((self.problem.gram.shape[0], *shape))
            coefs[init.active] = init.coefs
            images = self.problem.gram.block_matvec(coefs)
            self.last = np.stack([coefs, images]).reshape(2, len(coefs), -1)
            self.base = self.last
            self.objective = self.incumbent.model.objective

    def step(self) -> None:
        """Take a proximal gradient step from the base, and set the next base."""
        tangent = self._tangent(self.base)
        # Up to rounding errors, which the projection removes, `tangent.rho` is in the
        # domain of the conjugate, and sums to zero if there is an intercept.
        rho = project_dual(self.problem, tangent.rho)
        slope = expand(self.problem.gram, rho)
        self.incumbent.offer_dual(slope.rho, slope.forms)
        candidate, norms, end = self._shrunk(slope, tangent.loss)
        objective = end.loss + self.problem.regularizer.value(norms)
        self._offer(candidate, norms, end.intercept, objective)
        if objective > self.objective and self.base is not self.last:
            # Momentum went too far: the next step starts at the last model, from which
            # the objective decreases.
            self.base, self.pace = self.last, 1.0
            return
        pace = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.pace**2))
        ahead = (self.pace - 1.0) / pace if self.momentum else 0.0
        self.base = candidate
        if ahead:
            self.base = candidate + ahead * (candidate - self.last)
        self.last, self.objective, self.pace = candidate, objective, pace

    def _tangent(self, functions: Array) -> _Tangent:
        """Return the tangent of the loss at a model with the best intercept."""
        # `functions` contains the coefficients c_m of the model and the values K_m c_m.
        problem = self.problem
        f = functions[1].sum(axis=0).reshape(problem.y.shape)
        if problem.fit_intercept:
            b, rho = best_intercepts(problem.loss, problem.y, f)
        else:
            b = np.zeros(1 if problem.y.ndim == 1 else problem.y.shape[1])
            rho = -problem.loss.gradient(problem.y, f)
        loss = float(problem.loss.value(problem.y, f + b).sum())
        return _Tangent(b, loss, rho)

    def _shrunk(self, slope: Expansion, loss: float) -> tuple[Array, Array, _Tangent]:
        """Apply the proximal map; return the functions, their norms and the tangent."""
        # A step minimizes a parabola above the loss, plus the penalty: it moves along
        # minus the slope (`down`), then the prox shrinks the norm of each function. The
        # step size is halved until the loss at the new point is not above the parabola.
        # `base`, `down`, `moved` and `candidate` contain coefficients and values.
        penalty, base = self.problem.regularizer, self.base
        assert isinstance(penalty, ProximableRegularizer)
        rho = slope.rho.reshape(-1)
        images = slope.images.reshape(base[1].shape)
        down = np.stack([np.broadcast_to(rho, images.shape), images])
        squared_slope = float(slope.forms.sum())
        if not self.step_size:
            inverse = float(rho @ rho) / squared_slope if squared_slope else 1.0
            self.step_size = self.first * inverse
        while True:
            moved = base + self.step_size * down
            sizes = np.sqrt(_forms(moved))
            norms = penalty.prox(sizes, self.step_size)
            shrinkage = np.divide(
                norms, sizes, out=np.zeros_like(norms), where=sizes > 0.0
            )
            candidate = shrinkage[:, None] * moved
            end, move = self._tangent(candidate), candidate - base
            parabola = loss - float(rho @ move[1].sum(axis=0))
            parabola += 0.5 * float(_forms(move).sum()) / self.step_size
            if end.loss <= parabola + self.rounding * abs(loss):
                return candidate, norms, end
            self.step_size *= 0.5

    def _offer(
        self, functions: Array, norms: Array, b: Array, objective: float
    ) -> None:
        """Offer a model to the incumbent, which stores the best model."""
        kernels = np.flatnonzero(norms)
        coefs = functions[0, kernels].reshape(-1, *self.problem.y.shape)
        ones = np.ones(kernels.size)
        self.incumbent.offer(Model(kernels, norms, b, objective, ones, coefs))
