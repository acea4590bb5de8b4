"""What it costs to evaluate the published model once more, as a share of the fit.

``python benchmarks/papers/spicymkl/final_evaluation.py`` prints a table: the time of a
solve from scratch, that of the final evaluation (the products of all terms, objective
and enlarged gap), and of one pass over all kernels. Times are those of the whole
process on one BLAS thread, so that other processes and waiting do not count.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from problems import LOSSES, dense, uci_dictionary, uci_split
from threadpoolctl import threadpool_limits

from multikernel.certificates import (
    DualCertificate,
    alpha_max,
    dual_norms,
    evaluate,
    evaluate_terms,
    prove,
)
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockL1, SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, SpicyMKL

SETS = ("breast_cancer", "liver", "wpbc")


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the least time of the process that a call takes."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def final_evaluation(problem: Problem, solution: Solution) -> Callable[[], float]:
    """Return what evaluates a solution as solvers do before they publish it."""
    active, coefs = solution.active, solution.coefs
    ones = np.ones(active.size)
    # Dual norms are known: they come from the pass that certified the dual point.
    sizes = dual_norms(problem.gram, solution.dual)
    certificate = DualCertificate(solution.dual, sizes, 0.0)

    def evaluation() -> float:
        terms = evaluate_terms(problem.gram, active, coefs, ones)
        worth = evaluate(problem, active, terms, solution.intercept)
        return prove(problem, worth, certificate)[0]

    return evaluation


def row(name: str, loss: str, problem: Problem, solver: Any, repeats: int) -> float:
    """Measure one problem and print its line; return the share of the fit."""
    solution = solver.solve(problem)
    fit = seconds(lambda: solver.solve(problem), repeats)
    last = seconds(final_evaluation(problem, solution), 5 * repeats)
    one_pass = seconds(lambda: problem.gram.quadratic_forms(solution.dual), repeats)
    kind = type(problem.regularizer).__name__
    print(
        f"{name:14s} {loss:13s} {kind:17s} {problem.gram.shape[0]:5d} kernels, "
        f"{solution.active.size:4d} active: fit {1e3 * fit:8.1f} ms, evaluation "
        f"{1e3 * last:7.2f} ms = {100.0 * last / fit:5.2f} % of it, "
        f"{last / one_pass:5.2f} passes",
        flush=True,
    )
    return last / fit


def main() -> None:
    """Measure all problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    shares = []
    with threadpool_limits(1):
        for name in options.sets:
            split = uci_split(name, 0)
            stack = dense(uci_dictionary(split.X), split.X).stack
            for loss in ("log_loss", "hinge"):
                posed = Problem(stack, split.y, LOSSES[loss], BlockL1(1.0))
                for share in (0.1, 0.01):
                    penalty = BlockL1(share * alpha_max(posed))
                    problem = Problem(stack, split.y, LOSSES[loss], penalty)
                    label = f"{loss} {share}"
                    done = row(name, label, problem, SpicyMKL(1e-4), options.repeats)
                    shares.append(done)
            ridge = Problem(stack, split.y, LOSSES["log_loss"], SquaredBlockNorm(1, 2))
            row(name, "log_loss", ridge, InterleavedNewton(1e-4), options.repeats)
    print(f"largest share with a sparse model: {100.0 * max(shares):.2f} %")


if __name__ == "__main__":
    main()
