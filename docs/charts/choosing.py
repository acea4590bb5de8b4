"""What the pages of the benchmarks say about six questions, as one picture."""

import json
import re
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

# Sphinx runs this from its folder, and tells no name.
HERE = Path(globals().get("__file__", "choosing.py")).resolve()
BENCHMARKS = HERE.parents[2] / "benchmarks"


def table(page, heading, first):
    """Return the rows of the first table after a heading with a first column."""
    text = (BENCHMARKS / page).read_text(encoding="utf-8").split(heading, 1)[1]
    text = text[text.index(f"| {first} |") :].split("\n\n", 1)[0]
    kept = (line for line in text.splitlines() if line.startswith("|"))
    lines = [line.split("|")[1:-1] for line in kept]
    columns, _, *rows = [[cell.strip(" *") for cell in line] for line in lines]
    return [dict(zip(columns, row, strict=True)) for row in rows]


def number(cell):
    """Return the first number of a cell."""
    return float(re.findall(r"\d+\.?\d*", cell)[0])


METHODS = json.loads((BENCHMARKS / "choosing" / "colors.json").read_text("utf-8"))
"""One colour for a method, in all panels and on the chart of decisions."""

figure, axes = plt.subplots(3, 2, figsize=(9.5, 10.5), layout="constrained")
(mixed, inputs), (spectra, tables), (matrices, targets) = axes

rows = table("papers/group_omp/RESULTS.md", "## Figure 1", "noise kernels")
noise = [number(row["noise kernels"]) for row in rows]
for name, label in {
    "MKL-GOMP": "Group-OMP",
    "p = 1": "lp-norm, p = 1",
    "p = 2": "lp-norm, p = 2",
    "p = inf": "unweighted sum",
}.items():
    errors = [number(row[name]) for row in rows]
    mixed.plot(noise, errors, "o-", label=label, color=METHODS[label])
mixed.set(
    title="One linear kernel a feature, 50 samples",
    xlabel="noise kernels, %",
    ylabel="test error, %",
)
mixed.legend(fontsize="small")

rows = table("papers/hkl/RESULTS.md", "## Table 1", "set")
rows = [row for row in rows if row["kernel"] == "pol4" and row["MKL"]]
places = np.arange(len(rows))
# Its MKL is the norm p = 1 with a kernel a column.
for shift, name, label in ((-0.2, "MKL", "lp-norm, p = 1"), (0.2, "HKL", "HKL")):
    errors = [number(row[name]) / number(row["MKL"]) for row in rows]
    inputs.bar(places + shift, errors, 0.4, label=label, color=METHODS[label])
names = [row["set"].replace("pumadyn-32", "pumadyn ") for row in rows]
inputs.set_xticks(places, names, rotation=30, ha="right")
inputs.set(
    title="Interactions of inputs", ylabel="squared error, relative", ylim=(0.0, 1.25)
)
inputs.legend(fontsize="small", ncols=2, loc="upper center")

rows = table("papers/local_rademacher/RESULTS.md", "### generated", "n")
sizes = [number(row["n"]) for row in rows]
for name, label in {
    "conv": "local Rademacher",
    "unif": "unweighted sum",
    "l2": "lp-norm, p = 2",
    "l1": "lp-norm, p = 1",
}.items():
    areas = [number(row[name]) for row in rows]
    spectra.plot(sizes, areas, "o-", label=label, color=METHODS[label])
spectra.set(
    title="Informative kernels with short spectra",
    xlabel="training samples",
    ylabel="AUC, %",
    xscale="log",
)
spectra.legend(fontsize="small")

rows = table("defaults/RESULTS.md", "## Dictionaries", "dictionary")
rows = {row["dictionary"]: row for row in rows}
methods = {
    "SpicyMKL": "SpicyMKL",
    "Group-OMP": "Group-OMP",
    "LpMKL 4/3": "lp-norm, p = 4/3",
    "sum": "unweighted sum",
}
places = np.arange(len(methods))
colors = [METHODS[label] for label in methods.values()]
# Points, as a bar would have to start at zero.
for marker, name, label in (
    ("D", "linear", "a linear kernel"),
    ("o", "all: 1/2 1 2, columns: 1", "the default dictionary"),
):
    accuracy = [100.0 * number(rows[name][method]) for method in methods]
    filled = colors if marker == "o" else "none"
    tables.scatter(
        places,
        accuracy,
        70,
        filled,
        marker=marker,
        edgecolors=colors,
        linewidths=1.8,
    )
    tables.scatter(
        [],
        [],
        70,
        "k" if marker == "o" else "none",
        marker=marker,
        label=label,
        edgecolors="k",
    )
tables.set_xticks(places, [label.replace(", ", ",\n") for label in methods.values()])
tables.set(title="Nine small tables", ylabel="mean test accuracy, %")
tables.margins(x=0.2, y=0.25)
tables.legend(fontsize="small", ncols=2, loc="upper center")


def beside(panel, rows, labels, names, **others):
    """Draw the scores of some methods on sets that stand beside one another."""
    places = np.arange(len(names))
    for shift, (method, label) in enumerate(labels.items()):
        scores = [number(rows[method][name]) for name in names]
        at = places + 0.16 * (shift - (len(labels) - 1) / 2.0)
        style = {"s": 55, "edgecolors": METHODS[label], "linewidths": 1.8}
        panel.scatter(at, scores, color=METHODS[label], label=label, **style)
        if method in others:
            scores = [number(rows[others[method]][name]) for name in names]
            panel.scatter(at + 0.07, scores, color="none", marker="D", **style)
    panel.set_xticks(places, names.values())
    panel.margins(x=0.12, y=0.2)


rows = table("defaults/RESULTS.md", "## Precomputed matrices", "method")
rows = {row["method"]: row for row in rows}
labels = {
    "best single kernel": "best single kernel",
    "sum": "unweighted sum",
    "LpMKL 4/3": "lp-norm, p = 4/3",
    "Group-OMP": "Group-OMP",
    "SpicyMKL": "SpicyMKL",
}
names = {
    "dti_e_drugs_kernels": "drugs",
    "dti_ic_proteins_kernels": "ion channels",
    "proteinfold_kernels_rank27": "protein folds",
}
beside(matrices, rows, labels, names)
matrices.set(title="Precomputed matrices, 9 to 12 kernels", ylabel="mean AUC")
matrices.legend(fontsize="small", loc="lower center")

rows = table("defaults/RESULTS.md", "## Many targets", "method")
rows = {row["method"]: row for row in rows}
labels = {name: labels[name] for name in ("sum", "LpMKL 4/3", "SpicyMKL")}
names = {
    "digits: lower half": "digits, 22",
    "omics: proteins": "proteins, 142",
    "mfeat: Zernike moments": "moments, 47",
}
separate = {name: f"{name}, separate" for name in ("LpMKL 4/3", "SpicyMKL")}
beside(targets, rows, labels, names, **separate)
targets.scatter(
    [], [], 55, "none", marker="D", edgecolors="k", label="kernels by target"
)
targets.set(title="Many targets", ylabel="mean R²")
targets.legend(fontsize="small", loc="upper left")
