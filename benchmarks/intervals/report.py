"""The page of `benchmarks/intervals`, written from its rows."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.interactions.report import table
from benchmarks.measure import Row, measured, read


def page(path: Path) -> str:
    """Return the page."""
    rows = read(path)
    parts = [
        "# How sure is a prediction? Measured\n",
        "`python benchmarks/intervals/run.py`; one thread of BLAS.\n",
    ]
    for name, section in SECTIONS.items():
        found = [row for row in rows if row["part"] == name]
        parts += section(found) if found else []
    return "\n".join([*parts, measured(path)])


def coverage(rows: Sequence[Row]) -> list[str]:
    lines = [
        [
            row["case"],
            f"{row['coverage']:.3f} ± {row['error']:.3f}",
            f"{row['width']:.2f}",
            f"{row['cost']:.2f}",
        ]
        for row in rows
    ]
    near = sum(abs(row["coverage"] - 0.9) <= 0.02 for row in rows)
    mean = np.mean([row["coverage"] for row in rows])
    return [
        "## Coverage of `predict_interval`\n",
        "`SpicyMKLRegressorCV(intervals=True)` with its defaults, coverage=0.9: mean "
        f"share of new targets inside and its standard error over {rows[0]['splits']} "
        "splits (200 rows to learn from, or two thirds of smaller sets, up to 1000 to "
        "predict), mean width in deviations of the targets, and the time of the last "
        f"fit over one without intervals. {near} of {len(rows)} sets are within two "
        f"points of 0.9; the mean over all sets is {mean:.3f}.\n",
        *table(["set", "coverage", "width", "time over a plain search"], lines),
    ]


def scaled(rows: Sequence[Row]) -> list[str]:
    lines = [
        [
            row["case"],
            f"{row['coverage'][0]:.3f}",
            f"{row['coverage'][1]:.3f} ± {row['error']:.3f}",
            *(f"{width:.2f}" for width in row["width"]),
            *(f"{rank:.2f}" for rank in row["rank"]),
        ]
        for row in rows
    ]
    near = sum(abs(row["coverage"][1] - 0.9) <= 0.02 for row in rows)
    mean = np.mean([row["coverage"][1] for row in rows])
    return [
        "## Intervals scaled by the posterior deviation\n",
        "`scaled_intervals` beside `predict_interval` of the same search, "
        f"coverage=0.9: means over {rows[0]['splits']} splits, widths in deviations of "
        "the targets, and rank correlations of width and absolute error over the new "
        "samples. "
        f"Scaled, {near} of {len(rows)} sets are within two points of 0.9; the mean is "
        f"{mean:.3f}. The noise of the first set grows with the distance from zero.\n",
        *table(
            ["set", "coverage", "scaled", "width", "scaled", "rank", "scaled"], lines
        ),
    ]


def bands(rows: Sequence[Row]) -> list[str]:
    lines = [
        [
            row["case"],
            f"{row['coverage']:.3f} ± {row['error']:.3f}",
            f"{row['share_in_use']:.2f}",
            f"{row['in_use']:.3f}",
            f"{row['width']:.2f}",
        ]
        for row in rows
    ]
    heads = ["weights", "coverage of all", "share in use", "coverage of these", "width"]
    return [
        "## Bands of terms\n",
        "`term_posterior`, bands for 0.9 of terms with mean zero over 100 training "
        f"samples, at 100 others: {rows[0]['splits']} draws of three functions from "
        "Gaussian processes, each of a column, noise with a deviation of 0.5, and five "
        "columns of noise. With known weights the three kernels and the noise are "
        "given; the others have eight kernels and search for their strength. A term "
        "that is not in use has a band of no width.\n",
        *table(heads, lines),
    ]


def mapie(rows: Sequence[Row]) -> list[str]:
    lines = [
        [
            row["case"],
            *(
                f"{share:.3f}, {width:.2f}"
                for share, width in zip(row["coverage"], row["width"], strict=True)
            ),
        ]
        for row in rows
    ]
    heads = ["`predict_interval`", "MAPIE, same model", "MAPIE, random forest"]
    return [
        "## Beside MAPIE\n",
        f"Coverage and mean width over {rows[0]['splits']} splits: ours from the folds "
        "of the search, `CrossConformalRegressor` (CV+, 5 folds) around "
        "`SpicyMKLRegressor` at the strength that the search has chosen, and around a "
        "random forest of 100 trees.\n",
        *table(["set", *heads], lines),
    ]


def calibration(rows: Sequence[Row]) -> list[str]:
    lines = [
        [
            row["case"],
            *(f"{value:.3f}" for value in row["loss"]),
            *(f"{value:.3f}" for value in row["error"]),
            *(f"{value:.2f}" for value in row["slope"]),
        ]
        for row in rows
    ]
    fall, slopes = (np.array([row[key] for row in rows]) for key in ("loss", "slope"))
    better = int(np.count_nonzero(fall[:, 1] < fall[:, 0]))
    timid = int(np.count_nonzero(slopes[:, 0] > 1.0))
    return [
        "## Calibration of `predict_proba`\n",
        f"`SpicyMKLClassifierCV` by default, 200 rows, {rows[0]['splits']} splits "
        "whose predictions are put together; beside it `CalibratedClassifierCV` (a "
        "sigmoid, five folds, `ensemble=False`) around `SpicyMKLClassifier` at the "
        "strength that the search has chosen. The error is the expected calibration "
        "error over ten bins; the slope is of a logistic regression on the log odds: "
        "below 1 probabilities are too bold, above 1 too timid. "
        f"{timid} of {len(rows)} are too timid; a sigmoid lowers the log loss of "
        f"{better}, by {np.mean(fall[:, 0] - fall[:, 1]):.4f} on average over all.\n",
        *table(
            [
                "set",
                *("log loss", "by folds"),
                *("calibration error", "by folds"),
                *("slope", "by folds"),
            ],
            lines,
        ),
    ]


SECTIONS = {
    "coverage": coverage,
    "scaled": scaled,
    "bands": bands,
    "mapie": mapie,
    "calibration": calibration,
}
