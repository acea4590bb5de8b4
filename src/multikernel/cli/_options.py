"""Arguments and options that several commands share, and what they ask for together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

# Of the library nothing: help is to be there before that is loaded.


def complete(name: str) -> Callable[[], list[str]]:
    """Return what a shell asks for the values of an option, a table of methods."""

    def values() -> list[str]:
        from multikernel.cli import _methods

        return list(getattr(_methods, name))

    return values


Alpha = Annotated[
    float | None,
    typer.Option("--alpha", help="Regularization strength, on the mean loss."),
]
LossWeight = Annotated[
    float | None,
    typer.Option("-C", help="Weight of the losses, for lp and those listed after."),
]
ModelFile = Annotated[
    Path, typer.Argument(help="Model file written by fit.", show_default=False)
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        help="Most memory that loading the model may take; 2.1 GB if not given.",
        min=1,
        show_default=False,
    ),
]
FILES = "CSV, TSV, Parquet, FASTA or npz file, or - for CSV on standard input"
DataFile = Annotated[Path, typer.Argument(help=f"{FILES}.", show_default=False)]
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        help=f"{FILES}; several FASTA files have a column class, their names.",
        show_default=False,
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        help="Column (or npz array) of the targets; may be repeated for several.",
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        "--event",
        help="Column of whether the event was seen, 1 or 0; --target is its time, or "
        "that of the last look.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, parted by commas; may be repeated."),
]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        help="Method: spicy, gomp, hkl, lp, rademacher or uniform; alignment, easy or "
        "single (the best kernel alone) to compare with; one-class without a target.",
        autocompletion=complete("METHODS"),
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="classification or regression, read off the targets if not given; or "
        "survival, of times to an event, with --event; or ordinal, of ordered classes, "
        'words among them in the order of --set \'order=["low", "high"]\'.',
        autocompletion=complete("TASKS"),
    ),
]
LossName = Annotated[
    str | None,
    typer.Option(
        "--loss",
        help="log_loss, hinge, squared_hinge or squared_error for classes; "
        "squared_error, epsilon_insensitive, huber, quantile, poisson or gamma for "
        "numbers.",
        autocompletion=complete("LOSS_TASKS"),
        metavar="NAME",
    ),
]
KernelChoice = Annotated[
    str,
    typer.Option(
        "--kernels",
        help="default (linear, and Gaussians whose widths the data decide), columns "
        "(Gaussians on each column), joint (Gaussians on all columns) or linear (one "
        "linear kernel per column); for hkl a graph: default or polynomial (powers), "
        "hermite (Gaussians) or subsets (of columns).",
    ),
]
WithInteractions = Annotated[
    bool,
    typer.Option(
        "--interactions",
        help="Add the interactions of all kernels on different columns, or of views: "
        "the products of two, centred.",
    ),
]
ViewColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        help="A view of the data with kernels of its own: its columns by names or "
        "patterns, parted by commas, such as expression=expr_*; may be repeated. "
        "Columns of text in it are compared as categories.",
        metavar="NAME=COLUMNS",
    ),
]
CategoryColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        help="Column to compare as categories, numbers as well; may be repeated.",
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--group", help="Column of groups that --cv keeps together, no feature."
    ),
]
SequenceColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--sequence", help="Column of strings to take as sequences; may be repeated."
    ),
]
SequenceKernels = Annotated[
    str,
    typer.Option(
        help="Kernels on sequences: default (words of three letters, and those in "
        "place for one length), spectrum (words of one to six letters, three for "
        "proteins), dna (weighted degree, spectra and properties of DNA, for one "
        "length) or protein (64 motif kernels).",
    ),
]
AlphabetName = Annotated[
    str | None,
    typer.Option("--alphabet", help="dna, rna or protein; read off if not given."),
]
SkipLetters = Annotated[
    bool, typer.Option(help="Skip letters of sequences outside the alphabet.")
]
IgnoreCase = Annotated[
    bool, typer.Option(help="Read lower-case letters of sequences as upper case.")
]
Tolerance = Annotated[
    float | None, typer.Option("--tol", help="Relative duality gap to reach.")
]
Storage = Annotated[
    str | None,
    typer.Option(
        help="How kernels are held: auto, dense, dense32, lazy, low_rank or memmap (in "
        "a file).",
        metavar="NAME",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Folder of large files: whole kernels for --storage memmap, which are "
        "used again, and factors and tables otherwise, which are temporary; then the "
        "file is read by batches.",
    ),
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
MaxRank = Annotated[
    int | None,
    typer.Option(help="Landmarks of a kernel at most, for --storage low_rank.", min=1),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="Fit on a Dask cluster: local for workers on this machine, or the address "
        "of a scheduler, tcp://host:8786. The data may be a pattern or a folder.",
        metavar="WHERE",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Any other parameter of the estimator, for example l1_ratio=0.5; may be "
        "repeated.",
        metavar="NAME=VALUE",
    ),
]
Impute = Annotated[
    str | None,
    typer.Option(
        help="Fill gaps: in numbers with the mean or the median of their column, in "
        "categories with the most frequent one.",
        metavar="NAME",
    ),
]
Scale = Annotated[
    bool, typer.Option("--scale/--no-scale", help="Standardize the columns first.")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Write JSON to standard output instead of tables."),
]


@dataclass(frozen=True)
class Request:
    """The options that commands share which train on a file.

    None stands for what is settled by the data or by the estimators.
    """

    data: Sequence[Path]
    target: list[str] | None
    task: str | None
    loss: str | None
    kernels: str
    interactions: bool
    tol: float | None
    settings: list[str] | None
    scale: bool
    impute: str | None
    drop: list[str] | None
    view: list[str] | None
    category: list[str] | None
    group: str | None
    sequence: list[str] | None
    sequence_kernels: str
    alphabet: str | None
    skip_letters: bool
    ignore_case: bool
    storage: str | None = None
    max_rank: int | None = None
    folder: Path | None = None
    event: str | None = None


@dataclass(frozen=True)
class StrengthRequest:
    """How strong to regularize, or with how many folds to choose it."""

    alpha: float | str | None = None
    C: float | str | None = None
    p: float | None = None
    cv: int | None = None
    scoring: str | None = None
