"""Table 1 on proteins: where in the cell they go, from their sequences alone.

The paper's kernel matrices (plant) are not to be had; MultiLoc's proteins are the
nearest sequences. 64 motif kernels of Ong and Zien and spectra of one to three
residues, one class against the rest, the paper's grid of C, MCC on the other half. Run
``python benchmarks/papers/lp_norm/table1_proteins.py`` with MULTIKERNEL_DATA set; a
run that was stopped goes on where it was. --smoke is a tiny one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from common import Array, Options, options
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from table1 import CS, NORMS, TOL, mean_mcc, table
from threadpoolctl import threadpool_limits

from multikernel import LpMKLClassifierCV, stack_grams
from multikernel.datasets import load
from multikernel.gram import build_stack
from multikernel.kernels import ListDictionary
from multikernel.kernels.sequence import Alphabet, SpectrumKernel, motif_dictionary
from multikernel.kernels.sequence.letters import pack, read_sequences

NAME = "MultiLoc proteins"
N_PROTEINS, N_SPLITS = 1000, 4
AMINO_ACIDS = Alphabet("protein", unknown="skip")


def run(task: Options) -> None:
    """Measure, save and print; what is saved already is not measured again."""
    threadpool_limits(1)  # several threads slow small matrices down
    saved = task.load("table1_proteins")
    rows: list[dict[str, Any]] = [] if saved is None else list(saved["rows"])
    norms = {"1": 1.0, "2": 2.0, "inf": np.inf} if task.smoke else NORMS
    done = {(row["split"], row["p"]) for row in rows}
    grams, y = proteins(120 if task.smoke else N_PROTEINS, task.smoke)
    X = stack_grams(grams)
    splitter = StratifiedShuffleSplit(N_SPLITS, test_size=0.5, random_state=0)
    for split, halves in enumerate(splitter.split(y, y)):
        for p in norms:
            if (split, p) not in done:
                Cs = CS[3:5] if task.smoke else CS
                rows += one_norm(X, y, halves, {"split": split, "p": p}, norms, Cs)
                task.save("table1_proteins", rows)
                print(rows[-1], flush=True)
    print("\n".join(table(rows)))


def proteins(n: int, smoke: bool) -> tuple[Array, Array]:
    """Return the kernels of some proteins, and where these go."""
    data = load("multiloc_protein_sequences")
    y = np.asarray(data.y)
    rows, _ = train_test_split(
        np.arange(y.size), train_size=n, stratify=y, random_state=0
    )
    if smoke:  # the largest classes
        rows = rows[np.isin(y[rows], [3, 9])]
    texts = [data.sequences[row] for row in rows]
    motifs = motif_dictionary(alphabet=AMINO_ACIDS)
    spectra = [SpectrumKernel(k, AMINO_ACIDS) for k in (1, 2, 3)]
    kernels = ListDictionary([*motifs.kernels, *spectra])
    built = build_stack(kernels, pack(read_sequences(texts)), storage="dense")
    return np.asarray(built.stack.array), y[rows]  # type: ignore[attr-defined]


def one_norm(
    X: Array,
    y: Array,
    halves: tuple[Array, Array],
    place: Mapping[str, Any],
    norms: Mapping[str, float],
    Cs: tuple[float, ...],
) -> list[dict[str, Any]]:
    """Return the MCC of every C for one norm and split."""
    search = LpMKLClassifierCV(
        "precomputed",
        ps=[norms[place["p"]]],
        Cs=Cs,
        cv=[halves],
        scoring=mean_mcc,
        refit=False,
        tol=TOL,
    ).fit(X, y)
    found = search.cv_results_
    return [
        {"set": NAME, **place, "C": C, "mcc": float(mcc)}
        for C, mcc in zip(found["param_C"], found["split0_test_score"], strict=True)
    ]


if __name__ == "__main__":
    run(options(__doc__))
