"""Tables with numbers and packed sequences, and kernels on their columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.base import Kernel, KernelDictionary, kernel_name
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.columns import (
    ColumnKernel,
    Features,
    label_of,
    resolve_indices,
    resolved_label,
    select_columns,
)
from multikernel.kernels.dictionary import ListDictionary, ParameterGrid, unique_names
from multikernel.kernels.expected import ExpectedKernel
from multikernel.kernels.grams import SampleKernel
from multikernel.kernels.products import CenteredKernel, ProductKernel, factors_of
from multikernel.kernels.sequence.base import SequenceKernel
from multikernel.kernels.sequence.letters import from_texts, pack, unpack
from multikernel.kernels.views import OptionalKernel

SEQUENCES, CATEGORIES, NUMBERS = "sequences", "categories", "numbers"
"""Kinds of columns."""


@dataclass(frozen=True)
class Layout:
    """Positions of the sequence columns and of the category columns."""

    features: Features
    sequences: tuple[int, ...]  # positions of sequence columns, ascending
    categories: tuple[int, ...] = ()  # positions of category columns, ascending

    @property
    def numeric(self) -> tuple[int, ...]:
        """Return the columns of numbers and of categories, ascending."""
        strings = set(self.sequences)
        return tuple(c for c in range(self.features.number) if c not in strings)

    @property
    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """Return, by kind of column, the columns that its kernels use by default."""
        categories = set(self.categories)
        numbers = tuple(c for c in self.numeric if c not in categories)
        return {
            SEQUENCES: self.sequences,
            CATEGORIES: self.categories or self.numeric,
            NUMBERS: numbers,
        }

    def origins(self, n_packed: int) -> tuple[int, ...]:
        """Return, for each column of a packed table, the input column it came from."""
        n_rest, width = n_packed - len(self.numeric), max(1, len(self.sequences))
        return self.numeric + self.sequences * (n_rest // width)

    def name(self, column: int) -> str:
        """Return the name of a column, as it appears in the names of kernels."""
        return label_of([column], self.features.names)

    def label(self, column: int) -> str:
        """Return the name of a column in messages."""
        return repr(column if self.features.names is None else self.name(column))

    def packed(self, numbers: Array, strings: Sequence[Iterable[object]]) -> Array:
        """Return one table of numbers and packed sequences; raise for empty strings."""
        # Numeric columns come first. The numbers of all sequence columns follow,
        # interleaved: a slice with a step selects one column, whatever its length.
        blocks = []
        for column, values in zip(self.sequences, strings, strict=True):
            suffix = f" of column {self.label(column)}" * (self.features.number > 1)
            sequences = from_texts(values, suffix)
            empty_rows = np.flatnonzero(sequences.lengths == 0)
            if empty_rows.size:
                raise ValueError(
                    f"Sequence {empty_rows[0]}{suffix} is empty: remove samples with "
                    "empty sequences."
                )
            blocks.append(pack(sequences))
        if not blocks:
            return numbers
        width = max(block.shape[1] for block in blocks)
        table = np.zeros((blocks[0].shape[0], width, len(blocks)))
        for j, block in enumerate(blocks):
            table[:, : block.shape[1], j] = block
        return np.hstack([numbers, table.reshape(table.shape[0], -1)])

    def resolve(self, dictionary: KernelDictionary) -> ListDictionary:
        """Return kernels on packed columns; raise if one does not support a column."""
        kernels = [self._resolve(dictionary[m], m) for m in range(len(dictionary))]
        names = dictionary.names if isinstance(dictionary, ListDictionary) else None
        names = names or unique_names([kernel_name(kernel) for kernel in kernels])
        return ListDictionary(kernels, names)

    def check(self, dictionary: KernelDictionary, table: Array) -> None:
        """Raise if a kernel does not support the sequences of its column."""
        # The table has the user's order of rows, because messages count rows.
        for m in range(len(dictionary)):
            kernel, columns = dictionary[m], table
            if isinstance(kernel, ColumnKernel):
                columns = select_columns(table, kernel.columns)
                kernel = kernel.kernel
            if isinstance(kernel, SequenceKernel):
                try:
                    kernel.check(unpack(columns))
                except ValueError as error:
                    name = kernel_name(dictionary[m])
                    raise ValueError(f"Kernel {m} ({name}): {error}") from error

    def _resolve(self, kernel: Kernel, m: int) -> Kernel:
        """Return kernel number `m` with its columns replaced by packed columns."""
        # A kernel without columns gets all columns of the kind that it supports.
        if isinstance(kernel, ProductKernel):
            factors = [self._resolve(factor, m) for factor in kernel.kernels]
            return replace(kernel, kernels=factors)
        inner, label, owner = kernel, None, f"Kernel {m} ({kernel_name(kernel)})"
        indices: tuple[int, ...] | None = None
        if isinstance(kernel, ColumnKernel):
            inner, label = kernel.kernel, kernel.label
            indices = resolve_indices(kernel.columns, self.features)
            if label is None:
                label = resolved_label(kernel.columns, indices, self.features)
        column_kind = _supported_kind(inner)
        if indices is None:
            indices = self.kinds[column_kind]
        self._check_kinds(owner, indices, column_kind)
        if column_kind == SEQUENCES:
            if label is None and self.features.number > 1:
                label = self.name(indices[0])
            if label is None:
                return inner
            start = len(self.numeric) + self.sequences.index(indices[0])
            packed = slice(start, None, len(self.sequences))
            return ColumnKernel(inner, packed, label)
        position = {column: index for index, column in enumerate(self.numeric)}
        if label is None:
            label = f"all {column_kind}"
        return ColumnKernel(inner, [position[c] for c in indices], label)

    def _check_kinds(self, owner: str, indices: tuple[int, ...], kind: str) -> None:
        """Raise unless the columns are of the kernel's kind."""
        accepted = self.numeric if kind == CATEGORIES else self.kinds[kind]
        if not (indices and accepted):
            on_categories = "ColumnKernel(CategoryKernel(), column)"
            advice = {
                SEQUENCES: "omit this kernel, or add a column of sequences (text with "
                "a CategoryKernel is read as categories)",
                CATEGORIES: f"select a column with {on_categories}",
                NUMBERS: "use sequence kernels (multikernel.kernels.sequence), or "
                f"{on_categories}",
            }
            raise ValueError(
                f"{owner} requires {kind}, but X has no column of {kind}: "
                f"{advice[kind]}."
            )
        if kind == SEQUENCES and len(indices) > 1:
            labels = ", ".join(map(self.label, self.sequences))
            raise ValueError(
                f"{owner} requires one column of sequences, got {len(indices)} "
                "columns: select one column with ColumnKernel. Columns of sequences: "
                f"{labels}."
            )
        wrong = [c for c in indices if c not in accepted]
        if wrong:
            wrong_kind = CATEGORIES if wrong[0] in self.categories else NUMBERS
            wrong_kind = SEQUENCES if wrong[0] in self.sequences else wrong_kind
            raise ValueError(
                f"{owner} requires {kind}, but column {self.label(wrong[0])} contains "
                f"{wrong_kind}: select columns of {kind} with ColumnKernel."
            )


def _supported_kind(kernel: Kernel) -> str:
    """Return the kind of columns that a kernel supports."""
    while isinstance(kernel, OptionalKernel | ExpectedKernel | CenteredKernel):
        kernel = kernel.kernel
    if isinstance(kernel, SequenceKernel):
        return SEQUENCES
    # Sample names are coded as numbers, like categories.
    return CATEGORIES if isinstance(kernel, CategoryKernel | SampleKernel) else NUMBERS


def any_kernel_supports(kernels: object, kind: str) -> bool:
    """Return whether any kernel of a `kernels` parameter supports a kind of columns."""
    if isinstance(kernels, ListDictionary | ParameterGrid):
        kernels = kernels.kernels
    if not isinstance(kernels, list | tuple):
        # Dictionaries of other classes support numbers only.
        return False
    return any(
        _supported_kind(factor.kernel if isinstance(factor, ColumnKernel) else factor)
        == kind
        for kernel in kernels
        for factor in factors_of(kernel)
    )


def columns_of_kind(kernels: Sequence[Kernel], kind: str) -> set[int]:
    """Return the columns of all kernels that support `kind`, such as SEQUENCES."""
    return {
        int(column)
        for kernel in kernels
        for factor in factors_of(kernel)
        if isinstance(factor, ColumnKernel) and _supported_kind(factor.kernel) == kind
        for column in (factor.columns if isinstance(factor.columns, tuple) else ())
    }
