"""Regenerate every figure, table and target of the SpicyMKL benchmarks.

``make bench-spicymkl`` measures what is not in results/ yet, in two hours of one core
from nothing. ``python benchmarks/papers/spicymkl/run.py`` measures all parts, or those
of ``--only``, again, but for rivals and rival_sizes, which go on where they were. The
data sets are looked for in the folder that MULTIKERNEL_DATA names. RESULTS.md is always
written anew from whatever is in results/. Needs 8 GB of memory and a machine with
nothing else to do.
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
