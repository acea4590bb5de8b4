"""SpicyMKL: sparse multiple kernel learning by a dual augmented Lagrangian."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from multikernel.losses import PolyhedralCoupledLoss, SmoothCoupledLoss
from multikernel.losses.base import PolyhedralLoss, SmoothConjugateLoss
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.base import BlockRegularizer, ProximableRegularizer
from multikernel.solvers.base import Walk, check_supported
from multikernel.solvers.incumbent import Incumbent
from multikernel.solvers.recorder import Recorder, metered
from multikernel.solvers.spicy.outer import WorkingSet
from multikernel.solvers.spicy.screening import screening
from multikernel.solvers.spicy.steps import StepByStep
from multikernel.solvers.spicy.tuning import PATIENCE, PROGRESS

TREATED = (
    SmoothConjugateLoss | PolyhedralLoss | SmoothCoupledLoss | PolyhedralCoupledLoss
)


@dataclass(frozen=True)
class SpicyMKL:
    r"""Sparse MKL: a working set of kernels, each solved by SpicyMKL's own iteration.

    Minimises :math:`\sum_i \ell(y_i, f(x_i)) + \Omega(\|f_1\|, \dots, \|f_M\|)` for a
    regulariser with a separable prox (`BlockL1`, `BlockElasticNet`) and any loss whose
    conjugate is twice differentiable or piecewise linear. Outer steps pass over all
    kernels, certify the duality gap of the whole problem and add violators to the
    working set; on the working set the dual augmented Lagrangian of [1]_ runs to a
    fraction of that gap. Its penalty parameter grows from 1 / alpha, so the gap falls
    super-linearly.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap of the whole problem at which to stop.
    max_iter : int, default=100
        Outer iterations (passes over all kernels) at most.

    Notes
    -----
    An outer step costs one pass, M matrix-vector products. A Newton step costs
    n_samples^3 / 3 flops and reads the kernels of the working set twice. On kernels
    in factors it costs n_samples R^2 flops, where R <= n_samples is the rank of the
    active ones together, and no matrix of n_samples^2 numbers is made.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.losses import SquaredLoss
    >>> from multikernel.problem import Problem
    >>> from multikernel.regularizers import BlockL1
    >>> x = np.linspace(-1, 1, 20)
    >>> grams = np.stack([np.outer(x, x), np.outer(x**2, x**2)])
    >>> problem = Problem(DenseStack(grams), 3 * x, SquaredLoss(), BlockL1(0.1))
    >>> solution = SpicyMKL(tol=1e-6).solve(problem)
    >>> solution.active
    array([0])
    """

    tol: float = 1e-3
    max_iter: int = 100

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        if not isinstance(problem.regularizer, ProximableRegularizer):
            return (
                "SpicyMKL needs a regulariser with a separable prox, such as BlockL1 "
                f"or BlockElasticNet, got {type(problem.regularizer).__name__}."
            )
        if not isinstance(problem.loss, TREATED):
            return (
                "SpicyMKL needs a loss whose conjugate is twice differentiable or "
                f"piecewise linear, got {type(problem.loss).__name__}."
            )
        return None

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem.

        Parameters
        ----------
        problem : Problem
            The problem.
        init : Solution, optional
            A warm start, for example the solution for a near-by ``alpha``.
        callback : callable, optional
            Called with a `Progress` after each outer step; True stops.

        Returns
        -------
        solution : Solution

        Raises
        ------
        UnsupportedProblemError
            If `unsupported` gives a reason.
        IndefiniteKernelError
            If a negative quadratic form is met.
        """
        check_supported(self, problem)
        incumbent = Incumbent(*metered(problem, callback), PATIENCE, PROGRESS)
        search = WorkingSet(incumbent, screening(incumbent.problem))
        search.start(init)
        return self._run(search)

    def solve_path(
        self,
        problem: Problem,
        regularizers: Sequence[BlockRegularizer],
        callback: Callback | None = None,
    ) -> list[Solution]:
        """Solve for a sequence of regularisers, most cheaply from strong to weak.

        Everything is carried over from one to the next: the model, the dual point,
        the penalty parameter, and the images by which most kernels are screened
        without looking at them.

        Parameters
        ----------
        problem : Problem
            The problem; its own regulariser is not used.
        regularizers : sequence of BlockRegularizer
            The regularisers.
        callback : callable, optional
            As in `solve`; where it stops one solve, the path ends there.

        Returns
        -------
        solutions : list of Solution
        """
        problem, recorder = metered(problem, callback)
        bounds = screening(problem)
        solutions: list[Solution] = []
        last: WorkingSet | None = None
        for regularizer in regularizers:
            step = replace(problem, regularizer=regularizer)
            check_supported(self, step)
            incumbent = Incumbent(step, recorder, PATIENCE, PROGRESS)
            search = WorkingSet(incumbent, bounds)
            if last is not None:
                search.follow(last)
            else:
                if problem.fit_intercept:
                    bounds.remember(np.ones(problem.gram.shape[1]))
                search.start(None)
            solutions.append(self._run(search))
            if solutions[-1].status is Status.STOPPED:
                break
            last, recorder = search, Recorder(callback, recorder.meter)
        return solutions

    def walk(self, problem: Problem, init: Solution | None = None) -> Walk:
        """Return the outer iteration, to be stepped through from outside.

        Parameters
        ----------
        problem : Problem
            The problem; its own regulariser is not used.
        init : Solution, optional
            A warm start.

        Returns
        -------
        walk : Walk
            Its steps are certified for their regulariser, as in `solve`.
        """
        return StepByStep(problem, init)

    def _run(self, search: WorkingSet) -> Solution:
        """Step until there is a reason to stop."""
        incumbent = search.incumbent
        status = incumbent.status(self.tol, self.max_iter)
        while status is None:
            search.step(self.tol)
            status = incumbent.status(self.tol, self.max_iter)
        return incumbent.solution(status)
