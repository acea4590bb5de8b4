"""Solver that alternates between a machine and kernel weights in closed form."""

from dataclasses import dataclass

import numpy as np

from multikernel.certificates import Expansion
from multikernel.problem import Problem, Solution
from multikernel.regularizers.base import is_variational
from multikernel.solvers.lp.weight_solver import Step, WeightOracle, WeightSolver
from multikernel.solvers.machine_runs import FIRST_GAP, FLOOR, reason_against_loss


@dataclass(frozen=True)
class Alternating(WeightSolver):
    r"""Solver that alternates between a machine and closed-form kernel weights.

    For any regularizer :math:`\frac{\alpha}{2} \min_{\theta \in D} \sum_m \|f_m\|^2 /
    \theta_m`: given the weights, a machine (a learner for one kernel) with the kernel
    :math:`\sum_m \theta_m K_m` gives the model; given the model, the weights follow in
    closed form (Kloft et al., JMLR 12, 2011, section 2). The objective never rises, and
    each run certifies the relative duality gap. Convergence is linear, but sublinear
    for lp-norms as p goes to 1: use `InterleavedNewton` there. Several outputs, whose
    blocks share one norm, are supported.
    """

    max_iter: int = 1000

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        if not is_variational(problem.regularizer):
            kind = type(problem.regularizer).__name__
            return (
                "Alternating needs a regularizer with kernel weights in closed form, "
                f"got {kind}: pass a SquaredBlockNorm."
            )
        return reason_against_loss(problem)

    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        """Return a `Step` that starts at the norms of `init`, or at equal norms."""
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
            # forms, which determine the next weights and the lower bound. In the worst
            # case, the machine's relative gap must therefore be the square of `gap`.
            precision = max(share, min(gap, 1.0)) * min(gap, FIRST_GAP)
            point = oracle.evaluate(weights, precision)
            norms = weights / regularizer.alpha * np.sqrt(point.forms)
            # If the gap hardly decreased, the run of the machine was not exact enough.
            share *= 0.3 if incumbent.gap > 0.99 * gap else 1.0
            # If all functions are zero, there are no weights, and nothing to improve.
            norms = norms if norms.any() else np.ones_like(norms)
            weights = np.maximum(regularizer.kernel_weights(norms), FLOOR * weights)

        return step
