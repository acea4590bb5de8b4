"""Kernels from the options of the command line."""

from collections.abc import Mapping, Sequence

import pandas as pd

import multikernel.kernels as mk
from multikernel.cli._features import Table
from multikernel.cli._messages import check_choice
from multikernel.cli._requests import Training
from multikernel.estimators.read.kinds import Sheet, default_text_kinds
from multikernel.kernels import ColumnKernel, graph, sequence
from multikernel.kernels.sequence.builders import ambiguous_bases, fitting_alphabet
from multikernel.kernels.sequence.letters import ALPHABETS, from_texts
from multikernel.kernels.sequence.tables import SEQUENCES

KernelSet = tuple[Sequence[mk.Kernel], bool]
"""Kernels, and whether each column gets a copy of them (else they use all columns)."""

# Widths for standardized columns, from wiggly to nearly linear functions.
GAUSSIANS = tuple(mk.GaussianKernel(width) for width in (0.5, 1.0, 2.0, 5.0))

# None means the default kernels of the estimator.
KERNELS: Mapping[str, KernelSet | None] = {
    "default": None,
    "columns": (GAUSSIANS, True),
    "joint": (GAUSSIANS, False),
    "linear": ((mk.LinearKernel(),), True),
    "tanimoto": ((mk.TanimotoKernel(),), False),
}

# Graphs for methods that select nodes; None means the default graph.
GRAPHS: Mapping[str, graph.KernelGraph | None] = {
    "default": None,
    "polynomial": graph.PolynomialGrid(4),
    "hermite": graph.HermiteGrid(9),
    "subsets": graph.AnovaGrid(),
}

LONGEST: Mapping[str, int] = {"dna": 6, "rna": 6, "protein": 3}
"""Maximum word length in spectrum kernels, so that there are a few thousand words."""

CHOICES = ("default", "spectrum", "dna", "protein")
"""Values of --sequence-kernels."""


def find_kernels(request: Training, table: Table, *, graphs: bool) -> object:
    """Return the ``kernels`` parameter for a table; if `graphs`, a graph for HKL."""
    name = request.kernels
    check_choice("--kernels", name, GRAPHS if graphs else KERNELS)
    if (letter_options := _letter_options(request)) and not table.sequences:
        raise ValueError(
            f"{letter_options[0]} requires a column of sequences, but no column is "
            "read as sequences: name the columns of sequences with --sequence, or "
            f"remove {letter_options[0]}."
        )
    if table.precomputed:
        if name != "default" or request.interactions:
            raise ValueError(
                "--kernels and --interactions require columns, but this file contains "
                "Gram matrices: remove these options."
            )
        return "precomputed"
    if graphs:
        return GRAPHS[name]
    # `entry` has the kernels that --kernels names; None means the default kernels.
    entry, unpenalized = KERNELS[name], table.encoded(table.unpenalized)
    free_view = {"unpenalized": mk.Unpenalized(unpenalized)} if unpenalized else {}
    if table.views:
        if table.sequences:
            raise ValueError(
                f"--view contains {table.sequences[0]!r}, a column of sequences, which "
                "views do not support: remove the column from --view, or remove --view."
            )
        views = {view: table.encoded(columns) for view, columns in table.views.items()}
        return _view_kernels(views, table.categories, entry) | free_view
    if entry is None and not unpenalized and _has_default_sequences(request, table):
        return None
    if not (entry is None or unpenalized or table.sequences or table.categories):
        kernels, per_column = entry
        columns = range(len(table.numeric)) if per_column else [slice(None)]
        return mk.ParameterGrid(kernels, columns)
    return _kernels_by_kind(request, table, entry, free_view)


def _has_default_sequences(request: Training, table: Table) -> bool:
    """Return whether sequences, if any, get the default kernels on sequences."""
    if not table.sequences:
        return True
    # By default, the kinds of text columns follow from their cells.
    texts, _ = default_text_kinds(Sheet(table.X))
    defaults = {table.X.columns[c] for c, kind in texts.items() if kind == SEQUENCES}
    return defaults == {*table.sequences} and not _letter_options(request)


def _letter_options(request: Training) -> list[str]:
    """Return the requested options that apply to sequences only."""
    options = {
        "--alphabet": request.alphabet,
        "--skip-letters": request.skip_letters,
        "--ignore-case": request.ignore_case,
        "--sequence-kernels": request.sequence_kernels != "default",
    }
    return [option for option, requested in options.items() if requested]


def _kernels_by_kind(
    request: Training,
    table: Table,
    entry: KernelSet | None,
    free_view: dict[str, mk.Unpenalized],
) -> object:
    """Return kernels on sequences and other columns, as a list or by view."""
    # `free_view` contains the view of the unpenalized columns, or nothing. `entry` has
    # the kernels that --kernels names; None means the default kernels.
    by_column = {c: _sequence_kernels(request, table.X[c]) for c in table.sequences}
    unpenalized = {*table.encoded(table.unpenalized)}
    numeric = [c for c in table.numeric if c not in unpenalized]
    texts = [c for c in table.categories if c not in unpenalized]
    if unpenalized or (entry is None and (numeric or texts)):
        other_view = {"other columns": numeric + texts} if numeric or texts else {}
        views = _view_kernels(other_view, texts, entry)
        return views | {c: (c, kernels) for c, kernels in by_column.items()} | free_view
    kernels = [ColumnKernel(k, c) for c in by_column for k in by_column[c]]
    kernels += [ColumnKernel(mk.CategoryKernel(), c) for c in texts]
    return kernels + ([] if entry is None else _numeric_kernels(numeric, entry))


def _numeric_kernels(numeric: Sequence[str], kernel_set: KernelSet) -> list[mk.Kernel]:
    """Return kernels on each numeric column, or on all together; [] without columns."""
    kernels, per_column = kernel_set
    sets: Sequence[str | list[str]] = (
        numeric if per_column else [list(numeric)] if numeric else []
    )
    return [ColumnKernel(kernel, columns) for columns in sets for kernel in kernels]


def _view_kernels(
    views: Mapping[str, list[str]], categories: Sequence[str], entry: KernelSet | None
) -> dict[str, object]:
    """Return the ``kernels`` parameter for the columns of views."""
    # `entry` has the kernels that --kernels names; None means the default kernels.
    if entry is None:
        return dict(views)
    kernels, per_column = entry
    kernels_of_views: dict[str, object] = {}
    for view, columns in views.items():
        texts = [c for c in columns if c in categories]
        in_view = _numeric_kernels([c for c in columns if c not in categories], entry)
        if texts:
            in_view.append(ColumnKernel(mk.CategoryKernel(), texts))
        # Kernels on all columns of a view need no column names.
        is_joint = not per_column and not texts
        kernels_of_views[view] = (columns, list(kernels) if is_joint else in_view)
    return kernels_of_views


def with_interactions(
    kernels: object, name: str, table: Table, *, graphs: bool
) -> mk.Interactions:
    """Return the kernels with interactions; raise for HKL (if `graphs`)."""
    if graphs:
        raise ValueError(
            "--interactions cannot be used with --method hkl, whose graphs already "
            "contain interactions of all orders: remove --interactions."
        )
    if name == "joint" and not (table.views or table.sequences or table.categories):
        raise ValueError(
            "--interactions requires kernels on different columns, but --kernels "
            "joint acts on all columns: use --kernels default or columns, or --view."
        )
    return mk.Interactions(kernels)


def _sequence_kernels(request: Training, column: pd.Series) -> list[mk.Kernel]:
    """Return the kernels for a column of sequences."""
    check_choice("--sequence-kernels", request.sequence_kernels, CHOICES)
    name = _alphabet(request, column)
    unknown = "skip" if request.skip_letters else "error"
    lower = "upper" if request.ignore_case else "error"
    alphabet = sequence.Alphabet(name, unknown=unknown, lower=lower)
    kernels: mk.KernelDictionary
    if request.sequence_kernels == "default":
        kernels = sequence.sequence_dictionary(column, alphabet)
    elif request.sequence_kernels == "dna":
        kernels = sequence.dna_dictionary(alphabet=alphabet)
    elif request.sequence_kernels == "protein":
        kernels = sequence.motif_dictionary(alphabet=alphabet)
    else:
        sizes = range(1, LONGEST[name] + 1)
        kernels = [sequence.SpectrumKernel(k, alphabet) for k in sizes]
    return [kernels[m] for m in range(len(kernels))]


def _alphabet(request: Training, column: pd.Series) -> str:
    """Return the name of the alphabet of a column: --alphabet, or from its letters."""
    if request.alphabet is not None:
        check_choice("--alphabet", request.alphabet, ALPHABETS)
        return request.alphabet
    texts = column.tolist()
    for row, value in enumerate(texts):
        if not isinstance(value, str):
            raise ValueError(
                f"--sequence: column {column.name!r} holds {value!r} at row {row}, but "
                "sequences must be text: remove such rows, or name another column."
            )
    texts = [text.upper() for text in texts] if request.ignore_case else texts
    letters, sequences = set().union(*map(set, texts)), from_texts(texts)
    ambiguous = ambiguous_bases(sequences)
    acid, base = ("rna", "U") if {"U", "T"} & letters == {"U"} else ("dna", "T")
    if ambiguous and request.skip_letters:
        return acid
    if ambiguous:
        raise ValueError(
            f"Column {column.name!r} holds {', '.join(ambiguous)} beside A, C, G and "
            f"{base}: it may be {acid.upper()} with ambiguous bases. Use --alphabet "
            f"{acid} --skip-letters to skip these letters, or --alphabet protein."
        )
    if (name := fitting_alphabet(sequences)) is not None:
        return name
    raise ValueError(
        f"The letters of column {column.name!r}, {''.join(sorted(letters))}, belong to "
        "no alphabet: choose --alphabet dna, rna or protein, and skip other letters "
        "with --skip-letters. If lower-case letters mark repeats, --ignore-case reads "
        "them as upper case."
    )
