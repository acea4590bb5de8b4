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
        "# Uncertainty of predictions, measured\n",
        "This page measures intervals, bands and probabilities on new samples, with "
        "one BLAS thread. `python benchmarks/intervals/run.py` repeats it.\n",
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
        "The model is `SpicyMKLRegressorCV(intervals=True)` with its defaults and "
        "`coverage=0.9`. *coverage* is the mean share of new targets inside their "
        f"intervals over {rows[0]['splits']} splits, with its standard error; *width* "
        "is in standard deviations of the targets; *time* is that of the last fit "
        "divided by that of a fit without intervals. Models learn from 200 rows (two "
        "thirds of smaller sets) and predict up to 1000. "
        f"{near} of {len(rows)} sets are within two points of 0.9; the mean over all "
        f"sets is {mean:.3f}.\n",
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
        "This table compares `scaled_intervals` with `predict_interval` of the same "
        f"search, at `coverage=0.9`. Figures are means over {rows[0]['splits']} "
        "splits. *width* is in standard deviations of the targets, *rank* the rank "
        "correlation of width and absolute error over the new samples. With scaled "
        "intervals, "
        f"{near} of {len(rows)} sets are within two points of 0.9; the mean is "
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
        "`term_posterior` computes 90 % bands of terms with mean zero from 100 "
        "training samples; they are compared with the true terms at 100 other samples. "
        f"Each of {rows[0]['splits']} draws has three functions from Gaussian "
        "processes, each of one column, five further columns, and noise with a "
        "standard deviation of 0.5. With known weights the model has the three "
        "kernels and the noise level; the others have eight kernels and search for "
        "their strength. The band of an inactive term has no width.\n",
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
        "## Compared with MAPIE\n",
        f"Each cell has the coverage and the mean width over {rows[0]['splits']} "
        "splits. MAPIE's `CrossConformalRegressor` (CV+, 5 folds) wraps a "
        "`SpicyMKLRegressor` at the strength that our search chose, or a random "
        "forest of 100 trees.\n",
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
        "`SpicyMKLClassifierCV` with its defaults learns from 200 rows; figures are "
        f"over the predictions of {rows[0]['splits']} splits together. *by folds* is "
        "`CalibratedClassifierCV` (a sigmoid, five folds, `ensemble=False`) around "
        "`SpicyMKLClassifier` at the strength that the search chose. The calibration "
        "error is the expected one over ten bins. The slope is that of a logistic "
        "regression on the log odds: below 1 probabilities are too close to 0 and 1, "
        f"above 1 too close to 0.5. {timid} of {len(rows)} slopes are above 1. The "
        f"sigmoid lowers the log loss of {better} sets, by "
        f"{np.mean(fall[:, 0] - fall[:, 1]):.4f} on average over all sets.\n",
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
