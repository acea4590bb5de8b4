"""Is the hull found as samples grow? An experiment in place of propositions 4 and 5.

Run ``python benchmarks/papers/hkl/recovery.py``; it goes on where it was stopped. The
printed conditions of the propositions are lost, but their sense is kept: the hull is
found if features outside it are hardly correlated with those inside, and not if they
are. Six Gaussian inputs, monomials up to degree three in each (4096 nodes), the target
x1 x2 + x3^2 + x4 with noise of a quarter of its variance. Inputs are independent, or
the fifth follows x4 and the sixth x1, with a correlation of 0.95. A draw counts where
some strength of the path gives the very hull.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from records import Records, arguments

from multikernel.kernels.graph import PolynomialGrid
from multikernel.losses import SquaredLoss
from multikernel.solvers.hkl import HullProblem, HullSearch

Array = NDArray[np.float64]

SIZES = (32, 64, 128, 256, 512, 1024)
N_INPUTS, DEGREE = 6, 3
CORRELATION = 0.95
MONOMIALS = ({0: 1, 1: 1}, {2: 2}, {3: 1})
"""Powers by input of the target's monomials; the hull is what divides one of them."""
LAMBDAS = 10.0 ** np.arange(1.0, -3.1, -0.2)


def draw(n: int, correlated: bool, repeat: int) -> tuple[Array, Array]:
    """Return standardized inputs and targets of variance one."""
    random = np.random.default_rng([repeat, n])
    X = random.standard_normal((n, N_INPUTS))
    if correlated:
        for follower, followed in ((4, 3), (5, 0)):
            X[:, follower] *= np.sqrt(1.0 - CORRELATION**2)
            X[:, follower] += CORRELATION * X[:, followed]
    terms = [
        np.prod([X[:, i] ** power for i, power in powers.items()], axis=0)
        for powers in MONOMIALS
    ]
    f = np.sum([term / term.std() for term in terms], axis=0)
    y = f + 0.5 * f.std() * random.standard_normal(n)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def hull() -> set[tuple[tuple[int, int], ...]]:
    """Return the nodes that divide a monomial: their inputs, each with its power."""
    return {
        tuple((i, power) for i, power in zip(powers, lower, strict=True) if power)
        for powers in MONOMIALS
        for lower in np.ndindex(*(power + 1 for power in powers.values()))
    }


def recovered(n: int, correlated: bool, repeat: int) -> dict[str, Any]:
    """Return whether the hull is on the path, and how near its nearest point is."""
    X, y = draw(n, correlated, repeat)
    samples = PolynomialGrid(DEGREE).bind(X).sample(X)
    problem = HullProblem(samples, y, SquaredLoss(), 1.0, float(n))
    truth, wrong = hull(), []
    for solution in HullSearch().path(problem, list(LAMBDAS)):
        wrong.append(len(truth ^ set(solution.nodes)))
        if wrong[-1] == 0 or len(solution.nodes) > 4 * len(truth):
            break
    return {"found": min(wrong) == 0, "wrong_nodes": min(wrong)}


def main() -> None:
    """Measure what is missing, and print."""
    options = arguments(__doc__, "recovery")
    records = Records(options.results)
    for repeat in range(options.repeats or (1 if options.quick else 40)):
        for n in SIZES[:1] if options.quick else SIZES:
            for correlated in (False, True):
                key = {"n": n, "correlated": correlated, "repeat": repeat}
                records.once(key, partial(recovered, n, correlated, repeat))
    print("\n".join(table(records)))


def table(records: Records) -> list[str]:
    """Return the shares of draws in which the hull was found."""
    lines = ["| samples | independent inputs | two that follow |", "|---|---|---|"]
    for n in sorted({row["n"] for row in records.rows}):
        rows = [row for row in records.rows if row["n"] == n]
        cells = []
        for correlated in (False, True):
            found = [row["found"] for row in rows if row["correlated"] is correlated]
            cells.append(f"{np.mean(found):.2f} of {len(found)}")
        lines.append(f"| {n} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
