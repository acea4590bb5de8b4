"""Targets of the solver on dense stacks: accuracy, speed, real data, paths."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from measure import PassClock, Run, median_seconds, solve
from output import Table
from problems import (
    LOSSES,
    STRENGTHS,
    UCI,
    Array,
    dense,
    first_kernels,
    ida_split,
    problem,
    subset_dictionary,
    uci_dictionary,
    uci_split,
)

from multikernel.certificates import alpha_max, duality_gap
from multikernel.gram import DenseStack
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL, alpha_grid, solve_path

Rows = list[dict[str, Any]]

LIMITS = {
    ("log_loss", 1e-2): (6.0, 0.15),
    ("log_loss", 1e-4): (8.0, 0.25),
    ("hinge", 1e-2): (8.0, 0.4),
    ("hinge", 1e-4): (12.0, 0.8),
}
"""Passes, and seconds beside them."""

CANCER_LIMITS = {0.1: 10.0, 0.01: 35.0}
"""Passes by the share of alpha_max, logistic."""


def accuracy(smoke: bool) -> Rows:
    """Reach a relative gap of 1e-6 everywhere, as recomputed from the solution."""
    table = Table(
        {
            "data": "s",
            "M": "d",
            "loss": "<20s",
            "C": "g",
            "gap": ".1e",
            "met": "",
            "passes": ".1f",
            "newton": "d",
            "n_active": "d",
            "seconds": ".2f",
        }
    )
    for name in ("liver",) if smoke else (*UCI, "ringnorm"):
        stack, y = _dense_problem(name, 60 if smoke else None)
        for loss in LOSSES:
            for C in STRENGTHS:
                posed = problem(stack, y, loss, C)
                done = solve(posed, 1e-6)
                gap = duality_gap(posed, done.solution)
                facts = {"data": name, "loss": loss, "C": C, "limit": 1e-6}
                met = bool(gap <= 1e-6)
                table.add(**facts, **_effort(done, stack), gap=gap, met=met)
    return table.rows


def speed(smoke: bool) -> Rows:
    """Reach gaps of 1e-2 and 1e-4 in a few passes, n = 200, ringnorm."""
    table = Table(
        {
            "M": "d",
            "C": "g",
            "loss": "s",
            "tol": ".0e",
            "pass_seconds": ".4f",
            "seconds": ".3f",
            "limit": ".3f",
            "ratio": ".2f",
            "passes": ".1f",
            "newton": "d",
            "n_active": "d",
        }
    )
    sizes = (50, 100) if smoke else (500, 1000, 3000, 6000)
    split = ida_split("ringnorm", 60 if smoke else 200, 0)
    whole = dense(subset_dictionary(sizes[-1], split.X), split.X).stack
    solve(problem(whole, split.y, "hinge", 0.5), 0.5)  # loads compiled code
    for n_kernels in sizes:
        stack = first_kernels(whole, n_kernels)
        for C in STRENGTHS:
            for (loss, tol), (passes, extra) in LIMITS.items():
                posed = problem(stack, split.y, loss, C)
                done, one_pass = _timed(stack, posed, tol, repeats=5)
                limit = passes * one_pass + extra
                facts = {"C": C, "loss": loss, "tol": tol, "pass_seconds": one_pass}
                share = {"limit": limit, "ratio": done.seconds / limit}
                table.add(**facts, **share, **_effort(done, stack))
    return table.rows


def cancer(smoke: bool) -> Rows:
    """Reach a gap of 1e-4 on breast cancer with the paper's 837 kernels."""
    table = Table(
        {
            "share": "g",
            "loss": "s",
            "pass_seconds": ".4f",
            "seconds": ".3f",
            "in_passes": ".1f",
            "limit": ".0f",
            "ratio": ".2f",
            "passes": ".1f",
            "newton": "d",
            "n_active": "d",
        }
    )
    stack, y = _cancer(smoke)
    for share, limit in CANCER_LIMITS.items():
        for loss in ("log_loss", "hinge"):
            posed = _at_share(stack, y, loss, share)
            done, one_pass = _timed(stack, posed, 1e-4, repeats=5)
            spent = done.seconds / one_pass
            facts = {"share": share, "loss": loss, "pass_seconds": one_pass}
            if loss == "log_loss":
                facts |= {"limit": limit, "ratio": spent / limit}
            table.add(**facts, in_passes=spent, **_effort(done, stack))
    return table.rows


def path(smoke: bool) -> Rows:
    """Follow 50 strengths at most five times as long as the hardest one takes."""
    table = Table(
        {
            "loss": "s",
            "points": "d",
            "seconds": ".2f",
            "hardest_cold": ".3f",
            "share": ".3f",
            "ratio_cold": ".2f",
            "hardest_in_path": ".3f",
            "ratio_in_path": ".2f",
            "worst_gap": ".1e",
        }
    )
    stack, y = _cancer(smoke)
    solver, points = SpicyMKL(tol=1e-4), 8 if smoke else 50
    for loss in ("log_loss", "hinge"):
        posed = _at_share(stack, y, loss, 1.0)
        alphas = alpha_grid(posed, points)
        whole = median_seconds(partial(solve_path, posed, solver, alphas), 3)
        solutions = solve_path(posed, solver, alphas)
        inside = [solution.history[-1].seconds for solution in solutions]
        # Cold solves of every fifth point and of the path's own slowest.
        places = sorted({*range(points - 1, -1, -5), int(np.argmax(inside))})
        shares = alphas / alphas[0]
        cold = {k: _cold(stack, y, loss, shares[k], solver.tol) for k in places}
        hardest = max(cold, key=lambda k: cold[k])
        table.add(
            loss=loss,
            points=points,
            seconds=whole,
            hardest_cold=cold[hardest],
            share=shares[hardest],
            ratio_cold=whole / cold[hardest],
            hardest_in_path=max(inside),
            ratio_in_path=whole / max(inside),
            worst_gap=max(solution.duality_gap for solution in solutions),
            limit=5.0,
        )
    return table.rows


PARTS: dict[str, Callable[[bool], Rows]] = {
    "accuracy": accuracy,
    "speed": speed,
    "cancer": cancer,
    "path": path,
}


def _dense_problem(name: str, most: int | None) -> tuple[DenseStack, Array]:
    """Return a stack and labels: a UCI set, or ringnorm with 6000 kernels."""
    if name == "ringnorm":
        split = ida_split(name, 200, 0)
        return _stack(subset_dictionary(6000, split.X), split.X), split.y
    split = uci_split(name, 0, most)
    return _stack(uci_dictionary(split.X), split.X), split.y


def _cancer(smoke: bool) -> tuple[DenseStack, Array]:
    """Return breast cancer's 455 training rows of an 80/20 split, 837 kernels."""
    split = uci_split("breast_cancer", 0)
    X, y = (split.X[:80, :3], split.y[:80]) if smoke else (split.X, split.y)
    return _stack(uci_dictionary(X), X), y


def _stack(dictionary: Any, X: Array) -> DenseStack:
    stack = dense(dictionary, X).stack
    assert isinstance(stack, DenseStack)
    return stack


def _at_share(stack: DenseStack, y: Array, loss: str, share: float) -> Problem:
    """Return the problem at a share of alpha_max."""
    posed = Problem(stack, y, LOSSES[loss], BlockL1(1.0))
    return Problem(stack, y, LOSSES[loss], BlockL1(share * alpha_max(posed)))


def _cold(stack: DenseStack, y: Array, loss: str, share: float, tol: float) -> float:
    return solve(_at_share(stack, y, loss, share), tol, repeats=3).seconds


def _timed(
    stack: DenseStack, posed: Problem, tol: float, repeats: int
) -> tuple[Run, float]:
    """Return a run, and the median time of passes right before and after it."""
    clock = PassClock(stack)
    clock()
    done = solve(posed, tol, repeats)
    clock()
    return done, clock.median()


def _effort(done: Run, stack: DenseStack) -> dict[str, Any]:
    """Return what a run took."""
    return {
        "M": stack.shape[0],
        "passes": done.passes,
        "newton": done.newton_steps,
        "n_active": done.solution.active.size,
        "seconds": done.seconds,
    }
