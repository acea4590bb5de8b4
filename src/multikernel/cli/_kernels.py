"""Kernels from the options of the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from multikernel.cli._features import Table
from multikernel.cli._messages import check_choice
from multikernel.estimators.read.kinds import Sheet, default_texts
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    Kernel,
    LinearKernel,
    ParameterGrid,
    TanimotoKernel,
    Unpenalized,
)
from multikernel.kernels.graph import (
    AnovaGrid,
    HermiteGrid,
    KernelGraph,
    PolynomialGrid,
)
from multikernel.kernels.sequence import (
    Alphabet,
    SpectrumKernel,
    dna_dictionary,
    motif_dictionary,
    sequence_dictionary,
)
from multikernel.kernels.sequence.builders import ambiguous_bases, fitting_alphabet
from multikernel.kernels.sequence.letters import KNOWN, from_texts
from multikernel.kernels.sequence.tables import SEQUENCES

KernelSet = tuple[Sequence[Kernel], bool]
"""Kernels, and whether each column gets its own."""

# Widths for standardized columns, from wiggly to nearly linear functions.
GAUSSIANS = tuple(GaussianKernel(width) for width in (0.5, 1.0, 2.0, 5.0))


# None means the default kernels of the estimator.
KERNELS: Mapping[str, KernelSet | None] = {
    "default": None,
    "columns": (GAUSSIANS, True),
    "joint": (GAUSSIANS, False),
    "linear": ((LinearKernel(),), True),
    "tanimoto": ((TanimotoKernel(),), False),
}


# For methods that select among the nodes of a graph.
GRAPHS: Mapping[str, KernelGraph | None] = {
    "default": None,
    "polynomial": PolynomialGrid(4),
    "hermite": HermiteGrid(9),
    "subsets": AnovaGrid(),
}


LONGEST: Mapping[str, int] = {"dna": 6, "rna": 6, "protein": 3}
"""Length of the longest words of each alphabet in spectrum kernels, so that there are
at most a few thousand different words."""


CHOICES = ("default", "spectrum", "dna", "protein")


@dataclass(frozen=True)
class SequenceChoice:
    """Sequence options; if `alphabet` is None, the letters determine it."""

    kernels: str = "default"
    alphabet: str | None = None
    skip_letters: bool = False
    ignore_case: bool = False

    def find(self, frame: pd.DataFrame, column: str) -> list[Kernel]:
        """Return the kernels for a column of sequences."""
        check_choice("--sequence-kernels", self.kernels, CHOICES)
        name = self._alphabet(frame, column)
        alphabet = Alphabet(
            name,
            unknown="skip" if self.skip_letters else "error",
            lower="upper" if self.ignore_case else "error",
        )
        kernels: Any = []
        if self.kernels == "default":
            kernels = sequence_dictionary(frame[column], alphabet)
        elif self.kernels == "dna":
            kernels = dna_dictionary(alphabet=alphabet)
        elif self.kernels == "protein":
            kernels = motif_dictionary(alphabet=alphabet)
        else:
            sizes = range(1, LONGEST[name] + 1)
            kernels = [SpectrumKernel(k, alphabet) for k in sizes]
        return [kernels[m] for m in range(len(kernels))]

    def _alphabet(self, frame: pd.DataFrame, column: str) -> str:
        """Return the name of the alphabet of a column."""
        if self.alphabet is not None:
            check_choice("--alphabet", self.alphabet, KNOWN)
            return self.alphabet
        other = [value for value in frame[column] if not isinstance(value, str)]
        if other:
            raise ValueError(
                f"Column {column!r} holds {other[0]!r}, but sequences must be text."
            )
        texts = frame[column].tolist()
        texts = [text.upper() for text in texts] if self.ignore_case else texts
        letters, choices = set().union(*map(set, texts)), from_texts(texts)
        several = ambiguous_bases(choices)
        if several and self.skip_letters:
            return "rna" if "U" in letters and "T" not in letters else "dna"
        if several:
            raise ValueError(
                f"Column {column!r} holds {', '.join(several)} beside A, C, G and T: "
                "it may be DNA with ambiguous bases. Use --alphabet dna --skip-letters "
                "to skip these letters, or --alphabet protein."
            )
        if (name := fitting_alphabet(choices)) is not None:
            return name
        raise ValueError(
            f"The letters of column {column!r}, {''.join(sorted(letters))}, belong to "
            "no alphabet: choose --alphabet dna, rna or protein, and skip other "
            "letters with --skip-letters. If lower-case letters mark repeats, "
            "--ignore-case reads them as upper case."
        )


SPECTRA = SequenceChoice()
"""Sequence options of a command without sequence options."""


def kernels_on(numbers: Sequence[str], chosen: KernelSet) -> list[Kernel]:
    """Return kernels on each numeric column or on all of them; none without columns."""
    kernels, per_column = chosen
    sets: Sequence[Any] = numbers if per_column else [list(numbers)] if numbers else []
    return [ColumnKernel(kernel, each) for each in sets for kernel in kernels]


def view_kernels(
    views: Mapping[str, list[str]], categories: Sequence[str], chosen: KernelSet | None
) -> dict[str, Any]:
    """Return the ``kernels`` parameter for the columns of views."""
    if chosen is None:
        return dict(views)
    kernels, per_column = chosen
    kernels_of_views: dict[str, Any] = {}
    for view, columns in views.items():
        words = [c for c in columns if c in categories]
        on_numbers = kernels_on([c for c in columns if c not in categories], chosen)
        if words:
            on_numbers.append(ColumnKernel(CategoryKernel(), words))
        # Kernels on all columns of a view need no column names.
        alone = not per_column and not words
        kernels_of_views[view] = (columns, list(kernels) if alone else on_numbers)
    return kernels_of_views


def find_kernels(
    name: str,
    table: Table,
    sequences: SequenceChoice = SPECTRA,
    *,
    graphs: bool = False,
) -> Any:
    """Return the ``kernels`` parameter for --kernels.

    `graphs` means that the method requires a graph.
    """
    check_choice("--kernels", name, GRAPHS if graphs else KERNELS)
    if table.precomputed:
        if name != "default":
            raise ValueError(
                f"--kernels {name} requires columns, but this file contains Gram "
                "matrices: remove the option."
            )
        return "precomputed"
    if graphs:
        _check_graph_columns(table)
        return GRAPHS[name]
    entry = KERNELS[name]
    if table.views:
        if table.sequences:
            raise ValueError(
                "--view cannot contain columns of --sequence: remove them from one of "
                "the options."
            )
        views = {view: table.encoded(columns) for view, columns in table.views.items()}
        return view_kernels(views, table.categories, entry) | _free_view(table)
    if table.unpenalized:
        return _beside_unpenalized(table, sequences, entry)
    if entry is None:
        return _default_kernels(table, sequences)
    if table.sequences or table.categories:
        by_column = [k for c in table.sequences for k in sequences.find(table.X, c)]
        by_column += [ColumnKernel(CategoryKernel(), c) for c in table.categories]
        return by_column + kernels_on(table.numbers, entry)
    kernels, per_column = entry
    columns = range(len(table.numbers)) if per_column else [slice(None)]
    return ParameterGrid(kernels, columns)


def _check_graph_columns(table: Table) -> None:
    """Raise unless all columns are numbers with a penalty, without views."""
    if table.unpenalized:
        raise ValueError("--method hkl does not support --unpenalized: remove it.")
    texts = [*table.sequences, *table.categories]
    if table.views or texts:
        dropped = " ".join(f"--drop '{name}'" for name in texts)
        raise ValueError(
            "--method hkl supports numeric columns only, without --view and "
            f"--category{': ignore text with ' * bool(dropped)}{dropped}."
        )


def _free_view(table: Table) -> dict[str, Unpenalized]:
    """Return a view of the unpenalized columns, empty without such columns."""
    columns = table.encoded(table.unpenalized)
    return {"unpenalized": Unpenalized(columns)} if columns else {}


def _beside_unpenalized(
    table: Table, sequences: SequenceChoice, entry: KernelSet | None
) -> dict[str, Any]:
    """Return views: unpenalized columns, each sequence, and all other columns."""
    views: dict[str, Any] = {
        c: (c, sequences.find(table.X, c)) for c in table.sequences
    }
    free = {*table.encoded(table.unpenalized)}
    words = [c for c in table.categories if c not in free]
    others = [c for c in table.numbers if c not in free] + words
    if others:
        views |= view_kernels({"other columns": others}, words, entry)
    return views | _free_view(table)


def with_interactions(
    kernels: Any, name: str, table: Table, *, graphs: bool
) -> Interactions:
    """Return the ``kernels`` parameter with interactions."""
    if graphs:
        raise ValueError(
            "--interactions cannot be used with --method hkl, whose graphs already "
            "contain interactions of all orders: remove it."
        )
    if table.precomputed:
        raise ValueError(
            "--interactions requires columns, but this file contains Gram matrices: "
            "add products of the matrices to the file instead."
        )
    if name == "joint" and not (table.views or table.sequences or table.categories):
        raise ValueError(
            "--interactions requires kernels on different columns, but --kernels "
            "joint acts on all columns: use --kernels default or columns, or --view."
        )
    return Interactions(kernels)


def _default_kernels(table: Table, sequences: SequenceChoice) -> Any:
    """Return None if the estimator's default applies, else views of the columns."""
    if not table.sequences:
        return None
    kinds, _ = default_texts(Sheet(table.X))
    sure = {table.X.columns[c] for c, kind in kinds.items() if kind == SEQUENCES}
    if sequences == SPECTRA and sure == {*table.sequences}:
        return None
    by_column = {c: sequences.find(table.X, c) for c in table.sequences}
    if not (others := table.numbers + list(table.categories)):
        return [ColumnKernel(kernel, c) for c in by_column for kernel in by_column[c]]
    views: dict[str, Any] = {c: (c, kernels) for c, kernels in by_column.items()}
    return {"other columns": others} | views
