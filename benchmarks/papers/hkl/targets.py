"""What HKL must reach: one path, one certified path, and the sums over descendants.

Run ``python benchmarks/papers/hkl/targets.py path``, ``certified`` or ``sums``; with
another set by ``--set pumadyn-32nh``. Seconds are those of the processor.
"""

import argparse
import resource
import time

import numpy as np
from numpy.typing import NDArray
from table1 import half

from multikernel.kernels.graph import PolynomialGrid
from multikernel.losses import SquaredLoss
from multikernel.solvers.hkl import HullProblem, HullSearch

Array = NDArray[np.float64]

ROWS = 4096
PATH = np.geomspace(1e2, 1e-5, 30)
CERTIFIED = np.array([1e-2, 1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6])


def main() -> None:
    """Measure one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["path", "certified", "sums"])
    parser.add_argument("--set", default="pumadyn-32nm")
    parser.add_argument("--quick", action="store_true", help="few rows, five columns")
    options = parser.parse_args()
    task, target = half(options.set, "pol4", 0, ROWS, options.quick)
    start = time.process_time()
    if options.what == "sums":
        return sums(task.X)
    certify = options.what == "certified"
    base = 8.0 if certify else 4.0
    graph = PolynomialGrid(4, weight_base=base, extrapolation="continue").bind(task.X)
    samples, new = graph.sample(task.X), graph.sample(task.new)
    problem = HullProblem(samples, task.y, SquaredLoss(), 1.0, float(len(task.y)))
    alphas = (CERTIFIED if certify else PATH).tolist()
    for alpha, found in zip(
        alphas, HullSearch(certify=certify).path(problem, alphas), strict=True
    ):
        f = np.full(new.n_samples, found.intercept)
        parts = zip(found.nodes, found.coefs, found.means, found.bases, strict=True)
        for node, coefs, means, basis in parts:
            f += (new.features(node, basis) - means) @ coefs
        print(
            f"{alpha:.1e}  error {np.mean((f - target) ** 2):6.2f}  total gap "
            f"{found.duality_gap:.1e}  reduced gap {found.reduced_gap:.1e}  hull "
            f"{len(found.nodes):3d}  looked at {found.n_searched:3d}  "
            f"{time.process_time() - start:5.1f} s  {found.status.name}",
            flush=True,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")
    return None


def sums(X: Array) -> None:
    """Time the sums over descendants of all sources at once."""
    graph = PolynomialGrid(4, extrapolation="continue").bind(X)
    samples, a = graph.sample(X), np.random.default_rng(0).standard_normal(len(X))
    inside = {()}
    for _ in range(2):
        below = {child for node in inside for child in graph.children(node)}
        sources = [v for v in below - inside if inside.issuperset(graph.parents(v))]
        samples.descendant_forms(sources, a)
        start = time.process_time()
        samples.descendant_forms(sources, a)
        seconds = time.process_time() - start
        each = 1e3 * seconds / len(sources)
        print(f"{len(sources)} sources: {seconds:.2f} s, {each:.2f} ms each")
        inside |= set(sources)


if __name__ == "__main__":
    main()
