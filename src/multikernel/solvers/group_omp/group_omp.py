"""Group-OMP: greedy selection of kernels, with a refit on their sum after each step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.certificates import constant_model
from multikernel.certificates.progress import metered
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.losses.base import is_polyhedral
from multikernel.machines import KernelMachine, machine_for
from multikernel.problem import (
    Callback,
    Problem,
    Solution,
    Status,
    center_targets,
    half_range,
)
from multikernel.regularizers.base import BlockRegularizer
from multikernel.solvers.base import check_supported, with_alpha
from multikernel.solvers.group_omp.path import GreedyPath
from multikernel.solvers.group_omp.refit import refit_for, whitening
from multikernel.solvers.group_omp.selection import (
    BoundSelector,
    FactorSelector,
    Query,
    Selector,
)


@dataclass(frozen=True)
class GroupOMP:
    r"""Group orthogonal matching pursuit over kernels: greedy selection with refits.

    Each step selects the kernel with the largest improvement :math:`I_j = \tfrac12
    r^\top K_j (K_j + \alpha I)^{-1} r` of the residual r, summed over outputs, and
    refits :math:`\min_{f, b} \sum_i \ell(y_i, f(x_i) + b) + \frac{\alpha}{2} \sum_m
    \|f_m\|^2` on the selected kernels (Sindhwani and Lozano, NIPS 24, 2011, section 3;
    for the squared loss alpha is their n lambda, :math:`2 I_j / n` their improvement).
    For other losses r is minus the slope of the loss. Kernels are centered if there is
    an intercept. The selection ends at `max_kernels` kernels (None: all), or when the
    best improvement is at most `tol` times half the squared length of the first
    residual. A step examines a random subset of kernels: `subsample` is its share of
    all kernels (float in (0, 1]) or its size (int). Refits are exact, but no gap
    certifies the selection.
    """

    max_kernels: int | None = None
    tol: float = 1e-3
    subsample: float | int = 1.0
    random_state: int = 0  # seed; the random subset of step k is the same for any alpha
    machine: KernelMachine | None = None  # None: the choice of `machine_for`

    def __post_init__(self) -> None:
        if self.max_kernels is not None and self.max_kernels < 1:
            raise ValueError(f"max_kernels must be at least 1, got {self.max_kernels}.")
        if not self.tol >= 0.0:
            raise ValueError(f"tol must be zero or positive, got {self.tol}.")
        is_count = isinstance(self.subsample, Integral)
        if not (self.subsample >= 1 if is_count else 0.0 < self.subsample <= 1.0):
            raise ValueError(
                "subsample must be a fraction in (0, 1] or a number of kernels (int) "
                f"of at least 1, got {self.subsample!r}."
            )

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        n_kernels, n_rows, n_cols = problem.gram.shape
        if n_rows != n_cols:
            return f"GroupOMP needs square Gram matrices, got {n_rows} x {n_cols}."
        if not _is_ridge(problem.regularizer, n_kernels):
            return (
                "GroupOMP needs the ridge penalty alpha / 2 sum_m ||f_m||^2, got "
                f"{problem.regularizer!r}: use BlockElasticNet(alpha, l1_ratio=0.0)."
            )
        return self._machine(problem).unsupported(problem.loss)

    def _machine(self, problem: Problem) -> KernelMachine:
        """Return the machine of the refits for a problem."""
        return machine_for(problem.loss) if self.machine is None else self.machine

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Select kernels and return the last model of the path; `init` is not used.

        `callback` is called after every selection; returning True stops.
        """
        return self.path(problem, callback).solution()

    def path(self, problem: Problem, callback: Callback | None = None) -> GreedyPath:
        """Select kernels and return the model after every selection; see `solve`."""
        return self.paths(problem, [problem.regularizer.alpha], callback)[0]

    def paths(
        self,
        problem: Problem,
        alphas: Sequence[float] | Array,
        callback: Callback | None = None,
    ) -> list[GreedyPath]:
        """Select kernels for several strengths together; return one path for each.

        One product with a Gram matrix serves the residuals of all strengths, and each
        path equals the path computed alone. `alphas` are strengths for the summed loss
        of `Problem`. Raises an UnsupportedProblemError if `unsupported` returns a
        reason, or a strength is below rounding errors.
        """
        check_supported(self, problem)
        problem, selector = _with_selector(center_targets(problem))
        problems = [with_alpha(problem, float(alpha)) for alpha in alphas]
        n_paths, n_kernels = len(problems), problem.gram.shape[0]
        paths = [_Growth(self, p, selector, n_paths, callback) for p in problems]
        for step in range(min(self.max_kernels or n_kernels, n_kernels)):
            growing = [path for path in paths if path.status is None]
            if not growing:
                break
            masks = [self._candidates(n_kernels, step, path.order) for path in growing]
            choice = selector.best(_query(growing, masks))
            for path, kernel, improvement in zip(
                growing, choice.kernels, choice.improvements, strict=True
            ):
                path.count(choice.passes)
                path.extend(int(kernel), float(improvement))
        return [path.finish() for path in paths]

    def _candidates(self, n_kernels: int, step: int, selected: list[int]) -> Mask:
        """Return a mask of the kernels that a step may select, (n_kernels,)."""
        size, is_number = self.subsample, isinstance(self.subsample, Integral)
        size = int(size) if is_number else math.ceil(size * n_kernels)
        is_candidate = np.ones(n_kernels, dtype=bool)
        if size < n_kernels:
            rng = np.random.default_rng([self.random_state, step])
            # The candidates are the `size` kernels with the smallest random keys;
            # selected kernels have the largest keys, so they take no place of others.
            keys = rng.random(n_kernels)
            keys[selected] = np.inf
            is_candidate[np.argpartition(keys, size)[size:]] = False
        is_candidate[selected] = False
        return is_candidate


class _Growth:
    """State of the selection for one strength: the models so far, and the residual."""

    def __init__(
        self,
        solver: GroupOMP,
        problem: Problem,
        selector: Selector,
        n_paths: int,
        callback: Callback | None,
    ) -> None:
        self.problem, self.whitening = problem, selector.whitening
        metered_problem, self.recorder = metered(problem, callback)
        # Refits on factors read the factor of the new kernel only, which is far less
        # than a pass over all kernels, so they are not counted.
        by_factors = low_rank_form(problem.gram) is not None
        machine = solver._machine(problem)
        self.refit = refit_for(problem if by_factors else metered_problem, machine)
        self.n_outputs = problem.y.size // problem.y.shape[0]
        # Passes that the selector made for all paths are divided equally among them.
        meter = self.recorder.meter
        meter.read += selector.prepared / n_paths * meter.entries
        self.order: list[int] = []
        self.improvements: list[float] = []
        self.status: Status | None = None
        constant = constant_model(problem)
        intercept = constant.intercept - problem.offset
        level = float(intercept[0]) if problem.y.ndim == 1 else intercept
        f = np.zeros_like(problem.y) + level
        # The ridge of the selection, `shift`, is alpha, except for piecewise linear
        # losses. For these, alpha has the inverse unit of the targets, which the ridge
        # must not depend on, so alpha is multiplied by half the range of the targets.
        # If rounding errors exceed this product, the smallest safe ridge is used; if
        # alpha itself is below the safe ridge, the selector raises an error.
        alpha = self.shift = problem.regularizer.alpha
        if is_polyhedral(problem.loss):
            least = min(alpha, selector.least_shift)
            self.shift = max(half_range(problem.y) * alpha, least)
        # One entry for each model of the path; the first model has no kernels.
        self.coefs = [constant.dual / alpha]
        self.intercepts = [intercept]
        self.objectives = [float(problem.loss.value(problem.y, f).sum())]
        self.least_improvement = solver.tol * 0.5 * float(np.sum(self.rows() ** 2))
        self._record()

    def rows(self) -> Array:
        """Return the whitened residual, with one row for each output."""
        dual = self.problem.regularizer.alpha * self.coefs[-1]
        return self.whitening.residual_rows(dual)

    def count(self, passes: float) -> None:
        """Count `passes` over all kernels, each once for every output."""
        meter = self.recorder.meter
        meter.read += passes * self.n_outputs * meter.entries

    def extend(self, kernel: int, improvement: float) -> None:
        """Select a kernel, or stop if it improves the fit too little."""
        if improvement <= self.least_improvement:
            self.status = Status.PRECISE
            return
        fit = self.refit.add(kernel)
        self.order.append(kernel)
        self.improvements.append(improvement)
        self.coefs.append(fit.coefs)
        self.intercepts.append(fit.intercept)
        self.objectives.append(fit.objective)
        self._record()

    def _record(self) -> None:
        """Add a line to the history; set the status if the callback stops."""
        self.recorder.inner_steps = len(self.order)
        if self.recorder.add(self.objectives[-1], np.nan, len(self.order)):
            self.status = Status.STOPPED

    def finish(self) -> GreedyPath:
        """Return the path so far."""
        return GreedyPath(
            problem=self.problem,
            order=np.array(self.order, dtype=np.intp),
            improvements=np.array(self.improvements),
            objectives=np.array(self.objectives),
            coefs=np.stack(self.coefs),
            intercepts=np.stack(self.intercepts) + self.problem.offset,
            status=Status.SELECTED if self.status is None else self.status,
            history=tuple(self.recorder.history),
        )


def _with_selector(problem: Problem) -> tuple[Problem, Selector]:
    """Return the problem and its selector, both on factors if the stack stores them."""
    factors, geometry = low_rank_form(problem.gram), whitening(problem)
    if factors is None:
        return problem, BoundSelector(problem.gram, geometry)
    return replace(problem, gram=factors), FactorSelector(factors, geometry)


def _query(growing: list[_Growth], candidates: list[Mask]) -> Query:
    """Return the residuals, ridges and candidate kernels of all unfinished paths."""
    rows = [path.rows() for path in growing]
    sizes = np.array([len(block) for block in rows])
    return Query(
        rows=np.concatenate(rows),
        starts=np.cumsum(sizes) - sizes,
        shifts=np.array([path.shift for path in growing]),
        candidates=np.stack(candidates),
    )


def _is_ridge(regularizer: BlockRegularizer, n_kernels: int) -> bool:
    """Return whether a penalty equals alpha / 2 sum_m ||f_m||^2 at two points."""
    norms = np.linspace(1.0, 2.0, n_kernels)
    probes = (norms, 3.0 * norms)
    expected = [0.5 * regularizer.alpha * float(t @ t) for t in probes]
    return bool(np.allclose([regularizer.value(t) for t in probes], expected))
