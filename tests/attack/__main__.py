"""The whole attack: ``make attack`` prints the table of docs/project/reliability."""

import argparse
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attack import hostile_files
from attack.benign import make_benign_case
from attack.beside import make_beside_case
from attack.cases import make_case, make_loss_case, make_offset_case
from attack.ordinal import make_ordinal_case
from attack.pool import Outcome, run_trials

FATAL = (
    "crashes",
    "hangs",
    "leaks",
    "below",
    "unwarned",
    "unsolved",
    "inconsistent",
    "exceptions",
    "sentences",
    "warnings",
)
"""Categories that must be empty, as columns of the table."""

TITLES = {
    "leaks": "threads lost",
    "below": "gaps too small",
    "unsolved": "ordinary fits not solved",
    "inconsistent": "models astray",
    "exceptions": "undocumented errors",
    "sentences": "errors without words",
    "warnings": "stray warnings",
}

BLOCK = 250
"""Interrupts that one process survives before the next one starts."""


def interrupt_block(trial):
    """Interrupt fits many times in this process; the findings of `interrupts.run`."""
    from attack import interrupts

    n_interrupts, seed = trial
    found = []
    for row in interrupts.run(n_interrupts, seed):
        lost = row.blas_stuck + row.threads_left
        found += [("leaks", f"{row.name}: threads were not given back")] * lost
        others = row.lost + row.other_errors
        found += [("exceptions", f"{row.name}: no KeyboardInterrupt")] * others
        text = f"{row.name}: another model than before"
        found += [("inconsistent", text)] * row.changed
    return found


def interrupts(n, seed):
    """Interrupt n fits, in two processes."""
    sizes = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    trials = [(size, seed + k) for k, size in enumerate(sizes)]
    outcome = run_trials("attack.__main__:interrupt_block", trials, limit=3600.0)
    outcome.trials = n
    return outcome


def files(n, seed):
    """Hostile files and command lines, in two processes."""
    start = time.perf_counter()
    outcome = Outcome(trials=n)
    halves = [n // 2, n - n // 2]
    with ThreadPoolExecutor(2) as pool:
        tables = pool.map(hostile_files.run, halves, [seed, seed + 1])
    for (kind, ending), count in sum(tables, Counter()).items():
        if ending in hostile_files.FINE:
            continue
        category = "exceptions"
        if ending == "hang" or ending == "too slow":
            category = "hangs"
        elif ending.startswith(("crash", "took")):
            category = "crashes"
        outcome.counts[category] += count
        outcome.findings.append((category, kind, ending))
    outcome.seconds = time.perf_counter() - start
    return outcome


def problems(n, seed):
    """Random problems with hostile scales."""
    return run_trials("attack.problems:run_one", range(seed, seed + n))


def offsets(n, seed):
    """Regressions on targets far from zero."""
    return run_trials("attack.problems:run_offsets", range(seed, seed + n))


def losses(n, seed):
    """Random problems of quantiles, outliers, counts and amounts."""
    return run_trials("attack.problems:run_losses", range(seed, seed + n))


def beside(n, seed):
    """Random problems with offsets, weights of penalties, columns and times."""
    return run_trials("attack.problems:run_beside", range(seed, seed + n))


def inputs(n, seed):
    """Mutated inputs."""
    return run_trials("attack.inputs:run_one", range(seed, seed + n))


def types(n, seed):
    """Columns of all types."""
    return run_trials("attack.column_types:run_one", range(seed, seed + n))


def names(n, seed):
    """Names of columns of all types, in another order."""
    return run_trials("attack.doubtful:run_names", range(seed, seed + n))


def cells(n, seed):
    """Columns of numbers with one odd cell."""
    return run_trials("attack.doubtful:run_cells", range(seed, seed + n))


def commands(n, seed):
    """Commands over mutated files and options."""
    return run_trials("attack.command_lines:run_one", range(seed, seed + n))


def encodings(n, seed):
    """Tables in CSV files of any form."""
    return run_trials("attack.encodings:run_one", range(seed, seed + n))


def shapes(n, seed):
    """Model files whose arrays have other shapes."""
    return run_trials("attack.hostile_shapes:run_one", range(seed, seed + n))


def ufo(n, seed):
    """Random problems of UFO-MKL."""
    return run_trials("attack.ufo:run_one", range(seed, seed + n))


def products(n, seed):
    """Random problems of all products of some matrices."""
    return run_trials("attack.products:run_one", range(seed, seed + n))


def few_values(n, seed):
    """Tables of few values in every storage."""
    return run_trials("attack.few_values:run_one", range(seed, seed + n))


def targets(n, seed):
    """Paths of many targets side by side."""
    return run_trials("attack.targets:run_one", range(seed, seed + n))


def duals(n, seed):
    """Published dual points as they are, with 60 digits."""
    return run_trials("attack.dual_points:run_one", range(seed, seed + n))


def columns(n, seed):
    """Columns without a penalty far from zero, and near one another."""
    return run_trials("attack.cancelling:run_columns", range(seed, seed + n))


def kernels(n, seed):
    """Centered kernels that are small differences of large numbers."""
    return run_trials("attack.cancelling:run_kernels", range(seed, seed + n))


def ordinal(n, seed):
    """Random problems of ordered classes."""
    return run_trials("attack.ordinal:run_one", range(seed, seed + n))


def benign(n, seed):
    """Fits of ordinary data, which must reach their tolerance."""
    return run_trials("attack.benign:run_one", range(seed, seed + n))


def searches(n, seed):
    """Paths against single fits, folds against fits by hand."""
    return run_trials("attack.searches:run_one", range(seed, seed + n))


def ties(n, seed):
    """Permutation tests against all permutations."""
    return run_trials("attack.ties:run_one", range(seed, seed + n))


def disks(n, seed):
    """Disks that are full while something is written."""
    return run_trials("attack.full_disks:run_one", range(seed, seed + n))


def caches(n, seed):
    """Damaged files of compiled code."""
    return run_trials("attack.damaged_caches:run_one", range(seed, seed + n))


def partitions(n, seed):
    """Collections of Dask, mutated, and workers that die."""
    return run_trials("attack.partitions:run_one", range(seed, seed + n))


def hulls(n, seed):
    """HKL on small graphs against weights of all nodes."""
    return run_trials("attack.hulls:run_one", range(seed, seed + n))


def greedy(n, seed):
    """Steps of Group-OMP by their definition."""
    return run_trials("attack.greedy:run_one", range(seed, seed + n))


def one_class(n, seed):
    """One-class learning against another machine."""
    return run_trials("attack.one_class:run_one", range(seed, seed + n))


def tails(n, seed):
    """Local Rademacher complexity against another machine."""
    return run_trials("attack.tail_weights:run_one", range(seed, seed + n))


def partitioned(n, seed):
    """Fits in odd partitions against fits in memory."""
    return run_trials("attack.partitioned:run_one", range(seed, seed + n))


ATTACKS = {
    "problems": (problems, 10_000, "random problems"),
    "losses": (losses, 4000, "problems of other losses"),
    "beside": (beside, 4000, "problems with columns, weights, known parts and times"),
    "offsets": (offsets, 2000, "problems with offsets"),
    "inputs": (inputs, 20_000, "mutated inputs"),
    "types": (types, 2000, "types of columns"),
    "names": (names, 2000, "names of columns"),
    "cells": (cells, 2000, "odd cells"),
    "interrupts": (interrupts, 1000, "interrupted fits"),
    "files": (files, 2000, "hostile files and command lines"),
    "commands": (commands, 2000, "command lines"),
    "encodings": (encodings, 2000, "tables in CSV files"),
    "shapes": (shapes, 2000, "model files with other shapes"),
    "ufo": (ufo, 1000, "problems of UFO-MKL"),
    "products": (products, 2000, "all products of some kernels"),
    "few_values": (few_values, 1000, "tables of few values in every storage"),
    "targets": (targets, 2000, "many targets side by side"),
    "duals": (duals, 2000, "dual points with 60 digits"),
    "columns": (columns, 1000, "free columns far from zero"),
    "kernels": (kernels, 1000, "cancelling kernels"),
    "ordinal": (ordinal, 2000, "problems of ordered classes"),
    "benign": (benign, 2000, "ordinary fits"),
    "searches": (searches, 200, "paths and folds"),
    "ties": (ties, 2000, "permutation tests with ties"),
    "disks": (disks, 200, "full disks"),
    "caches": (caches, 500, "damaged compile caches"),
    "partitions": (partitions, 1000, "collections of Dask"),
    "hulls": (hulls, 1000, "small graphs of HKL"),
    "greedy": (greedy, 1000, "steps of Group-OMP"),
    "one_class": (one_class, 1000, "problems of one class"),
    "tails": (tails, 1000, "problems of local Rademacher complexity"),
    "partitioned": (partitioned, 500, "fits in odd partitions"),
}


def table(outcomes):
    """The table in reStructuredText."""
    head = ["attack", "trials", "seconds", *(TITLES.get(c, c) for c in FATAL)]
    rows = [head]
    for name, outcome in outcomes.items():
        counts = [str(outcome.counts[category]) for category in FATAL]
        title = ATTACKS[name][2]
        rows.append([title, str(outcome.trials), f"{outcome.seconds:.0f}", *counts])
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines.append(f"   * - {row[0]}")
        lines += [f"     - {cell}" for cell in row[1:]]
    return "\n".join(lines) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    for name, (_, number, title) in ATTACKS.items():
        parser.add_argument(f"--{name}", type=int, default=number, help=title)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    outcomes = {}
    for name, (attack, _, title) in ATTACKS.items():
        number = getattr(options, name)
        if number:
            outcome = outcomes[name] = attack(number, options.seed)
            print(f"{title}: {number} in {outcome.seconds:.0f} s", flush=True)
            for category, trial, sentence in sorted(outcome.findings, key=str):
                made = {
                    "problems": make_case,
                    "losses": make_loss_case,
                    "beside": make_beside_case,
                    "offsets": make_offset_case,
                    "ordinal": make_ordinal_case,
                    "benign": make_benign_case,
                }
                shown = made[name](trial) if name in made else trial
                print(f"  {category}: {sentence}  [{shown}]", flush=True)
    text = table(outcomes)
    print(text)
    if options.write:
        system = f"Python {platform.python_version()}, {platform.system()}"
        options.write.write_text(f"{text}\n{system}, {time.strftime('%Y-%m-%d')}.\n")
    return any(outcome.counts[c] for outcome in outcomes.values() for c in FATAL)


if __name__ == "__main__":
    sys.exit(main())
