"""Kernels and tables larger than memory: memory maps and partitions, against memory.

``maps`` fits logistic SpicyMKL on kernels in a file, and on the same in memory: seconds
with a warm page cache, and the peak of anonymous memory, which is what a process holds
beside the pages of files. ``stream`` fits a Parquet file in partitions. Files that
exist are used again, so an interrupted run is resumed; ``--remove`` removes them.
"""

import argparse
import datetime
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from output import commit

from multikernel import SpicyMKLClassifier, stack_grams
from multikernel.datasets import make_ringnorm
from multikernel.gram import LowRank
from multikernel.kernels import (
    GaussianKernel,
    ParameterGrid,
    random_subset_gaussians,
)

HERE = Path(__file__).parent
ALPHA = 0.02


def anonymous() -> int:
    """Return the bytes of anonymous memory of this process (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(s.split()[1]) for s in lines if s.startswith("RssAnon"))


def measured(work: Callable[[], Any]) -> dict[str, Any]:
    """Return seconds, processor seconds and peak anonymous memory of a function."""
    peaks, done = [anonymous()], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peaks[0] = max(peaks[0], anonymous())

    thread = threading.Thread(target=watch)
    thread.start()
    wall, own = time.perf_counter(), time.process_time()
    try:
        found = work()
    finally:
        done.set()
        thread.join()
    return {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - own,
        "peak_anonymous_gigabytes": peaks[0] / 1e9,
        **found,
    }


def fitted(model: SpicyMKLClassifier) -> dict[str, Any]:
    """Return what a fit tells of itself."""
    return {
        "gap": float(model.duality_gap_),
        "objective": float(model.objective_),
        "iterations": int(model.n_iter_),
        "passes": float(model.history_["passes"][-1]),
        "n_active": int(model.active_kernels_.size),
    }


def problem(n_samples: int) -> tuple[Any, Any]:
    """Return standardized columns and labels."""
    X, y = make_ringnorm(n_samples, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def write_kernels(folder: Path, n_samples: int, n_kernels: int) -> None:
    """Write Gaussians on random subsets of the columns, unless that has been done."""
    X, _ = problem(n_samples)
    kernels = random_subset_gaussians(n_kernels, X.shape[1], random_state=0)
    path, begun = folder / "stack.npy", folder / "begun.npy"
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    shape = n_kernels, n_samples, n_samples
    array = np.lib.format.open_memmap(begun, "w+", np.float64, shape)
    for m, room in enumerate(array):
        room[...] = kernels[m](X)
    array.flush()
    begun.rename(path)


def fit_kernels(folder: Path, where: str, n_samples: int) -> dict[str, Any]:
    """Fit on a file, or on what it holds once that is in memory."""
    _, y = problem(n_samples)
    small = np.stack([np.eye(20), np.ones((20, 20))])
    model = SpicyMKLClassifier("precomputed", alpha=ALPHA, tol=1e-3)
    model.fit(stack_grams(small), y[:20])  # what is compiled is loaded
    path = folder / "stack.npy"
    with path.open("rb") as file:  # the page cache is warm
        while file.read(2**24):
            pass
    array = np.load(path, mmap_mode=None if where == "memory" else "r")
    return measured(lambda: fitted(model.fit(stack_grams(array), y)))


def maps(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Compare kernels in a file with kernels in memory, a process each."""
    n_samples, n_kernels = (200, 40) if options.quick else (2000, options.kernels)
    folder = options.folder / f"kernels-{n_samples}-{n_kernels}"
    start = time.perf_counter()
    write_kernels(folder, n_samples, n_kernels)
    written = time.perf_counter() - start
    rows = []
    for number in range(1 if options.quick else options.repeats):
        for where in ("memory", "map"):
            row = in_process("fit_kernels", str(folder), where, str(n_samples))
            rows.append(
                {
                    "kernels_in": where,
                    "run": number,
                    "file_gigabytes": 8e-9 * n_kernels * n_samples**2,
                    "write_or_open_seconds": written,
                    **row,
                }
            )
            print(rows[-1], flush=True)
    if options.remove:
        shutil.rmtree(folder)
    return rows


def write_rows(path: Path, n_rows: int) -> None:
    """Write the generated problem's rows to a Parquet file, unless that has been done.

    Labels alternate; 20 normal columns, positive rows times two, negative ones plus
    2 / sqrt(20), then standardized by what is known of these.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draw, begun, step = np.random.default_rng(0), path.with_suffix(".begun"), 10**5
    names = [f"x{k}" for k in range(20)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int8())])
    with ParquetWriter(begun, schema, compression="none") as writer:
        for start in range(0, n_rows, step):
            y = np.arange(start, min(start + step, n_rows)) % 2
            X = draw.standard_normal((y.size, 20))
            X[y == 1] *= 2.0
            X[y == 0] += 2.0 / np.sqrt(20.0)
            X = (X - 1.0 / np.sqrt(20.0)) / np.sqrt(2.55)
            columns = [*X.T.copy(), y.astype(np.int8)]
            writer.write_table(pa.table(columns, schema=schema))
    begun.rename(path)


def fit_rows(path: Path, loss: str) -> dict[str, Any]:
    """Fit a Parquet file in partitions, one Gaussian of width one on each column."""
    import dask.dataframe as dd

    frame = dd.read_parquet(path, split_row_groups=True)
    kernels = ParameterGrid([GaussianKernel(1.0)], range(20))
    thin = LowRank(tol=1e-4, folder=path.parent, dtype="float32")
    model = SpicyMKLClassifier(
        kernels, alpha=0.005, tol=1e-2, loss=loss, storage=thin, verbose=1
    )

    def work() -> dict[str, Any]:
        found = fitted(model.fit(frame.drop(columns="y"), frame["y"]))
        own = model._state.model.grams.landmarks
        return {**found, "rank": sum(len(each) for each in own)}

    return measured(work)


def stream(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Fit a file of many rows."""
    n_rows = 3000 if options.quick else options.rows
    path = options.folder / f"rows-{n_rows}.parquet"
    write_rows(path, n_rows)
    row = in_process("fit_rows", str(path), options.loss)
    file = {"rows": n_rows, "file_gigabytes": path.stat().st_size / 1e9}
    print(row := {**file, "loss": options.loss, **row}, flush=True)
    if options.remove:
        path.unlink()
    return [row]


def in_process(task: str, *arguments: str) -> dict[str, Any]:
    """Return what a function of this file finds in a process of its own."""
    line = [sys.executable, __file__, "--task", task, *arguments]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "fit_kernels": lambda folder, where, n: fit_kernels(Path(folder), where, int(n)),
    "fit_rows": lambda path, loss: fit_rows(Path(path), loss),
}


def main() -> None:
    if sys.argv[1:2] == ["--task"]:
        print(json.dumps(TASKS[sys.argv[2]](*sys.argv[3:])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["maps", "stream"])
    parser.add_argument("--quick", action="store_true", help="small, seconds")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/multikernel-scale"))
    parser.add_argument("--rows", type=int, default=10**7, help="of the stream")
    parser.add_argument("--loss", default="log_loss", help="of the stream")
    parser.add_argument("--repeats", type=int, default=3, help="of the maps")
    parser.add_argument("--kernels", type=int, default=250, help="of the maps")
    parser.add_argument("--remove", action="store_true", help="remove large files")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    rows = {"maps": maps, "stream": stream}[options.what](options)
    folder = options.output / "results"
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "rows": rows,
    }
    path = folder / f"memmap_{options.what}.json"
    path.write_text(json.dumps(content, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
