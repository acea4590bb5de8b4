"""UFO-MKL: multiple kernel learning by stochastic dual averaging."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    Expansion,
    check_forms,
    model_of_multiples,
    project_dual,
)
from multikernel.certificates.incumbent import Incumbent
from multikernel.linalg.threads import compiled
from multikernel.losses import CrammerSingerLoss, HingeLoss
from multikernel.losses.weighted import weights_of, without_weights
from multikernel.problem import Callback, Problem, Solution
from multikernel.regularizers import (
    BlockElasticNet,
    BlockRegularizer,
    SparseBlockNorm,
    SquaredBlockNorm,
)
from multikernel.solvers.base import incumbents

LOOPS = "multikernel.solvers.comparison.ufo_loops"


def ufo_exponent(n_kernels: int) -> float:
    """Return the exponent p of `SparseBlockNorm` that UFO-MKL's paper uses."""
    # The norm of the block norms has the exponent 2 log M / (2 log M - 1) in the paper.
    # Written as 2 p / (p + 1), this gives p = log M / (log M - 1), which is not
    # positive for M <= 2.
    if n_kernels <= 2:
        return np.inf
    size = float(np.log(n_kernels))
    return size / (size - 1.0)


@dataclass(frozen=True)
class UFOMKL:
    r"""Multiple kernel learning by stochastic dual averaging, for comparison.

    The algorithm is that of Orabona and Jie (ICML 2011). The loss is the hinge for two
    classes, or Crammer and Singer's (JMLR 2, 2001) for more; there is no intercept. For
    the slopes z_s of the losses of the first t samples and the penalty :math:`\Omega`,
    the next model w is :math:`\arg\min_w \langle \frac1t \sum_{s \le t} z_s, w \rangle
    + \Omega(w)`, in closed form. The paper's penalty is `SparseBlockNorm` with the
    exponent `ufo_exponent`; `SquaredBlockNorm` and `BlockElasticNet` are special cases.
    Every epoch visits each sample once, in random order. Minus the mean slope is then a
    feasible dual point and gives a relative gap, which decreases at best with the
    inverse number of epochs: other solvers need far fewer passes. `cache_bytes` limits
    the memory for columns of Gram matrices.
    """

    tol: float = 1e-2
    max_iter: int = 300  # epochs
    random_state: int = 0  # seed of the random orders
    cache_bytes: int = 1_000_000_000  # columns that do not fit are read in every epoch

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        regularizer = problem.regularizer
        split = _strengths(regularizer)
        if split is None:
            return (
                "UFOMKL needs the regularizer SparseBlockNorm, SquaredBlockNorm or "
                f"BlockElasticNet, got {type(regularizer).__name__}."
            )
        if split[1].p == 1.0:
            return (
                "UFOMKL needs a penalty with p > 1, got p = 1: pass "
                "p=ufo_exponent(n_kernels), the value of the paper."
            )
        loss = without_weights(problem.loss)
        several = problem.y.ndim == 2 and problem.y.shape[1] > 1
        if not isinstance(loss, CrammerSingerLoss if several else HingeLoss):
            return (
                "UFOMKL needs the hinge loss for one output, or CrammerSingerLoss for "
                f"several, got {type(loss).__name__}."
            )
        if problem.fit_intercept:
            return "UFOMKL has no intercept: pass fit_intercept=False."
        return None

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; see `Solver.solve`. An iteration is one epoch."""
        # The gaps of a stochastic method fluctuate, so it ends only at the tolerance or
        # after `max_iter` epochs.
        patience = self.max_iter + 1
        penalties = [problem.regularizer]
        incumbent = next(incumbents(self, problem, penalties, callback, patience))
        run = _SlopeSum(
            incumbent, np.random.default_rng(self.random_state), self.cache_bytes
        )
        expansion = incumbent.start(init)
        if init is not None and expansion is not None:
            run.restart(expansion, max(init.n_iter, 1))
        return incumbent.run(run.step, self.tol, self.max_iter)


def _strengths(penalty: BlockRegularizer) -> tuple[float, SquaredBlockNorm] | None:
    """Return the l1 strength and the squared norm of a penalty; None if unsupported."""
    if isinstance(penalty, SquaredBlockNorm):
        return 0.0, penalty
    if isinstance(penalty, BlockElasticNet):
        penalty = SparseBlockNorm(penalty.alpha, penalty.l1_ratio, np.inf)
    if isinstance(penalty, SparseBlockNorm):
        return penalty.threshold, penalty.squared
    return None


@dataclass
class _SlopeSum:
    """State of the solver: the sum of the slopes, and its product with each kernel."""

    incumbent: Incumbent
    rng: Generator
    cache_bytes: int
    epochs: int = 0
    coefs: Array = field(init=False)  # minus the sum, (n_outputs, n_samples)
    images: Array = field(init=False)  # (n_kernels, n_outputs, n_samples)
    squares: Array = field(init=False)  # squared norms of `coefs`, (n_kernels,)
    all_columns: Array | None = None  # (n_samples, n_kernels, n_samples), if in memory

    def __post_init__(self) -> None:
        self.problem = self.incumbent.problem
        self.y = self.problem.y.reshape(len(self.problem.y), -1)
        n_kernels, n = self.problem.gram.shape[:2]
        self.coefs = np.zeros((self.y.shape[1], n))
        self.images = np.zeros((n_kernels, self.y.shape[1], n))
        self.squares = np.zeros(n_kernels)
        is_binary = self.y.shape[1] == 1
        self.labels = (
            self.y[:, 0].astype(np.intp) if is_binary else np.argmax(self.y, axis=1)
        )
        self.sizes = weights_of(self.problem.loss, n)
        strengths = _strengths(self.problem.regularizer)
        assert strengths is not None
        threshold, squared = strengths
        # The last arguments of `slopes`. Block norms have the exponent 2 p / (p + 1),
        # whose dual is 2 `conjugate_p`.
        self.penalty = threshold, squared.alpha, 2.0 * squared.conjugate_p

    def restart(self, point: Expansion, epochs: int) -> None:
        """Start at a dual point, as if `epochs` epochs had led to it."""
        n_kernels, n = self.images.shape[0], self.coefs.shape[1]
        self.epochs = epochs
        self.coefs = np.ascontiguousarray(epochs * point.rho.reshape(n, -1).T)
        images = point.images.reshape(n_kernels, n, -1).transpose(0, 2, 1)
        self.images = np.ascontiguousarray(epochs * images)
        self.squares = epochs**2 * point.forms

    def step(self) -> None:
        """Run one epoch: add the subgradient of each sample, in random order."""
        visited = self.epochs * self.labels.size
        for samples, places, columns in self._blocks_of_columns():
            self.incumbent.recorder.inner_steps += compiled(LOOPS, "visit")(
                columns, places, samples, self.labels, self.sizes, visited,
                *self.penalty, self.coefs, self.images, self.squares,
            )  # fmt: skip
            visited += samples.size
        self.epochs += 1
        self._publish()

    def _blocks_of_columns(self) -> Iterator[tuple[Indices, Indices, Array]]:
        """Yield arguments (samples, places, columns) of `visit`, in random order."""
        # Column places[k] of `columns` belongs to sample samples[k]; see `visit`.
        gram = self.problem.gram
        n_kernels, n = gram.shape[:2]
        order = self.rng.permutation(n)
        size = self.cache_bytes // (8 * n_kernels * n)
        if size >= n:
            if self.all_columns is None:
                self.all_columns = _columns_first(gram.columns(np.arange(n)))
            yield order, order, self.all_columns
            return
        for start in range(0, n, max(size, 1)):
            samples = order[start : start + max(size, 1)]
            yield (
                samples,
                np.arange(samples.size),
                _columns_first(gram.columns(samples)),
            )

    def _publish(self) -> None:
        """Offer the dual point -mean(slopes), and the model that belongs to it."""
        problem, share = self.problem, 1.0 / self.epochs
        rho = project_dual(problem, share * self.coefs.T.reshape(problem.y.shape))
        # `squares` accumulates the rounding errors of many changes, so it is recomputed
        # once per epoch.
        self.squares = np.einsum("mcn,cn->m", self.images, self.coefs)
        forms = share**2 * self.squares
        check_forms(problem.gram, forms, rho)
        forms = np.maximum(forms, 0.0)
        weights = compiled(LOOPS, "slopes")(forms, 1.0, *self.penalty)
        f = share * np.tensordot(weights, self.images, axes=1).T
        f = f.reshape(problem.y.shape)
        # The model's functions are weights[m] K_m rho.
        self.incumbent.offer(model_of_multiples(problem, rho, weights, forms, f))
        self.incumbent.offer_dual(rho, forms)


def _columns_first(columns: Array) -> Array:
    """Return the array with its last axis moved to the front, contiguous in memory."""
    return np.ascontiguousarray(columns.transpose(2, 0, 1))
