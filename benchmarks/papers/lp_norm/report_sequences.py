"""The sections of RESULTS.md about sequences, for report.py."""

from textwrap import fill
from typing import Any

import curve_speed
import figure2
from common import conditions

FIGURE2 = """The paper's transcription starts (60 000 training samples of 2000 letters)
are not available. In their place: acceptor splice sites of C. elegans (16 505 windows
of 141 letters, 3301 true; 10 000 for training at most) and promoters of E. coli (3839
windows of 81 letters, 839 true). Five kernels as in the paper, each with unit diagonal
and not scaled further: weighted degree (20) with shifts to 32 on the whole window,
spectra of four letters on both sides of the signal, twist angles and stacking energies
averaged over five places. Disjoint training sets; C of 0.01, 0.1, ..., 100 by AUC on
hold-out samples, above 2000 samples the choice of 2000; relative duality gap 1e-3. Mean
and standard error; where there is none, one training set was measured."""


def figure2_section(content: dict[str, Any]) -> str:
    """Return the tables of figure 2 beside the paper's findings."""
    rows = content["rows"]
    seconds = sum(row.get("seconds", 0.0) for row in rows)
    paragraphs = [verdict(rows, name) for name in figure2.measured(rows)]
    fits = [row for row in rows if "auc" in row]
    trees = dict.fromkeys(row["commit"] for row in fits)
    paragraphs.append(
        f"The chosen fits took {seconds:.0f} s in all, on a machine that others used. "
        f"Measured at: {', '.join(trees)}. Training sets of a size are as many as its "
        "samples allow: "
        + ", ".join(draws(rows, name) for name in figure2.measured(rows))
        + "."
    )
    return "\n".join(
        [
            "## Figure 2: AUC against training size, from raw DNA",
            "",
            fill(FIGURE2, 88),
            "",
            "![AUC and kernel weights](figures/figure2.png)",
            "",
            *figure2.table(rows),
            "### Beside the paper",
            "",
            *(fill(text, 88) + "\n" for text in paragraphs),
            conditions(content),
        ]
    )


def draws(rows: Any, name: str) -> str:
    """Return how many training sets there are of the least and the most samples."""
    mine = [row for row in rows if row["task"] == name and "auc" in row]
    counts = {
        n: len({row["repeat"] for row in mine if row["n"] == n})
        for n in sorted({row["n"] for row in mine})
    }
    return f"{name} " + ", ".join(f"{c} of {n}" for n, c in counts.items())


def curve_section(content: dict[str, Any]) -> str:
    """Return what a curve of figure 2 takes in all."""
    rows = content["rows"]
    total = sum(row["seconds"] for row in rows) / 60.0
    parts = ", ".join(f"{row['part']} {row['seconds']:.0f} s" for row in rows)
    text = (
        f"One training set of every size of acceptors, five norms, C chosen anew up to "
        f"2000 samples, from raw sequences to AUC: {total:.1f} minutes in all (limit "
        f"{curve_speed.LIMIT_MINUTES:g}): {parts}. Measured at {rows[0]['commit']}."
    )
    heading = "### How long a curve takes"
    return "\n".join([heading, "", fill(text, 88), "", conditions(content)])


def verdict(rows: Any, name: str) -> str:
    """Return what the paper found, and what is found here."""
    found = figure2.curves(rows, name)
    means = {p: {n: mean for n, mean, _ in points} for p, points in found.items()}
    sizes = sorted(set(means["1"]).intersection(*means.values()))
    best = {n: max(means, key=lambda p: means[p][n]) for n in sizes}
    below = sum(means["1"][n] < means["inf"][n] for n in sizes)
    smooth = sum(
        min(means[p][n] for p in ("4/3", "2", "4")) > means["inf"][n] for n in sizes
    )
    listed = ", ".join(f"p = {p} (n = {n})" for n, p in best.items())
    total = len(sizes)
    return (
        f"*{name.capitalize()}.* The paper finds p = 1 below the unweighted sum (p = "
        f"inf) at every size; here at {below} of {total}. It finds non-sparse norms (p "
        f"= 4/3, 2, 4) above p = inf up to 20 000 samples; here all three are at "
        f"{smooth} of {total}. It finds p = 2 best; here the best are {listed}."
    )
