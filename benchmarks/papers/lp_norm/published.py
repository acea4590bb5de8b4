"""The paper's two optimizers as it prints them, beside the library's variants.

Both run the library's machine for short, as its variants do, and end by the same
certificate; what differs is how they move the kernel weights. Digits as in figure 1, at
some of its sizes; processor seconds of one thread, so that a busy machine does not
matter. Run ``python benchmarks/papers/lp_norm/published.py``, with --smoke for tiny
sizes; a row that is there is not measured again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from common import TOL, Array, Options, digits, lp_problem, options, provenance
from scipy.optimize import brentq, minimize
from threadpoolctl import threadpool_limits

from multikernel.certificates import Expansion
from multikernel.linalg import TINY
from multikernel.problem import Solution, Status
from multikernel.regularizers.squared_block_norm import p_norm
from multikernel.solvers import CuttingPlane, InterleavedNewton
from multikernel.solvers.lp.weight_solver import (
    OraclePoint,
    Step,
    WeightOracle,
    WeightSolver,
)
from multikernel.solvers.machine_runs import FIRST_GAP

SIZES = (
    (100, 50),
    (500, 50),
    (1000, 50),
    (2000, 50),
    (500, 10),
    (500, 200),
    (500, 1000),
)
"""Samples and kernels."""
DRAWS = 5
NORMS = {"4/3": 4 / 3, "2": 2.0, "4": 4.0}

SHARE = 0.1
"""Machines leave this share of the gap, and of the tolerance at least."""

HALVINGS = 30
ARMIJO = 1e-4

ROUNDS = 10
"""Taylor expansions of one master problem at most."""

SETTLED = 1e-4
"""Relative change of the weights from one expansion to the next that ends them."""

FLOOR = 1e-6
"""Weights are expanded around this share of the largest one at least: at zero the
second derivative of the norm is infinite for p below 2, and none above."""


Move = Callable[[Array, OraclePoint], Array]
"""From weights and what is known there to the next ones, of any norm."""


@dataclass(frozen=True)
class _Published(WeightSolver):
    """A move of the weights after every short run of the machine."""

    rule: ClassVar[Callable[[float], Move]]

    def _make_step(
        self, oracle: WeightOracle, init: Solution | None, expansion: Expansion | None
    ) -> Step:
        p = oracle.problem.regularizer.p  # type: ignore[attr-defined]
        move = self.rule(p)
        weights = np.ones(oracle.problem.gram.shape[0])

        def step() -> None:
            nonlocal weights
            weights = weights / p_norm(weights, p)
            gap = max(self.tol, min(oracle.incumbent.gap, FIRST_GAP))
            weights = move(weights, oracle.evaluate(weights, SHARE * gap))

        return step


def newton_move(p: float) -> Move:
    """Return the Newton step in the logarithms of the weights, functions held fixed.

    Equations 10 and 11, but that the chain rule multiplies by the weights where they
    divide. With a = ||w_m||^2 / (2 theta_m), which at the machine's solution is theta_m
    alpha' Q_m alpha / 2, and b = delta theta_m^p, the step is (a - b) / (a + p b).
    """

    def moved(weights: Array, point: OraclePoint) -> Array:
        halves = -point.gradient
        a = weights * halves
        b = p_norm(halves, p / (p - 1.0)) * weights**p
        step = (a - b) / np.maximum(a + p * b, TINY)
        slope, size = float((b - a) @ step), 1.0
        for _ in range(HALVINGS):
            change = a @ np.expm1(-size * step) + b @ np.expm1(p * size * step) / p
            if change <= ARMIJO * size * slope:
                break
            size *= 0.5
        return np.asarray(weights * np.exp(size * step))

    return moved


class DiagonalNewton(_Published):
    """The paper's first strategy (2.4.1)."""

    rule = staticmethod(newton_move)


class TaylorPlanes(_Published):
    """The paper's second strategy (2.4.2): its cutting planes."""

    rule = staticmethod(lambda p: Planes(p).moved)


class Planes:
    """The planes height - slope' theta of all dual points so far.

    The weights solve the linear program of all of them, with a quadratic in place of
    the norm: the second-order expansion of ||theta||_p^p around the last weights, and
    again around the new ones until these settle.
    """

    def __init__(self, p: float) -> None:
        self.p = p
        self.heights: list[float] = []
        self.slopes: list[Array] = []
        self.multipliers = np.zeros(0)

    def moved(self, weights: Array, point: OraclePoint) -> Array:
        """Add the plane of a point; return where the highest one is lowest."""
        self.heights.append(point.conjugate)
        self.slopes.append(-point.gradient)
        known = 0.5 if self.multipliers.size else 0.0
        self.multipliers = np.append(known * self.multipliers, 1.0 - known)
        for _ in range(ROUNDS):
            before, weights = weights, self.lowest(weights)
            weights = weights / p_norm(weights, self.p)
            if np.abs(weights - before).max() <= SETTLED * weights.max():
                break
        return weights

    def lowest(self, weights: Array) -> Array:
        """Return where it is lowest by the expansion around some weights.

        By the dual: the multipliers of the planes, of sum one, maximize a concave
        function whose derivatives are the planes' values at the weights that answer.
        """
        heights, slopes = np.array(self.heights), np.stack(self.slopes)
        unit = float(np.abs(slopes).max())
        expansion = _expansion(weights, self.p)

        def negative(multipliers: Array) -> tuple[float, Array]:
            theta = _answer(multipliers @ slopes / unit, *expansion)
            values = (heights - slopes @ theta) / unit
            return -float(multipliers @ values), -values

        found = minimize(
            negative,
            self.multipliers,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(heights),
            constraints={
                "type": "eq",
                "fun": lambda m: m.sum() - 1.0,
                "jac": lambda m: np.ones_like(m),
            },
            options={"ftol": 1e-10},
        )
        self.multipliers = np.maximum(found.x, 0.0)
        self.multipliers /= self.multipliers.sum()
        return _answer(self.multipliers @ slopes / unit, *expansion)


def _expansion(weights: Array, p: float) -> tuple[Array, Array, float]:
    """Return q, c and r of the expansion c' theta + q' theta^2 <= r, of p-norm one."""
    at = np.maximum(weights, FLOOR * weights.max())
    at = at / p_norm(at, p)
    quadratic = 0.5 * p * (p - 1.0) * at ** (p - 2.0)
    return quadratic, -p * (p - 2.0) * at ** (p - 1.0), -0.5 * p * (p - 3.0)


def _answer(slope: Array, quadratic: Array, linear: Array, bound: float) -> Array:
    """Return the theta >= 0 of the largest slope' theta within the quadratic."""

    def theta(t: float) -> Array:
        return np.asarray(np.maximum(t * slope - linear, 0.0) / (2.0 * quadratic))

    def excess(t: float) -> float:
        at = theta(t)
        return float(linear @ at + quadratic @ at**2) - bound

    largest = 1.0
    while excess(largest) < 0.0:
        largest *= 4.0
    return theta(float(brentq(excess, 0.0, largest, xtol=1e-14, rtol=1e-14)))


METHODS: dict[str, type[WeightSolver]] = {
    "the paper's Newton": DiagonalNewton,
    "the paper's cutting planes": TaylorPlanes,
    "our Newton": InterleavedNewton,
    "our cutting planes": CuttingPlane,
}


def run(task: Options) -> None:
    """Measure what is not there yet, a draw of all sizes after the other."""
    threadpool_limits(1)
    rows = task.lines("published")
    known = {(row["n"], row["M"], row["seed"]) for row in rows}
    sizes = ((40, 6),) if task.smoke else SIZES
    for seed in range(1 if task.smoke else DRAWS):
        for n, M in sizes:
            if (n, M, seed) not in known:
                found = one_size(n, M, seed)
                row = {"n": n, "M": M, "seed": seed, "smoke": task.smoke}
                task.append("published", row | {"found": found} | provenance("lp_norm"))
                print(row, found, flush=True)


def one_size(n: int, M: int, seed: int) -> list[dict[str, Any]]:
    """Return what every method takes for every norm."""
    data, found = digits(n, M, seed), []
    for norm, p in NORMS.items():
        problem = lp_problem(data, p)
        for name, kind in METHODS.items():
            kind(tol=TOL, max_iter=1).solve(problem)  # loads compiled code
            start = time.process_time()
            solution = kind(tol=TOL).solve(problem)
            row: dict[str, Any] = {"method": name, "p": norm}
            row["cpu"] = round(time.process_time() - start, 4)
            row["passes"] = round(solution.history[-1].passes, 1)
            row["gap"] = float(f"{solution.duality_gap:.2e}")
            row["reached"] = solution.status is Status.CONVERGED
            found.append(row)
    return found


if __name__ == "__main__":
    run(options(__doc__))
