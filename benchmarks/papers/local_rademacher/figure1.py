"""Figure 1: what a cut-off is for, as areas under a spectrum.

Run ``python benchmarks/papers/local_rademacher/figure1.py``, with --smoke for few
samples. The grey area is theta r plus the eigenvalues beyond theta, of which theorem 3
takes the least: for theta too small, the best, and too large. The spectrum is that of
the first kernel of figure 2's generated set, under its 2200 samples.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sets import generated

from multikernel.diagnostics import local_rademacher_bound
from multikernel.diagnostics.local_rademacher import cut_off_values

mpl.use("Agg")

HERE = Path(__file__).parent
R, SHOWN, N_SAMPLES = 0.05, 12, 2200


def figure(eigenvalues: np.ndarray) -> Figure:
    """Draw the three panels, each with its area."""
    best = local_rademacher_bound(eigenvalues, R, eigenvalues.size).cut_off
    areas = cut_off_values(eigenvalues, R)
    page = Figure(figsize=(9.5, 2.8), layout="constrained", dpi=120)
    places = np.arange(1, SHOWN + 1)
    thetas = max(best - 2, 0), best, best + 4
    for axes, theta in zip(page.subplots(1, 3, sharey=True), thetas, strict=True):
        heights = np.where(places <= theta, R, eigenvalues[:SHOWN])
        axes.bar(places, heights, 1.0, color="#C8CCCF", edgecolor="white")
        axes.step(places, eigenvalues[:SHOWN], where="mid", color="#0072B2")
        axes.axhline(R, color="#D55E00", linestyle="--", linewidth=1.0)
        axes.set(xlabel="j", title=f"theta = {theta}: area {areas[theta]:.3f}")
        axes.set_ylim(0.0, 1.5 * eigenvalues[1])
        axes.spines[["top", "right"]].set_visible(False)
        axes.annotate("r", (SHOWN, R), xytext=(2, 2), textcoords="offset points")
    page.axes[0].set_ylabel("eigenvalues of the kernel")
    return page


def main() -> None:
    """Draw and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few samples")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    n = 100 if options.smoke else N_SAMPLES
    values = np.linalg.eigvalsh(generated(n).grams[0] / n)[::-1]
    folder = options.output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure(np.maximum(values, 0.0)).savefig(folder / "figure1.png")


if __name__ == "__main__":
    main()
