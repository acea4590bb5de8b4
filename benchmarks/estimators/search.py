"""A search for alpha, over the time of one path and the memory of the stack.

Breast cancer and the dictionary of the SpicyMKL paper, 837 kernels; five folds and 30
strengths. The search runs two jobs with one BLAS thread each; one path over all samples
has two BLAS threads. Each runs in a process of its own, which says how much memory it
held at most beyond what it held before the kernels were computed.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from output import HERE, commit, write

FOLDS = 5
JOBS = 2


def resident() -> int:
    """Return the bytes that this process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Peak:
    """The most memory that was held inside a `with` block, beyond that at its start."""

    def __enter__(self) -> "Peak":
        self.start, self.bytes = resident(), 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._look)
        self.thread.start()
        return self

    def _look(self) -> None:
        while not self.ended.wait(0.01):
            self.bytes = max(self.bytes, resident() - self.start)

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def problem(quick: bool) -> tuple[Any, Any, Any]:
    """Return the dictionary, X and y."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    from multikernel.kernels import spicy_dictionary

    X, y = load_breast_cancer(return_X_y=True)
    if quick:
        X, y = X[:120, :3], y[:120]
    X = StandardScaler().fit_transform(X)
    return spicy_dictionary(X.shape[1]), X, y


def measure(what: str, quick: bool, storage: str) -> dict[str, float]:
    """Run the search or the path in this process."""
    from multikernel.estimators import (
        SpicyMKLClassifier,
        SpicyMKLClassifierCV,
        regularization_path,
    )
    from multikernel.gram import build_stack
    from multikernel.kernels import resolve_columns

    warnings.simplefilter("ignore")
    dictionary, X, y = problem(quick)
    n_alphas = 5 if quick else 30
    # Compiled functions are loaded before the clock starts.
    SpicyMKLClassifierCV(dictionary, n_alphas=2, cv=2).fit(X[:40], y[:40])
    row = {"stack_bytes": 8.0 * len(dictionary) * len(X) ** 2}
    begin = time.perf_counter()
    with Peak() as peak:
        if what == "search":
            search = SpicyMKLClassifierCV(
                dictionary, n_alphas=n_alphas, cv=FOLDS, n_jobs=JOBS, storage=storage
            )
            search.fit(X, y)
        elif what == "path":
            model = SpicyMKLClassifier(dictionary, storage=storage)
            regularization_path(model, X, y, n_alphas=n_alphas)
        else:
            named = resolve_columns(dictionary, X.shape[1], None)
            build_stack(named, X, normalize="variance", storage=storage)
    row["seconds"] = time.perf_counter() - begin
    row["peak_bytes"] = float(peak.bytes)
    return row


def child_of(script: str, what: str, threads: int, line: list[str]) -> dict[str, float]:
    """Return what a process with so many BLAS threads measures."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, script, "--child", what, *line],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | dict.fromkeys(names, str(threads)),
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, and write results/search.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few kernels")
    parser.add_argument("--storage", default="dense", help="of all three runs")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--child", choices=["search", "path", "build"])
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.child, options.quick, options.storage)))
        return
    line = ["--storage", options.storage, *["--quick"] * options.quick]
    plan = {"search": 1, "path": 2, "build": 2}
    rows = [
        {
            what: child_of(__file__, what, threads, line)
            for what, threads in plan.items()
        }
        for _ in range(1 if options.quick else options.repeat)
    ]
    middle = {
        what: {
            key: float(np.median([r[what][key] for r in rows])) for key in rows[0][what]
        }
        for what in plan
    }
    search, path, build = (middle[what] for what in plan)
    found = {
        "search_seconds": search["seconds"],
        "path_seconds": path["seconds"],
        "build_seconds": build["seconds"],
        "ratio": search["seconds"] / path["seconds"],
        "ratio_without_building": search["seconds"]
        / (path["seconds"] - build["seconds"]),
        "stacks": search["peak_bytes"] / search["stack_bytes"],
    }
    for name, value in found.items():
        print(f"{name}: {value:.3f}")
    write(options.output, "search", found | {"commit": commit()})


if __name__ == "__main__":
    main()
