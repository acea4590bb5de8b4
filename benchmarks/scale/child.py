"""Measurements of which each has a process of its own, which says how much it held.

Called as ``child.py COMMAND JSON``; prints what was found as JSON, last line.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from problems import Split, dictionary_of, generated, split_of

LOSSES = {"logistic": "log_loss", "hinge": "hinge", "squared": "squared_error"}


def peak_bytes(process: str = "self") -> int:
    """Return the most memory that a process has held so far."""
    # Not getrusage: its maximum includes that of the process that started this one.
    for line in Path(f"/proc/{process}/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0


def held_bytes() -> int:
    """Return what this process holds now, from where its peak is counted anew."""
    # Elsewhere than on Linux this fails, and so does `peak_bytes`.
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    return peak_bytes()


def warm_up() -> None:
    """Load what is compiled before any clock starts, and any memory is counted."""
    from multikernel import SpicyMKLClassifier
    from multikernel.gram import LowRank
    from multikernel.kernels import GaussianKernel, ListDictionary, PolynomialKernel

    X, y = generated(60)
    kernels = ListDictionary([GaussianKernel(1.0), PolynomialKernel(3)])
    for loss in LOSSES.values():
        for storage in ("dense", LowRank(first=5)):
            model = SpicyMKLClassifier(kernels, loss=loss, storage=storage, tol=1e-3)
            model.fit(X, y)


def fitted(task: dict[str, Any]) -> tuple[Any, Split, dict[str, Any]]:
    """Fit a model from the columns; return it and what that took."""
    from multikernel import SpicyMKLClassifier

    split = split_of(task["data"], task.get("n"))
    kernels = dictionary_of(task["data"], split.X.shape[1], task["widths"])
    model = SpicyMKLClassifier(
        kernels,
        alpha=task["alpha"],
        loss=LOSSES[task["loss"]],
        normalize="trace",
        tol=task["tol"],
        storage=task["storage"],
    )
    warm_up()
    before = held_bytes()
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(split.X, split.y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    last = model.history_[-1]
    row = {
        "rows": len(split.y),
        "M": len(kernels),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "solve_seconds": float(last["seconds"]),
        "peak_bytes": peak_bytes(),
        "grown_bytes": peak_bytes() - before,
        "gap": float(model.duality_gap_),
        "n_active": int(model.active_kernels_.size),
        "passes": float(last["passes"]),
        "newton": int(last["inner_steps"]),
        "chosen": model.fit_info_["storage"],
        "accuracy": model.score(split.X_test, split.y_test),
    }
    return model, split, row


def fit(**task: Any) -> dict[str, Any]:
    """Fit a model."""
    return fitted(task)[2]


def path(**task: Any) -> dict[str, Any]:
    """Follow a path of strengths from the columns."""
    from multikernel import SpicyMKLClassifier
    from multikernel.estimators import regularization_path

    split = split_of(task["data"], task.get("n"))
    kernels = dictionary_of(task["data"], split.X.shape[1], task["widths"])
    model = SpicyMKLClassifier(
        kernels,
        loss=LOSSES[task["loss"]],
        normalize="trace",
        tol=task["tol"],
        storage=task["storage"],
    )
    warm_up()
    before = held_bytes()
    start, cpu = time.perf_counter(), time.process_time()
    found = regularization_path(model, split.X, split.y, n_alphas=task["points"])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {
        "rows": len(split.y),
        "M": len(kernels),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "grown_bytes": peak_bytes() - before,
        "gap": float(np.max(found.path.duality_gaps)),
    }


def model_file(n_predicted: int, **task: Any) -> dict[str, Any]:
    """Fit, save, load, and predict many rows."""
    from multikernel import persistence

    model, split, row = fitted(task)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.skops"
        persistence.save(model, place)
        row["file_bytes"] = place.stat().st_size
        loaded = persistence.load(place)
    row["same"] = bool(
        np.array_equal(loaded.predict(split.X_test), model.predict(split.X_test))
    )
    X, _ = generated(n_predicted, 2)
    start = time.perf_counter()
    loaded.predict(X)
    row["predict_seconds"] = time.perf_counter() - start
    return row


def csv(n: int, tol: float) -> dict[str, Any]:
    """Fit rows of a CSV file from the command line, with the default kernels."""
    X, y = generated(n)
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "rows.csv", Path(folder) / "model.skops"
        names = ",".join([*(f"x{i}" for i in range(20)), "label"])
        rows = np.column_stack([X, y])
        np.savetxt(table, rows, delimiter=",", header=names, comments="", fmt="%.9g")
        line = ["-c", "from multikernel.cli import main; main()", "fit", str(table)]
        line += ["--target", "label", "--tol", str(tol)]
        line += ["--output", str(model), "--json"]
        return _watched([sys.executable, *line])


def _watched(line: list[str]) -> dict[str, Any]:
    """Run a command on a terminal; return what it took, and when it first spoke."""
    ours, theirs = os.openpty()
    start, spoken, peak = time.perf_counter(), [], 0
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=theirs) as run:
        os.close(theirs)
        reader = threading.Thread(target=_listen, args=(ours, spoken))
        reader.start()
        while run.poll() is None:
            peak = max(peak, peak_bytes(str(run.pid)))
            time.sleep(0.02)
        reader.join()
        os.close(ours)
        assert run.stdout is not None
        found = run.stdout.read()
    if run.returncode:
        raise RuntimeError(f"{line} ended with {run.returncode}.")
    report, used = json.loads(found), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "seconds": time.perf_counter() - start,
        "first_word_seconds": spoken[0] - start,
        "longest_silence_seconds": float(np.max(np.diff(spoken))),
        "peak_bytes": peak,
        "rows": report["n_samples"],
        "gap": float(np.max(report["duality_gap"])),
        "fit_seconds": report["seconds"],
        "accuracy": report["training_score"],
    }


def _listen(terminal: int, spoken: list[float]) -> None:
    """Note when something is written to a terminal, until its other end is closed."""
    try:
        while os.read(terminal, 2**16):
            spoken.append(time.perf_counter())
    except OSError:  # what Linux says at the end
        return


COMMANDS = {each.__name__: each for each in (fit, path, model_file, csv)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(COMMANDS[sys.argv[1]](**json.loads(sys.argv[2])), default=float))
