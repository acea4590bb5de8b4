"""Solver that alternates between a machine and kernel weights in closed form."""

from dataclasses import dataclass

import numpy as np

from multikernel.certificates import Expansion
from multikernel.problem import Problem, Solution
from multikernel.regularizers.base import is_variational
from multikernel.solvers.lp.weight_solver import Step, WeightOracle, WeightSolver
from multikernel.solvers.machine_runs import FIRST_GAP, LEFT, reason_against_loss


@dataclass(frozen=True)
class Alternating(WeightSolver):
    r"""Solver that alternates between a machine and closed-form kernel weights.

    For any regularizer of the form :math:`\frac{\alpha}{2} \min_{\theta \in D} \sum_m
    \|f_m\|^2 / \theta_m`: given the weights, the problem has one kernel, :math:`\sum_m
    \theta_m K_m`; given the model, the weights follow in closed form (section 2 of
    [1]_). The objective never rises. The machine starts from its last solution, and its
    precision follows the gap.

    The solver supports several outputs, whose blocks share one norm.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Maximum number of machine runs.
    cache_bytes : int, default=1_000_000_000
        Memory for entries of a combined kernel that is not stored as an array.

    Notes
    -----
    An iteration costs one weighted sum of the kernels and one pass. Convergence is
    linear. For lp-norms it becomes sublinear as p goes to 1, because weights that are
    zero at the optimum decrease slowly; use `InterleavedNewton` there.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.losses import SquaredLoss
    >>> from multikernel.regularizers import SquaredBlockNorm
    >>> x = np.linspace(-1, 1, 20)
    >>> grams = DenseStack(np.stack([np.outer(x, x), np.outer(x**2, x**2)]))
    >>> problem = Problem(grams, x, SquaredLoss(), SquaredBlockNorm(1.0, p=2.0))
    >>> Alternating(tol=1e-6).solve(problem).kernel_weights.round(3)
    array([1., 0.])
    """

    max_iter: int = 1000

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver does not support the problem, or None if it does."""
        if not is_variational(problem.regularizer):
            kind = type(problem.regularizer).__name__
            return (
                "Alternating needs a regularizer with kernel weights in closed form, "
                f"such as SquaredBlockNorm, got {kind}."
            )
        return reason_against_loss(problem)

    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Return the step function, starting at norms of `init` or equal ones."""
        incumbent = oracle.incumbent
        regularizer = oracle.problem.regularizer
        assert is_variational(regularizer)
        norms, share = np.ones(oracle.problem.gram.shape[0]), 1.0
        if init is not None and init.norms.any():
            norms, oracle.last_rho = init.norms, incumbent.certificate.dual
        weights = regularizer.kernel_weights(norms)

        def step() -> None:
            """Run the machine, then set the best weights for its solution."""
            nonlocal weights, share
            gap = incumbent.gap
            # An error e of the machine's value causes errors of about sqrt(e) in the
            # forms, which determine the next weights and the lower bound. At worst, the
            # machine must therefore reach the square of the gap.
            precision = max(share, min(gap, 1.0)) * min(gap, FIRST_GAP)
            point = oracle.evaluate(weights, precision)
            norms = weights / regularizer.alpha * np.sqrt(point.forms)
            # If the gap hardly decreased, the run of the machine was not exact enough.
            share *= 0.3 if incumbent.gap > 0.99 * gap else 1.0
            # If all functions are zero, there are no weights, and nothing to improve.
            norms = norms if norms.any() else np.ones_like(norms)
            weights = np.maximum(regularizer.kernel_weights(norms), LEFT * weights)

        return step
