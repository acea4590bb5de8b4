"""Measurements that need a fresh process: peak memory, imports, first fits.

Called by the targets: ``child.py COMMAND JSON`` prints its findings as JSON. Heavy
imports stay inside the commands, because the import itself is one of the measurements.
"""

import json
import resource
import sys
import time
from pathlib import Path


def peak_bytes():
    """Return the largest resident memory of this process so far."""
    # Not getrusage where it can be avoided: on Linux its maximum includes that of the
    # process that started this one, and a benchmark holds gigabytes.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def million(n_kernels, n_samples, C, tol):
    """Solve from a lazy stack; compute every matrix once for comparison."""
    from measure import seconds
    from problems import ida_split, problem, subset_dictionary

    from multikernel.gram import build_stack
    from multikernel.solvers import SpicyMKL

    split = ida_split("ringnorm", n_samples, 0)
    dictionary = subset_dictionary(n_kernels, split.X)
    start = time.perf_counter()
    built = build_stack(dictionary, split.X, normalize="trace", storage="lazy")
    build = time.perf_counter() - start
    loaded = peak_bytes()
    start = time.perf_counter()
    solution = SpicyMKL(tol=tol).solve(problem(built.stack, split.y, "log_loss", C))
    solve = time.perf_counter() - start
    lines = solution.history
    peak = peak_bytes()
    once = seconds(lambda: compute_all(dictionary, split.X))
    return {
        "M": n_kernels,
        "n": n_samples,
        "C": C,
        "seconds": solve,
        "build_seconds": build,
        "once_seconds": once,
        "pass_seconds": seconds(lambda: built.stack.quadratic_forms(split.y)),
        "exp_seconds": exp_seconds(n_kernels, n_samples),
        "built_peak_bytes": loaded,
        "peak_bytes": peak,
        "gap": solution.duality_gap,
        "status": solution.status.name,
        "n_active": int(solution.active.size),
        "passes": lines[-1].passes,
        "newton": lines[-1].inner_steps,
        "outer": [[line.seconds, line.duality_gap, line.passes] for line in lines],
    }


def compute_all(dictionary, X):
    """Compute every Gram matrix once, all entries, for products with a vector."""
    import numpy as np

    from multikernel.gram import lazy_stack

    lazy_stack(dictionary, X).matvec(np.zeros(len(X)))


def exp_seconds(n_kernels, n_samples):
    """Return the time of numpy's exp over as many entries, in one thread, in cache."""
    import numpy as np

    block = -np.random.default_rng(0).uniform(0.0, 5.0, 2**16)
    out = np.empty_like(block)
    repeats = 200
    start = time.perf_counter()
    for _ in range(repeats):
        np.exp(block, out=out)
    each = (time.perf_counter() - start) / (repeats * block.size)
    return each * n_kernels * n_samples**2


def dense_fit(data, n_kernels, C, loss):
    """Fit a classifier on a dense stack; return how memory grows."""
    from problems import ida_split, subset_dictionary, uci_dictionary, uci_split

    from multikernel import SpicyMKLClassifier

    split = ida_split(data, 200, 0) if n_kernels else uci_split(data, 0)
    make = subset_dictionary if n_kernels else uci_dictionary
    dictionary = make(n_kernels, split.X) if n_kernels else make(split.X)
    model = SpicyMKLClassifier(
        dictionary,
        alpha=C / len(split.y) ** 0.5,
        loss=loss,
        storage="dense",
        max_bytes=2**50,
    )
    baseline = peak_bytes()
    model.fit(split.X, split.y)
    return {
        "n": len(split.y),
        "M": len(dictionary),
        "C": C,
        "loss": loss,
        "stack_bytes": 8 * len(dictionary) * len(split.y) ** 2,
        "grown_bytes": peak_bytes() - baseline,
        "gap": model.duality_gap_,
    }


def import_time(module):
    """Import one module."""
    start = time.perf_counter()
    __import__(module)
    return {"seconds": time.perf_counter() - start}


def first_fit(loss):
    """Fit and predict twice in one process: what is compiled is paid once."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    from multikernel import SpicyMKLClassifier

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:150, :5]
    times = []
    for _ in range(2):
        start = time.perf_counter()
        SpicyMKLClassifier(loss=loss).fit(X, y[:150]).predict(X)
        times.append(time.perf_counter() - start)
    return {"first": times[0], "second": times[1]}


COMMANDS = {
    command.__name__: command
    for command in (million, dense_fit, import_time, first_fit)
}


if __name__ == "__main__":
    arguments = json.loads(sys.argv[2])
    print(json.dumps(COMMANDS[sys.argv[1]](**arguments), default=float))
