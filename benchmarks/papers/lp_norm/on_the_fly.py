"""20 000 samples, 20 kernels on the fly: time and memory of a certified fit.

Ringnorm, Gaussian kernels of 20 widths on all inputs, p = 2, C = 1, relative duality
gap 1e-3. All Gram matrices would take 64 GB, and their weighted sum alone 3.2 GB;
nothing of that size is held. Run ``python benchmarks/papers/lp_norm/on_the_fly.py``,
with --smoke for tiny sizes.
"""

import resource

import numpy as np
from common import Options, options, seconds

from multikernel.datasets import make_ringnorm
from multikernel.gram import lazy_stack
from multikernel.kernels import GaussianKernel, ListDictionary
from multikernel.losses import HingeLoss
from multikernel.problem import Problem, Progress
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import InterleavedNewton

N_KERNELS = 20
TOL = 1e-3


def run(task: Options) -> None:
    """Measure, print and save."""
    n_samples = 200 if task.smoke else 20_000
    X, y = make_ringnorm(n_samples, random_state=0)
    widths = np.geomspace(0.5, 30.0, N_KERNELS)
    kernels = ListDictionary([GaussianKernel(sigma=width) for width in widths])
    stack = lazy_stack(kernels, X, dense_bytes=0 if task.smoke else 2**28)
    one_pass = seconds(lambda: stack.quadratic_forms(y))
    print(f"one pass: {one_pass:.2f} s", flush=True)
    problem = Problem(stack, y, HingeLoss(), SquaredBlockNorm(1.0, p=2.0))
    solution = InterleavedNewton(tol=TOL).solve(problem, callback=show)
    # Linux counts kilobytes here.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000.0
    line = solution.history[-1]
    print(f"{solution.status.name}, peak memory {peak:.0f} MB")
    row = {
        "n": n_samples,
        "M": N_KERNELS,
        "seconds": line.seconds,
        "pass": one_pass,
        "passes": line.passes,
        "smo_steps": line.inner_steps,
        "support_vectors": int(np.count_nonzero(solution.dual)),
        "gap": solution.duality_gap,
        "peak_mb": peak,
    }
    task.save("on_the_fly", [row])


def show(progress: Progress) -> bool:
    """Print a line of the history."""
    print(
        f"{progress.seconds:8.1f} s  gap {progress.duality_gap:.2e}"
        f"  {progress.passes:5.1f} passes  {progress.inner_steps:8} SMO steps",
        flush=True,
    )
    return False


if __name__ == "__main__":
    run(options(__doc__))
