"""What commands are asked, a class for each: its fields are arguments and options.

None stands for what the data or the estimators settle.
"""

from dataclasses import dataclass
from pathlib import Path

from multikernel.cli._options import argument, option

FILES = "CSV, TSV, Parquet, FASTA or npz file, or - for CSV on standard input"
SEVERAL = f"{FILES}; several FASTA files have a column class, their names."
EVENT = (
    "Column of whether the event was seen, 1 or 0; --target is its time, or that of "
    "the last look."
)
DROP = "Columns to leave out, parted by commas; may be repeated."
JSON = "Write JSON to standard output instead of tables."
STREAM = (
    "Read the file in partitions; if not given, where the memory is less than eight "
    "times its size."
)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Train on the breast cancer data with 837 kernels, and draw what came out."""

    output: Path = option(
        "Folder for the pictures.", "--output", "-o", default=Path("multikernel-demo")
    )
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class Training:
    """The options of commands that train on a file.

    A command that does without one has a field with a plain value in its place.
    """

    data: list[Path] = argument(SEVERAL)
    target: list[str] | None = option(
        "Column (or npz array) of the targets; may be repeated for several.",
        "--target",
        "-t",
    )
    event: str | None = option(EVENT)
    method: str = option(
        "Method: spicy, gomp, hkl, lp, rademacher or uniform; alignment, easy or "
        "single (the best kernel alone) to compare with; one-class without a target.",
        default="spicy",
    )
    task: str | None = option(
        "classification or regression, read off the targets if not given; or "
        "survival, of times to an event, with --event; or ordinal, of ordered classes, "
        'words among them in the order of --set \'order=["low", "high"]\'.',
    )
    loss: str | None = option(
        "log_loss, hinge, squared_hinge or squared_error for classes; squared_error, "
        "epsilon_insensitive, huber, quantile, poisson or gamma for numbers.",
        metavar="NAME",
    )
    kernels: str = option(
        "default (linear, and Gaussians whose widths the data decide), columns "
        "(Gaussians on each column), joint (Gaussians on all columns) or linear (one "
        "linear kernel per column); for hkl a graph: default or polynomial (powers), "
        "hermite (Gaussians) or subsets (of columns).",
        default="default",
    )
    interactions: bool = option(
        "Add the interactions of all kernels on different columns, or of views: the "
        "products of two, centred.",
        "--interactions",
        default=False,
    )
    tol: float | None = option("Relative duality gap to reach.")
    storage: str | None = option(
        "How kernels are held: auto, dense, dense32, lazy or low_rank.",
        metavar="NAME",
    )
    max_rank: int | None = option(
        "Landmarks of a kernel at most, for --storage low_rank.", min=1
    )
    folder: Path | None = option(
        "Folder of large temporary files, of factors and tables; the file is read in "
        "partitions then."
    )
    settings: list[str] | None = option(
        "Any other parameter of the estimator, for example l1_ratio=0.5; may be "
        "repeated.",
        "--set",
        metavar="NAME=VALUE",
    )
    scale: bool = option(
        "Standardize the columns first.", "--scale/--no-scale", default=True
    )
    impute: str | None = option(
        "Fill gaps: in numbers with the mean or the median of their column, in "
        "categories with the most frequent one.",
        metavar="NAME",
    )
    drop: list[str] | None = option(DROP)
    view: list[str] | None = option(
        "A view of the data with kernels of its own: its columns by names or patterns, "
        "parted by commas, such as expression=expr_*; may be repeated. Columns of text "
        "in it are compared as categories.",
        metavar="NAME=COLUMNS",
    )
    category: list[str] | None = option(
        "Column to compare as categories, numbers as well; may be repeated."
    )
    group: str | None = option("Column of groups that folds keep together, no feature.")
    sequence: list[str] | None = option(
        "Column of strings to take as sequences; may be repeated."
    )
    sequence_kernels: str = option(
        "Kernels on sequences: default (words of three letters, and those in place for "
        "one length), spectrum (words of one to six letters, three for proteins), dna "
        "(weighted degree, spectra and properties of DNA, for one length) or protein "
        "(64 motif kernels).",
        default="default",
    )
    alphabet: str | None = option("dna, rna or protein; read off if not given.")
    skip_letters: bool = option(
        "Skip letters of sequences outside the alphabet.", default=False
    )
    ignore_case: bool = option(
        "Read lower-case letters of sequences as upper case.", default=False
    )
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class Fit(Training):
    """Train a model on a CSV, TSV, Parquet, FASTA or npz file, and save it."""

    output: Path | None = option("Model file to write.", "--output", "-o")
    alpha: float | None = option("Regularization strength, on the mean loss.")
    C: float | None = option(
        "Weight of the losses, for lp and those listed after.", "-C"
    )
    p: float | None = option("Norm of kernel weights, 1 to inf: lp, one-class.", "-p")
    cv: int | None = option(
        "Choose the strength by cross-validation with so many folds; the kernel with "
        "--method single."
    )
    scoring: str | None = option(
        "What --cv chooses by, a name of scikit-learn such as roc_auc; accuracy, or R2 "
        "of numbers, if not given."
    )
    dask: str | None = option(
        "Fit on a Dask cluster: local for workers on this machine, or the address of a "
        "scheduler, tcp://host:8786. The data may be a pattern or a folder.",
        metavar="WHERE",
    )
    stream: bool | None = option(STREAM, "--stream/--no-stream", show_default=False)


@dataclass(frozen=True, kw_only=True)
class FollowPath(Training):
    """Follow the regularization path from where the first kernel comes in."""

    event: str | None = None
    folder: Path | None = None
    group: str | None = None
    n_alphas: int = option("Number of strengths.", default=20)
    alpha_min_ratio: float = option(
        "Weakest strength over the strongest.", default=1e-2
    )
    plot: Path | None = option("Picture to write (PNG, PDF or SVG).")


@dataclass(frozen=True, kw_only=True)
class Compare(Training):
    """Cross-validate several methods on the same folds of the same data."""

    event: str | None = None
    method: str = ""
    loss: str | None = None
    storage: str | None = None
    max_rank: int | None = None
    folder: Path | None = None
    settings: list[str] | None = None
    methods: list[str] | None = option(
        "Method to compare, as for fit; may be repeated. All that suit the targets if "
        "not given.",
        "--method",
    )
    folds: int = option("Folds that all methods are scored on.", default=5, min=2)
    scoring: str | None = option(
        "Score of scikit-learn, such as roc_auc; accuracy or R2 if not given.",
        metavar="NAME",
    )
    cv: int | None = option(
        "Choose the strength of each by cross-validation with so many folds, within "
        "the others; else it is the default."
    )


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The options of commands on a saved model."""

    model: Path = argument("Model file written by fit.")
    max_bytes: int | None = option(
        "Most memory that loading the model may take; 2.1 GB if not given.",
        min=1,
        show_default=False,
    )


@dataclass(frozen=True, kw_only=True)
class Inspect(Saved):
    """Show the kernels, weights, parameters and certificate of a saved model."""

    rows: int | None = option("Kernels listed at most.", min=1, show_default=False)
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class SavedOnData(Saved):
    """The options of commands that show a saved model data."""

    target: list[str] | None = option(
        "Column of known targets, to score against; may be repeated.", "--target", "-t"
    )
    event: str | None = option(EVENT)
    drop: list[str] | None = option(DROP)


@dataclass(frozen=True, kw_only=True)
class Predict(SavedOnData):
    """Predict with a saved model, one row per row of the file."""

    data: Path = argument(f"{FILES}.")
    output: Path | None = option(
        "CSV, Parquet or npz file; standard output if not given.", "--output", "-o"
    )
    later: list[float] | None = option(
        "A time: add the probability of an event later than it, of models of times; "
        "may be repeated."
    )
    proba: bool = option("Add a probability per class.", default=False)
    stream: bool | None = option(STREAM, "--stream/--no-stream", show_default=False)
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class Score(SavedOnData):
    """Score a saved model on known targets: accuracy, R2, or concordance of times."""

    data: list[Path] = argument(SEVERAL)
    json: bool = option(JSON, "--json", default=False)


@dataclass(frozen=True, kw_only=True)
class Report(SavedOnData):
    """Write what a saved model is and says as one HTML page that needs no network."""

    data: Path = argument(f"{FILES}.")
    output: Path = option(
        "HTML file to write.", "--output", "-o", default=Path("report.html")
    )
