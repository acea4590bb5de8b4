"""Seconds that kernels on sequences take, beside what they may take.

Run ``python benchmarks/sequences/speed.py`` with MULTIKERNEL_DATA set, --smoke for few
sequences. Both cores are used; the CPU seconds, of all threads together, tell what a
busy machine hides. Results go to results/speed.json and RESULTS.md.
"""

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from multikernel.datasets import load
from multikernel.gram import build_stack
from multikernel.kernels import ListDictionary
from multikernel.kernels.sequence import (
    Alphabet,
    SpectrumKernel,
    WeightedDegreeKernel,
    motif_dictionary,
)
from multikernel.kernels.sequence.letters import pack, read_sequences

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from provenance import commit

HERE = Path(__file__).parent
AMINO_ACIDS = Alphabet("protein", unknown="skip")


def measure(smoke: bool) -> list[dict[str, Any]]:
    """Return seconds for each target."""
    share = 50 if smoke else 1
    dna = load("dna_celegans_acceptor_141").sequences[: 16505 // share]
    proteins = load("multiloc_protein_sequences").sequences
    order = np.random.default_rng(0).permutation(len(proteins))[: 2000 // share]
    proteins = [proteins[i] for i in order]
    site = dna[: 2000 // share]
    spectrum, degree = SpectrumKernel(6), WeightedDegreeKernel(20, 32)
    # What is compiled at first use is compiled before.
    spectrum.features(dna[:5])
    degree(dna[:5])
    rows = [
        timed(
            "weighted degree 20, shift 32: matrix", len(site), 15, lambda: degree(site)
        ),
        timed(
            "weighted degree 20: matrix",
            len(site),
            None,
            lambda: WeightedDegreeKernel(20)(site),
        ),
        timed(
            "spectrum k = 6: sparse features",
            len(dna),
            5,
            lambda: spectrum.features(dna),
        ),
        timed("spectrum k = 6: matrix", len(site), None, lambda: spectrum(site)),
    ]
    X = pack(read_sequences(proteins))
    for compare_by in ("linear", "intersection", "jensen_shannon"):
        dictionary = motif_dictionary(compare_by, alphabet=AMINO_ACIDS)
        first = ListDictionary([dictionary[0]])
        build_stack(first, X[:5], storage="dense")

        def build(kernels: ListDictionary = dictionary) -> object:
            return build_stack(kernels, X, storage="dense32")

        rows.append(timed(f"64 motif kernels, {compare_by}", len(X), 60, build))
    return rows


def timed(
    name: str, n: int, limit: float | None, call: Callable[[], object]
) -> dict[str, Any]:
    """Return wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:42} n {n:6} {wall:7.2f} s, CPU {cpu:7.2f} s, limit {limit}")
    return {"what": name, "n": n, "seconds": wall, "cpu": cpu, "limit": limit}


def page(content: dict[str, Any]) -> str:
    """Return the results as a page."""
    lines = [
        "# Sequence kernels: speed",
        "",
        "This page measures the time of matrices of sequence kernels, on C. elegans",
        "acceptor sites of 141 letters and proteins of MultiLoc (393 residues in the",
        "median, 5430 at most). `python benchmarks/sequences/speed.py` repeats it.",
        "",
        "| what | n | seconds | CPU seconds | limit |",
        "|" + " --- |" * 5,
    ]
    lines += [
        f"| {row['what']} | {row['n']} | {row['seconds']:.2f} | {row['cpu']:.2f} |"
        f" {row['limit'] or ''} |"
        for row in content["rows"]
    ]
    facts = ", ".join(f"{key} {value}" for key, value in content["machine"].items())
    return "\n".join([*lines, "", facts + ".", ""])


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few sequences")
    parser.add_argument("--output", type=Path, help="folder for the results")
    found = parser.parse_args()
    threadpool_limits(2)
    machine = {
        "date": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "load before": round(os.getloadavg()[0], 1),
        "commit": commit(),
    }
    content = {"machine": machine, "rows": measure(found.smoke)}
    folder = found.output or HERE / ("smoke" if found.smoke else "")
    (folder / "results").mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1) + "\n"
    (folder / "results" / "speed.json").write_text(text, encoding="utf-8")
    (folder / "RESULTS.md").write_text(page(content), encoding="utf-8")


if __name__ == "__main__":
    main()
