"""Arguments and options of the commands, one dataclass per command."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf, nan
from pathlib import Path
from typing import Any

import typer

# This module imports nothing of the library, so that help appears at once. An option of
# None means that the data or the estimators determine the value.

FILES = "CSV, TSV, Parquet, FASTA or npz file, or - for CSV on standard input"
SEVERAL = f"{FILES}. For several FASTA files, the column class holds the file names."
KERNELS = (
    "default (linear, and Gaussians with widths from the data), columns (Gaussians on "
    "each column), joint (Gaussians on all columns), linear (one linear kernel per "
    "column) or tanimoto (bits or counts, not standardized)."
)
ONE_ERROR = (
    "With --cv, choose the simplest model within one standard error of the best score."
)
JSON = "Write JSON instead of tables to standard output."
STREAM = (
    "Read the file in partitions. Default: only if free memory is less than eight "
    "times the file size."
)


def option(
    help: str,
    *names: str,
    default: object = None,
    parser: Callable[[str], object] | None = None,
    metavar: str | None = None,
    show_default: bool = True,
) -> Any:
    """Return a dataclass field that defines an option of a command."""
    parameter = typer.Option(
        default,
        *names,
        help=help,
        parser=parser,
        metavar=metavar,
        show_default=show_default,
    )
    return field(default=default, metadata={"option": parameter})


def number(
    help: str,
    *names: str,
    kind: type[int] | type[float] = float,
    low: float = -inf,
    high: float = inf,
    default: float | None = None,
    show_default: bool = True,
) -> Any:
    """Return a dataclass field that defines an option for a number (int or float)."""
    expected = "an integer" if kind is int else "a number"
    if high < inf:
        expected += f" from {low:g} to {high:g}"
    elif low > -inf:
        expected += f" of at least {low:g}"

    def parse(text: str | float) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = nan
        if not low <= value <= high:
            raise typer.BadParameter(f"{text!r} is not {expected}.")
        return value

    metavar = "INTEGER" if kind is int else "NUMBER"
    return option(
        help,
        *names,
        default=default,
        parser=parse,
        metavar=metavar,
        show_default=show_default,
    )


integer = partial(number, kind=int)


def file(
    help: str, *names: str, metavar: str = "FILE", default: Path | None = None
) -> Any:
    """Return a dataclass field that defines an option for a file or a folder."""
    return option(help, *names, default=default, parser=path, metavar=metavar)


def argument(help: str) -> Any:
    """Return a dataclass field that defines the required file name of a command."""
    parameter = typer.Argument(..., help=help, parser=path, show_default=False)
    return field(metadata={"option": parameter})


def path(text: str | Path) -> Path:
    """Convert text to a path."""
    # An unset shell variable is empty.
    if not str(text).strip():
        raise typer.BadParameter(f"{text!r} is not a name: name a file or a folder.")
    return Path(text)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Train on the breast cancer data with 837 kernels, and plot the results."""

    output: Path = file(
        "Folder for the plots.",
        "--output",
        "-o",
        metavar="FOLDER",
        default=Path("multikernel-demo"),
    )
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Options on columns that are not features."""

    target: list[str] | None = option(
        "Target column (or npz array); repeat it for several targets.", "--target", "-t"
    )
    event: str | None = option(
        "Event indicator (1 observed, 0 censored); --target is then the event or "
        "censoring time."
    )
    drop: list[str] | None = option(
        "Columns to ignore, comma-separated; may be repeated."
    )
    id: list[str] | None = option(
        "Column of ids, such as a record number. It is not a feature; predict writes "
        "it first. May be repeated."
    )
    offset: str | None = option(
        "Column of known parts of the decision values, such as the logarithm of an "
        "exposure for --loss poisson. It is not a feature."
    )


@dataclass(frozen=True, kw_only=True)
class Training(Columns):
    """Options of the commands that train on a file."""

    # A subclass removes an option by giving its field a plain value.
    data: list[Path] = argument(SEVERAL)
    method: str = option(
        "Method: spicy, group-omp, hkl, lp, rademacher or uniform. Baselines: "
        "alignment, easy or single (the best single kernel). Without a target: "
        "one-class.",
        default="spicy",
    )
    task: str | None = option(
        "classification, regression, survival (with --event) or ordinal. Default: "
        "classification or regression, depending on the targets. For text classes, "
        'ordinal requires their order: --set \'order=["low", "high"]\', or ordered '
        "categories in a Parquet file."
    )
    loss: str | None = option(
        "For classification: log_loss, hinge, squared_hinge or squared_error. For "
        "regression: squared_error, epsilon_insensitive, huber, quantile, poisson or "
        "gamma.",
        metavar="NAME",
    )
    kernels: str = option(
        f"{KERNELS} For hkl, a graph: default or polynomial (powers), hermite "
        "(Gaussians) or subsets (of columns).",
        default="default",
    )
    interactions: bool = option(
        "Add the interactions of all pairs of kernels on different columns, or of "
        "pairs of views: products of centered kernels.",
        "--interactions",
        default=False,
    )
    tol: float | None = number(
        "Stop when the relative duality gap is below this value."
    )
    storage: str | None = option(
        "Storage of kernels: auto, dense, dense32, lazy or low_rank.", metavar="NAME"
    )
    max_rank: int | None = integer(
        "Maximum number of landmarks per kernel, for --storage low_rank.", low=1
    )
    folder: Path | None = file(
        "Folder for large temporary files (factors and tables). The data file is then "
        "read in partitions.",
        metavar="FOLDER",
    )
    settings: list[str] | None = option(
        "Another parameter of the estimator, such as l1_ratio=0.5; may be repeated.",
        "--set",
        metavar="NAME=VALUE",
    )
    scale: bool = option(
        "Standardize the columns first.", "--scale/--no-scale", default=True
    )
    impute: str | None = option(
        "Fill missing values: numbers with the mean or median of the column, "
        "categories with the most frequent one.",
        metavar="NAME",
    )
    unpenalized: list[str] | None = option(
        "Columns without a penalty and without kernels, such as age,sex; may be "
        "repeated."
    )
    date: list[str] | None = option(
        "Columns of dates (ISO 8601, such as 2024-01-31), converted to years; may be "
        "repeated."
    )
    period: list[str] | None = option(
        "Period of all dates, for periodic effects: day, week, month or year; may be "
        "repeated."
    )
    view: list[str] | None = option(
        "Group of columns with its own kernels, such as expression=expr_*. Give column "
        "names or patterns, comma-separated; may be repeated. Text columns are "
        "categories.",
        metavar="NAME=COLUMNS",
    )
    category: list[str] | None = option(
        "Column to treat as categorical, even if it is numeric; may be repeated."
    )
    group: str | None = option(
        "Column of groups. Folds keep each group together; the column is not a feature."
    )
    sequence: list[str] | None = option(
        "Text column to treat as sequences; may be repeated."
    )
    sequence_kernels: str = option(
        "Kernels on sequences: default (words of three letters; for equal lengths "
        "also words by position), spectrum (words of one to six letters, three for "
        "proteins), dna (weighted degree, spectra and properties of DNA; equal "
        "lengths) or protein (64 motif kernels).",
        default="default",
    )
    alphabet: str | None = option("dna, rna or protein. Default: from the letters.")
    skip_letters: bool = option(
        "Skip sequence letters that are not in the alphabet.", default=False
    )
    ignore_case: bool = option("Convert sequence letters to upper case.", default=False)
    json: bool = option(JSON, "--json", default=False)

    @property
    def standardized(self) -> bool:
        """Whether columns are standardized; the bits and counts of tanimoto are not."""
        return self.scale and self.kernels != "tanimoto"


@dataclass(frozen=True, kw_only=True)
class Fit(Training):
    """Train a model on a CSV, TSV, Parquet, FASTA or npz file, and save it."""

    output: Path | None = file("Model file to write.", "--output", "-o")
    alpha: float | None = number(
        "Regularization strength on the mean loss, for spicy, group-omp and hkl."
    )
    C: float | None = number(
        "Weight of the losses, for lp, rademacher, uniform and the baselines.", "-C"
    )
    p: float | None = number(
        "Norm of the kernel weights, 1 to inf, for lp and one-class.", "-p"
    )
    cv: int | None = integer(
        "Number of folds of a cross-validation that chooses the regularization "
        "strength, or the kernel for --method single."
    )
    scoring: str | None = option(
        "Score that --cv maximizes, a scikit-learn name such as roc_auc. Default: "
        "accuracy for classification, R2 (D2 of counts and quantiles) for regression."
    )
    dask: str | None = option(
        "Fit on a Dask cluster: local for workers on this machine, or a scheduler "
        "address such as tcp://host:8786. The data may be a pattern or a folder.",
        metavar="WHERE",
    )
    one_standard_error: bool = option(ONE_ERROR, default=False)
    intervals: bool = option(
        "With --cv, keep the models of the folds for predict --interval.",
        "--intervals",
        default=False,
    )
    stream: bool | None = option(STREAM, "--stream/--no-stream", show_default=False)


@dataclass(frozen=True, kw_only=True)
class Exploring(Training):
    """Options of the commands that fit several models and save none."""

    event: str | None = None
    folder: Path | None = None
    task: str | None = option(
        "classification or regression. Default: depending on the targets."
    )
    kernels: str = option(KERNELS, default="default")


@dataclass(frozen=True, kw_only=True)
class FollowPath(Exploring):
    """Follow the regularization path, starting where the first kernel enters."""

    group: str | None = None
    method: str = option(
        "Method: spicy, the only one with a regularization path.", default="spicy"
    )
    n_alphas: int = integer("Number of regularization strengths.", low=2, default=20)
    alpha_min_ratio: float = number(
        "Smallest strength divided by the largest.", default=1e-2
    )
    plot: Path | None = file("Plot file to write (PNG, PDF or SVG).")


@dataclass(frozen=True, kw_only=True)
class Compare(Exploring):
    """Cross-validate several methods on the same folds of the same data."""

    method: str = ""
    storage: str | None = None
    max_rank: int | None = None
    settings: list[str] | None = None
    methods: list[str] | None = option(
        "Method to compare, as for fit; may be repeated. Default: all methods that "
        "support the targets.",
        "--method",
    )
    folds: int = integer(
        "Number of folds on which all methods are scored.", default=5, low=2
    )
    scoring: str | None = option(
        "Scikit-learn score, such as roc_auc. Default: accuracy for classification, R2 "
        "(D2 of counts and quantiles) for regression.",
        metavar="NAME",
    )
    cv: int | None = integer(
        "Number of inner folds that choose the strength of each method. Without it, "
        "every method uses its default strength."
    )
    one_standard_error: bool = option(ONE_ERROR, default=False)


@dataclass(frozen=True, kw_only=True)
class Saved:
    """Options of the commands on a saved model."""

    model: Path = argument("Model file written by fit.")
    max_bytes: int | None = integer(
        "Maximum memory for loading the model, in bytes. Default: 2.1 GB.",
        low=1,
        show_default=False,
    )
    trusted: list[str] | None = option(
        "Type from another package that the file may contain, such as "
        "my_kernels.Laplacian. Only for files whose source you know. May be repeated.",
        metavar="TYPE",
    )


@dataclass(frozen=True, kw_only=True)
class Inspect(Saved):
    """Show the kernels, weights, parameters and duality gap of a saved model."""

    rows: int | None = integer(
        "Maximum number of kernels to list.", low=1, show_default=False
    )
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class SavedOnData(Columns, Saved):
    """Options of the commands that apply a saved model to data."""

    target: list[str] | None = option(
        "Column of true targets; may be repeated.", "--target", "-t"
    )


@dataclass(frozen=True, kw_only=True)
class Predict(SavedOnData):
    """Predict with a saved model: one output row per row of the file."""

    data: Path = argument(f"{FILES}.")
    output: Path | None = file(
        "CSV, Parquet or npz file. Default: standard output.", "--output", "-o"
    )
    later: list[float] | None = number(
        "Time: add the probability that the event occurs later (survival models); may "
        "be repeated.",
        low=0,
    )
    proba: bool = option(
        "Add a column with the probability of each class.", default=False
    )
    interval: float | None = number(
        "Add intervals that contain this share of targets, such as 0.9. Requires a "
        "model fitted with --intervals.",
        low=0.5,
        high=1,
    )
    contributions: str | None = option(
        "Add the terms that sum to the prediction or decision value, by kernel, view "
        "or column.",
        metavar="NAME",
    )
    stream: bool | None = option(STREAM, "--stream/--no-stream", show_default=False)
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class Score(SavedOnData):
    """Score a saved model on true targets: accuracy, R2, D2 or concordance."""

    data: list[Path] = argument(SEVERAL)
    scoring: str | None = option(
        "Another score, a scikit-learn name such as roc_auc.", metavar="NAME"
    )
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class Report(SavedOnData):
    """Write an HTML report on a saved model: one page that works offline."""

    data: Path = argument(f"{FILES}.")
    output: Path = file(
        "HTML file to write.", "--output", "-o", default=Path("report.html")
    )
