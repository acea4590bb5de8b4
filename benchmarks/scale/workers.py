"""Dask workers against one process, on rows of 20 columns with a kernel on each.

The problem is that of `solver_steps`: labels alternating, standard normal rows, the
positive times two and the others shifted, then standardized; a Gaussian of width one on
each column, logistic loss, alpha = 0.005, gap 1e-3. One process fits the arrays in
memory; workers, of one thread each on this machine, fit partitions that they read from
a file. Every fit runs in a process of its own. What travels between client and workers
is counted where it leaves and arrives: arguments of tasks, and their results. On a
machine that others use the clock says little; `seconds_in_turns` is made of the
processor time of the client and of the busiest worker.

(The file is not called dask.py: Python would import it in place of the library.)
"""

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from output import commit
from solver_steps import generated

from multikernel.estimators import SpicyMKLClassifier
from multikernel.gram.factors.row_blocks import RowBlocks
from multikernel.kernels import ColumnKernel, GaussianKernel

Array = NDArray[np.float64]
HERE = Path(__file__).parent
ALPHA, TOL = 0.005, 1e-3
PARTITIONS = 4
"""Of each worker: enough for one to wait for the other only a little."""


def estimator() -> SpicyMKLClassifier:
    """Return the model."""
    kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(20)]
    return SpicyMKLClassifier(
        kernels, alpha=ALPHA, tol=TOL, normalize="trace", storage="low_rank"
    )


def rows_of(path: Path, start: int, stop: int) -> Array:
    """Return some rows of the table."""
    return np.array(np.load(path, mmap_mode="r")[start:stop])


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count tasks, round trips, and the bytes of what travels."""
    from dask import is_dask_collection
    from dask.sizeof import sizeof

    counts: Counter[str] = Counter()
    made, computed = RowBlocks.apply, RowBlocks._computed

    def size(value: Any) -> int:
        if is_dask_collection(value):
            return 0
        if isinstance(value, list | tuple):
            return sum(size(item) for item in value)
        return int(sizeof(value))

    def counting_made(self: Any, task: Any, *each: Any, **common: Any) -> Any:
        items = [list(islice(sequence, len(self.parts))) for sequence in each]
        counts["tasks"] += len(self.parts)
        counts["bytes_out"] += len(self.parts) * size(list(common.values()))
        counts["bytes_out"] += size(items)
        return made(self, task, *items, **common)

    def counting_computed(self: Any, parts: Sequence[Any]) -> list[Any]:
        results = computed(self, parts)
        counts["round_trips"] += 1
        counts["bytes_back"] += size(results)
        return results

    RowBlocks.apply = counting_made  # type: ignore[method-assign]
    RowBlocks._computed = counting_computed  # type: ignore[method-assign]
    try:
        yield counts
    finally:
        RowBlocks.apply = made  # type: ignore[method-assign]
        RowBlocks._computed = computed  # type: ignore[method-assign]


def fit(X: Any, y: Array) -> dict[str, Any]:
    """Fit, and return what it took."""
    start, own = time.perf_counter(), time.process_time()
    model = estimator().fit(X, y)
    last = model.history_[-1]
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - own,
        "solver_seconds": float(last["seconds"]),
        "outer_steps": int(model.n_iter_),
        "newton_steps": int(last["inner_steps"]),
        "gap": float(model.duality_gap_),
        "objective": float(model.objective_),
        "n_active": int(model.active_kernels_.size),
        "client_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def on_workers(path: Path, y: Array, n_workers: int) -> dict[str, Any]:
    """Fit on the workers of a cluster on this machine."""
    import dask
    import dask.array as da
    import distributed

    ends = np.linspace(0, y.size, n_workers * PARTITIONS + 1).astype(int).tolist()
    read = dask.delayed(rows_of)
    parts = [
        da.from_delayed(read(path, a, b), (b - a, 20), dtype=np.float64)
        for a, b in pairwise(ends)
    ]
    settings = {"n_workers": n_workers, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**settings, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        counted() as counts,
    ):
        client.wait_for_workers(n_workers)
        client.run(_warm_up)
        before = client.run(time.process_time)
        row = fit(da.concatenate(parts), y)
        after = client.run(time.process_time)
        memory = client.run(_peak)
    own = [after[worker] - before[worker] for worker in before]
    moved = {f"{name}": int(value) for name, value in counts.items()}
    per_step = (counts["bytes_out"] + counts["bytes_back"]) / row["outer_steps"]
    per_newton = (counts["bytes_out"] + counts["bytes_back"]) / row["newton_steps"]
    return (
        row
        | moved
        | {
            "worker_processor_seconds": own,
            # What the clock would show on idle cores, if client and workers took turns.
            "seconds_in_turns": row["processor_seconds"] + max(own),
            "bytes_per_outer_step": per_step,
            "bytes_per_newton_step": per_newton,
            "worker_gigabytes": max(memory.values()),
        }
    )


def _warm_up() -> None:
    """Fit a few rows, so that what is compiled at first use is compiled."""
    X, y = generated(200)
    estimator().fit(X, y)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def measure(path: Path, n_workers: int, threads: int) -> dict[str, Any]:
    """Fit in a process of its own, and return its line."""
    number = str(threads)
    limits = {f"{name}_NUM_THREADS": number for name in ("OMP", "OPENBLAS", "MKL")}
    line = [sys.executable, __file__, "--child", str(path), "--workers", str(n_workers)]
    done = subprocess.run(
        line, capture_output=True, text=True, env=os.environ | limits, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    own = {"workers": n_workers, "client_threads": threads}
    return own | json.loads(done.stdout.splitlines()[-1])


def child(path: Path, n_workers: int) -> None:
    """Fit, and print a line."""
    X = np.load(path, mmap_mode="r")
    y = np.where(np.arange(X.shape[0]) % 2 == 0, 1.0, -1.0)
    _warm_up()
    row = on_workers(path, y, n_workers) if n_workers else fit(np.array(X), y)
    print(json.dumps({"n": y.size} | row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, seconds")
    parser.add_argument("-n", type=int, default=1_000_000, help="rows")
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child, options.workers)
        return
    n_samples = 2000 if options.quick else options.n
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, generated(n_samples)[0])
        # One process on both cores and on one; then one worker, and two.
        plans = [(0, 1), (2, 1)] if options.quick else [(0, 2), (0, 1), (1, 1), (2, 1)]
        for n_workers, threads in plans:
            row = measure(path, n_workers, threads)
            print(*(f"{key}={value}" for key, value in row.items()), flush=True)
            rows.append(row)
    folder_of_results = options.output / "results"
    folder_of_results.mkdir(parents=True, exist_ok=True)
    content = {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "rows": rows,
    }
    written = folder_of_results / "workers.json"
    written.write_text(json.dumps(content, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
