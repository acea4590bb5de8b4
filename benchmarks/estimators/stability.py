"""Stability selection on 100 halves, over the time of one fit.

Breast cancer and the dictionary of the SpicyMKL paper, 837 kernels, at a fixed alpha.
The halves are solved by two jobs with one BLAS thread each; the one fit has two BLAS
threads. Seconds are wall time; those of the processor are given as well.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

from output import HERE, commit, write
from search import child_of, problem

JOBS = 2


def measure(what: str, quick: bool, storage: str, alpha: float) -> dict[str, float]:
    """Run the halves or one fit in this process."""
    from multikernel.estimators import SpicyMKLClassifier
    from multikernel.inspection import stability_selection

    warnings.simplefilter("ignore")
    dictionary, X, y = problem(quick)
    model = SpicyMKLClassifier(dictionary, alpha, storage=storage)
    # Compiled functions are loaded before the clock starts.
    stability_selection(model, X[:60], y[:60], 2, random_state=0)
    row: dict[str, Any] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    if what == "halves":
        n_resamples = 4 if quick else 100
        found = stability_selection(
            model, X, y, n_resamples, n_jobs=JOBS, random_state=0
        )
        row = {
            "n_selected": found.n_selected,
            "n_stable": float(found.stable_kernels.size),
            "expected_false": found.expected_false,
        }
    else:
        model.fit(X, y)
    row["seconds"] = time.perf_counter() - wall
    row["cpu_seconds"] = time.process_time() - cpu
    return row


def main() -> None:
    """Measure, and write results/stability.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few kernels")
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--storage", default="auto")
    parser.add_argument("--child", choices=["halves", "fit"])
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    how = options.quick, options.storage, options.alpha
    if options.child:
        print(json.dumps(measure(options.child, *how)))
        return
    line = ["--storage", options.storage, "--alpha", str(options.alpha)]
    line += ["--quick"] * options.quick
    one = child_of(__file__, "fit", JOBS, line)
    many = child_of(__file__, "halves", 1, line)
    found = {
        "alpha": options.alpha,
        "storage": options.storage,
        "fit_seconds": one["seconds"],
        "halves_seconds": many["seconds"],
        "ratio": many["seconds"] / one["seconds"],
        "cpu_ratio": many["cpu_seconds"] / one["cpu_seconds"],
        "n_selected": many["n_selected"],
        "n_stable": many["n_stable"],
        "expected_false": many["expected_false"],
    }
    for name, value in found.items():
        print(f"{name}: {value}")
    write(options.output, "stability", found | {"commit": commit()})


if __name__ == "__main__":
    main()
