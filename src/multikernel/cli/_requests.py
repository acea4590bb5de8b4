"""What commands are asked: their arguments and options, a class for each command.

Its docstring is the command's help; None stands for what the data or the estimators
settle, and fields without ``init`` are options that a command does not have. Of the
library nothing is imported: help is to be there before that is loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer


def complete(name: str) -> Callable[[], list[str]]:
    """Return what a shell asks for the values of an option, a table of methods."""

    def values() -> list[str]:
        from multikernel.cli import _methods

        return list(getattr(_methods, name))

    return values


FILES = "CSV, TSV, Parquet, FASTA or npz file, or - for CSV on standard input"
DataFile = Annotated[Path, typer.Argument(help=f"{FILES}.", show_default=False)]
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        help=f"{FILES}; several FASTA files have a column class, their names.",
        show_default=False,
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        help="Column of whether the event was seen, 1 or 0; --target is its time, or "
        "that of the last look."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, parted by commas; may be repeated."),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read the file by batches; if not given, where the memory is less than "
        "eight times its size.",
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Write JSON to standard output instead of tables."),
]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Train on the breast cancer data with 837 kernels, and draw what came out."""

    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the pictures.")
    ] = Path("multikernel-demo")
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Training:
    """The options of commands that train on a file."""

    data: DataFiles
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            help="Column (or npz array) of the targets; may be repeated for several.",
        ),
    ] = None
    event: Event = None
    method: Annotated[
        str,
        typer.Option(
            help="Method: spicy, gomp, hkl, lp, rademacher or uniform; alignment, easy "
            "or single (the best kernel alone) to compare with; one-class without a "
            "target.",
            autocompletion=complete("METHODS"),
        ),
    ] = "spicy"
    task: Annotated[
        str | None,
        typer.Option(
            help="classification or regression, read off the targets if not given; or "
            "survival, of times to an event, with --event; or ordinal, of ordered "
            "classes, words among them in the order of --set "
            '\'order=["low", "high"]\'.',
            autocompletion=complete("TASKS"),
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            help="log_loss, hinge, squared_hinge or squared_error for classes; "
            "squared_error, epsilon_insensitive, huber, quantile, poisson or gamma for "
            "numbers.",
            autocompletion=complete("LOSS_TASKS"),
            metavar="NAME",
        ),
    ] = None
    kernels: Annotated[
        str,
        typer.Option(
            help="default (linear, and Gaussians whose widths the data decide), "
            "columns (Gaussians on each column), joint (Gaussians on all columns) or "
            "linear (one linear kernel per column); for hkl a graph: default or "
            "polynomial (powers), hermite (Gaussians) or subsets (of columns).",
        ),
    ] = "default"
    interactions: Annotated[
        bool,
        typer.Option(
            "--interactions",
            help="Add the interactions of all kernels on different columns, or of "
            "views: the products of two, centred.",
        ),
    ] = False
    tol: Annotated[
        float | None, typer.Option(help="Relative duality gap to reach.")
    ] = None
    storage: Annotated[
        str | None,
        typer.Option(
            help="How kernels are held: auto, dense, dense32, lazy, low_rank or memmap "
            "(in a file).",
            metavar="NAME",
        ),
    ] = None
    max_rank: Annotated[
        int | None,
        typer.Option(
            help="Landmarks of a kernel at most, for --storage low_rank.", min=1
        ),
    ] = None
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder of large files: whole kernels for --storage memmap, which are "
            "used again, and factors and tables otherwise, which are temporary; then "
            "the file is read by batches.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any other parameter of the estimator, for example l1_ratio=0.5; may "
            "be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None
    scale: Annotated[
        bool, typer.Option("--scale/--no-scale", help="Standardize the columns first.")
    ] = True
    impute: Annotated[
        str | None,
        typer.Option(
            help="Fill gaps: in numbers with the mean or the median of their column, "
            "in categories with the most frequent one.",
            metavar="NAME",
        ),
    ] = None
    drop: Drop = None
    view: Annotated[
        list[str] | None,
        typer.Option(
            help="A view of the data with kernels of its own: its columns by names or "
            "patterns, parted by commas, such as expression=expr_*; may be repeated. "
            "Columns of text in it are compared as categories.",
            metavar="NAME=COLUMNS",
        ),
    ] = None
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to compare as categories, numbers as well; may be repeated.",
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(help="Column of groups that folds keep together, no feature."),
    ] = None
    sequence: Annotated[
        list[str] | None,
        typer.Option(help="Column of strings to take as sequences; may be repeated."),
    ] = None
    sequence_kernels: Annotated[
        str,
        typer.Option(
            help="Kernels on sequences: default (words of three letters, and those in "
            "place for one length), spectrum (words of one to six letters, three for "
            "proteins), dna (weighted degree, spectra and properties of DNA, for one "
            "length) or protein (64 motif kernels).",
        ),
    ] = "default"
    alphabet: Annotated[
        str | None, typer.Option(help="dna, rna or protein; read off if not given.")
    ] = None
    skip_letters: Annotated[
        bool, typer.Option(help="Skip letters of sequences outside the alphabet.")
    ] = False
    ignore_case: Annotated[
        bool, typer.Option(help="Read lower-case letters of sequences as upper case.")
    ] = False
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Fit(Training):
    """Train a model on a CSV, TSV, Parquet, FASTA or npz file, and save it."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file to write.")
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option(help="Regularization strength, on the mean loss."),
    ] = None
    C: Annotated[
        float | None,
        typer.Option("-C", help="Weight of the losses, for lp and those listed after."),
    ] = None
    p: Annotated[
        float | None,
        typer.Option("-p", help="Norm of kernel weights, 1 to inf: lp, one-class."),
    ] = None
    cv: Annotated[
        int | None,
        typer.Option(
            help="Choose the strength by cross-validation with so many folds; the "
            "kernel with --method single."
        ),
    ] = None
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What --cv chooses by, a name of scikit-learn such as roc_auc; "
            "accuracy, or R2 of numbers, if not given."
        ),
    ] = None
    dask: Annotated[
        str | None,
        typer.Option(
            help="Fit on a Dask cluster: local for workers on this machine, or the "
            "address of a scheduler, tcp://host:8786. The data may be a pattern or a "
            "folder.",
            metavar="WHERE",
        ),
    ] = None
    stream: Stream = None


@dataclass(frozen=True, kw_only=True)
class FollowPath(Training):
    """Follow the regularization path from where the first kernel comes in."""

    event: str | None = field(default=None, init=False)
    folder: Path | None = field(default=None, init=False)
    group: str | None = field(default=None, init=False)
    n_alphas: Annotated[int, typer.Option(help="Number of strengths.")] = 20
    alpha_min_ratio: Annotated[
        float, typer.Option(help="Weakest strength over the strongest.")
    ] = 1e-2
    plot: Annotated[
        Path | None, typer.Option(help="Picture to write (PNG, PDF or SVG).")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Compare(Training):
    """Cross-validate several methods on the same folds of the same data."""

    event: str | None = field(default=None, init=False)
    method: str = field(default="", init=False)
    loss: str | None = field(default=None, init=False)
    storage: str | None = field(default=None, init=False)
    max_rank: int | None = field(default=None, init=False)
    folder: Path | None = field(default=None, init=False)
    settings: list[str] | None = field(default=None, init=False)
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help="Method to compare, as for fit; may be repeated. All that suit the "
            "targets if not given.",
            autocompletion=complete("METHODS"),
        ),
    ] = None
    folds: Annotated[
        int, typer.Option(help="Folds that all methods are scored on.", min=2)
    ] = 5
    scoring: Annotated[
        str | None,
        typer.Option(
            help="Score of scikit-learn, such as roc_auc; accuracy or R2 if not given.",
            metavar="NAME",
        ),
    ] = None
    cv: Annotated[
        int | None,
        typer.Option(
            help="Choose the strength of each by cross-validation with so many folds, "
            "within the others; else it is the default."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The options of commands on a saved model."""

    model: Annotated[
        Path, typer.Argument(help="Model file written by fit.", show_default=False)
    ]
    max_bytes: Annotated[
        int | None,
        typer.Option(
            help="Most memory that loading the model may take; 2.1 GB if not given.",
            min=1,
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Inspect(Saved):
    """Show the kernels, weights, parameters and certificate of a saved model."""

    rows: Annotated[
        int | None,
        typer.Option(help="Kernels listed at most.", min=1, show_default=False),
    ] = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class SavedOnData(Saved):
    """The options of commands that show a saved model data."""

    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            help="Column of known targets, to score against; may be repeated.",
        ),
    ] = None
    event: Event = None
    drop: Drop = None


@dataclass(frozen=True, kw_only=True)
class Predict(SavedOnData):
    """Predict with a saved model, one row per row of the file."""

    data: DataFile
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="CSV, Parquet or npz file; standard output if not given.",
        ),
    ] = None
    later: Annotated[
        list[float] | None,
        typer.Option(
            help="A time: add the probability of an event later than it, of models of "
            "times; may be repeated."
        ),
    ] = None
    proba: Annotated[bool, typer.Option(help="Add a probability per class.")] = False
    stream: Stream = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Score(SavedOnData):
    """Score a saved model on known targets: accuracy, R2, or concordance of times."""

    data: DataFiles
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Report(SavedOnData):
    """Write what a saved model is and says as one HTML page that needs no network."""

    data: DataFile
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file to write.")
    ] = Path("report.html")
