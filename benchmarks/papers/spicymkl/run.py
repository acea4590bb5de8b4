"""Regenerate every figure, table and target of the SpicyMKL benchmarks.

``python benchmarks/papers/spicymkl/run.py`` or ``make bench-spicymkl``; the data sets
are looked for in the folder that MULTIKERNEL_DATA names. ``--only`` reruns some parts;
RESULTS.md is always written anew from whatever is in results/. Needs 8 GB of memory
and a machine with nothing else to do.
"""

import time
from dataclasses import replace

import figure1
import figure2
import figure3
import figure4
import report
import rival_sizes
import rivals
import targets
from output import options

PARTS = {
    module.__name__: module.run
    for module in (figure1, figure2, figure3, figure4, rivals, rival_sizes, targets)
}


def main() -> None:
    """Run what was asked for."""
    task = options(__doc__, (*PARTS, "report"))
    for name in task.only:
        if name in PARTS:
            print(f"\n== {name}")
            start = time.perf_counter()
            PARTS[name](replace(task, only=()))
            print(f"== {name}: {time.perf_counter() - start:.0f} s")
    report.run(task)


if __name__ == "__main__":
    main()
