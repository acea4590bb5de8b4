"""Cutting planes over kernel weights: interleaved for any p, and the SILP for p = 1."""

import sys
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import Expansion, check_forms, project_dual, relative_gap
from multikernel.certificates.incumbent import Incumbent
from multikernel.linalg import TINY
from multikernel.problem import Solution
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm
from multikernel.solvers.lp.master import Master, central_master, corner_weights
from multikernel.solvers.lp.weight_solver import Step, WeightOracle, WeightSolver
from multikernel.solvers.machine_runs import FIRST_GAP, SMALLEST_GAP


@dataclass(frozen=True)
class Settings:
    """Tuning constants of cutting planes."""

    proof: float = 0.5
    """A new gap is proved, by one pass, only if it is at most this share of the old."""

    least_slack: float = 0.03
    """Smallest gap of a master problem, as a share of the gap of the whole problem."""

    corners: int = 10
    """Maximum number of linear programs for an equally good sparse model. They reduce
    400 kernels to 15, `thin` alone to 400 (150 rows of breast cancer, C = 100)."""

    doubt: float = 3.0
    """Slack of a master problem, in units of the planes' error at the last weights."""


SETTINGS = Settings()


@dataclass(frozen=True)
class CuttingPlane(WeightSolver):
    """lp-norm multiple kernel learning by cutting planes, interleaved with a machine.

    Minimizes J, the optimal value of a machine (a learner for one kernel), over kernel
    weights of p-norm at most one. Each run of the machine is short: it stops at the
    current gap of the search, or at `precision` if that is smaller. Its dual point
    gives a plane below J. A master problem gives weights at which the highest plane is
    low (Kloft et al., NIPS 22, 2009, section 2.4.2; p = 1: Sonnenburg et al., JMLR 7,
    2006). An interior point method solves it to the accuracy of the planes; the
    solution is in the middle of the weights that may be optimal (Gondzio et al., EJOR
    224, 2013). A combination of the dual points proves the relative gap `tol`. For p =
    1, linear programs (HiGHS) then look for an equally good model of few kernels. An
    iteration costs one or two passes and one weighted sum of the kernels.
    """

    precision: float = FIRST_GAP  # largest gap of machine runs; `tol` if that is larger

    # Many planes may be necessary before the gap decreases again.
    patience: ClassVar[int] = 40
    # Smaller decreases do not count: in single precision, the gap decreased by only
    # 0.04 % in 40 planes, and a fit made 500 such planes (10 s).
    progress: ClassVar[float] = 0.01

    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Return a `Step` that starts at the weights of `init`, or at equal weights."""
        search = _PlaneSearch(oracle, self.tol, max(self.tol, self.precision))
        search.start(init, expansion)
        return search.step


@dataclass(frozen=True)
class SILP(CuttingPlane):
    """Sparse MKL as a semi-infinite linear program, for comparison.

    The wrapper algorithm of Sonnenburg et al. (JMLR 7, 2006): `CuttingPlane` for p = 1,
    with every machine run to `tol` before the next linear program, which is solved to a
    share of the gap. The relative gap is certified.
    """

    precision: float = 0.0

    sparse_only: ClassVar[bool] = True
    # Fifty exact planes in a row may not reduce a gap of 0.6, although 350 close it
    # (sonar with 1647 kernels and a strong penalty).
    patience: ClassVar[int] = sys.maxsize


@dataclass
class Planes:
    """Planes below the optimal value of a machine, as functions of kernel weights."""

    # Plane j is heights[j] - slopes[j] @ weights, and results from the dual point
    # points[j].

    regularizer: SquaredBlockNorm
    heights: list[float] = field(default_factory=list)
    slopes: list[Array] = field(default_factory=list)
    points: list[Array] = field(default_factory=list)
    master: Master | None = None

    def add(self, height: float, slope: Array, point: Array) -> None:
        """Add a plane and its dual point."""
        self.heights.append(height)
        self.slopes.append(slope)
        self.points.append(point)

    def highest(self, weights: Array) -> float:
        """Return the maximum of all planes at these weights."""
        pairs = zip(self.heights, self.slopes, strict=True)
        return max((h - float(slope @ weights) for h, slope in pairs), default=-np.inf)

    def next_master(self, error: float, most: float) -> Master:
        """Return an approximate solution of the master problem with all planes."""
        # `error` is the height of the machine's optimum above the planes at the last
        # weights. The error allowed in the solution, `slack`, is a share of `error`,
        # but at most `most`, the absolute gap.
        slack = np.clip(SETTINGS.doubt * error, SETTINGS.least_slack * most, most)
        heights, slopes = np.array(self.heights), np.stack(self.slopes)
        self.master = central_master(
            heights, slopes, self.regularizer, float(slack), self.master
        )
        return self.master

    def mixed_point(self, master: Master) -> Array:
        """Return the mean of all dual points, weighted by a master's multipliers."""
        # Because quadratic forms are convex, the dual value of this mean point is at
        # least `master.lower_bound`.
        return np.asarray(master.multipliers @ np.stack(self.points))

    def corner(self, n_active: int) -> Array | None:
        """Return a minimizer of `highest` with under `n_active` nonzeros, or None."""
        # Weights on the central path are all positive. The linear program instead
        # returns a vertex of the set of minimizers.
        weights = corner_weights(np.array(self.heights), np.stack(self.slopes))
        if weights is None or np.count_nonzero(weights) >= n_active:
            return None
        return weights


@dataclass
class _PlaneSearch:
    """State of the search: the planes so far, and the weights for the next run."""

    oracle: WeightOracle  # runs the machine
    tol: float
    precision: float
    planes: Planes = field(init=False)
    weights: Array = field(init=False)  # for the next run

    @property
    def incumbent(self) -> Incumbent:
        """The store of the best model and dual point."""
        return self.oracle.incumbent

    def start(self, init: Solution | None, expansion: Expansion | None) -> None:
        """Start with the plane of a solution, or without planes."""
        problem = self.incumbent.problem
        assert isinstance(problem.regularizer, SquaredBlockNorm)
        self.planes = Planes(problem.regularizer)
        weights = np.ones(problem.gram.shape[0])
        if init is not None and expansion is not None and init.norms.any():
            weights = init.kernel_weights
            self.oracle.last_rho = expansion.rho
            self._add(expansion.rho, expansion.forms)
        self.weights = weights / p_norm(weights, problem.regularizer.p)

    def step(self) -> None:
        """Add a plane; for p = 1, try a sparse model if the gap is at most `tol`."""
        self._add_plane()
        if self.planes.regularizer.p == 1.0 and self.incumbent.proves(self.tol):
            self._move_to_corner()

    def _add_plane(self) -> None:
        """Run the machine, add its plane, and set the weights of the next run."""
        incumbent, planes = self.incumbent, self.planes
        point = self.oracle.evaluate(
            self.weights, min(incumbent.bounded_gap, self.precision)
        )
        error = point.value - planes.highest(point.weights)
        self._add(point.rho, point.forms)
        gap = max(incumbent.bounded_gap, self.tol, SMALLEST_GAP)
        most = gap * max(abs(incumbent.model.objective), TINY)
        master = planes.next_master(error, most)
        incumbent.bound = max(incumbent.bound, master.lower_bound)
        self.weights = master.weights
        self._prove(master)

    def _add(self, rho: Array, forms: Array) -> None:
        """Add the plane of a dual point with the quadratic forms rho^T K_m rho."""
        problem = self.incumbent.problem
        height = -float(problem.loss.conjugate(problem.y, -rho).sum())
        self.planes.add(height, forms / (2.0 * problem.regularizer.alpha), rho)

    def _move_to_corner(self) -> None:
        """Replace the model on all kernels by an equally good one on few kernels."""
        for _ in range(SETTINGS.corners):
            weights = self.planes.corner(self.incumbent.model.active.size)
            if weights is None:
                return
            point = self.oracle.evaluate(weights, self.tol)
            self._add(point.rho, point.forms)
            if self.incumbent.exchange(self.tol):
                return

    def _prove(self, master: Master) -> None:
        """Offer the incumbent the mean of dual points if it lowers the gap enough."""
        incumbent = self.incumbent
        gap = relative_gap(incumbent.model.objective, master.lower_bound)
        least = max(self.tol, SETTINGS.proof * incumbent.gap)
        if incumbent.gap <= self.tol or gap > least:
            return
        problem = incumbent.problem
        rho = project_dual(problem, self.planes.mixed_point(master))
        forms = problem.gram.quadratic_forms(rho)
        check_forms(problem.gram, forms, rho)
        incumbent.offer_dual(rho, np.maximum(forms, 0.0))
