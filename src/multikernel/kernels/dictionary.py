"""Dictionaries of kernels: a list, and a grid whose kernels are built on demand."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from operator import index as as_index

from multikernel._validation import shown
from multikernel.kernels.base import (
    Kernel,
    KernelDictionary,
    check_kernel,
    kernel_name,
    kernel_sequence,
)
from multikernel.kernels.columns import (
    ColumnKernel,
    Columns,
    Features,
    resolve_indices,
    resolve_kernel,
    resolved_label,
)

ALL_COLUMNS = slice(None)


@dataclass(frozen=True)
class ListDictionary:
    """A dictionary of at least one kernel, given as a sequence.

    `names` are unique names of the kernels. By default, each kernel has its own name,
    followed by its index, as in "rbf #2", if several kernels have the same name.
    """

    kernels: Sequence[Kernel]
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if not self.kernels:
            raise ValueError("kernels must contain at least one kernel, got none.")
        for position, kernel in enumerate(self.kernels):
            check_kernel(kernel, f"Kernel {position}")
        if self.names is None:
            # Names made from parameters may be equal; labels are chosen by the user.
            labeled = [k for k in self.kernels if getattr(k, "label", None) is not None]
            user_names = list(map(kernel_name, labeled))
        else:
            user_names = list(self.names)
            object.__setattr__(self, "names", tuple(user_names))
            if len(user_names) != len(self.kernels):
                raise ValueError(
                    f"ListDictionary: there are {len(user_names)} names for "
                    f"{len(self.kernels)} kernels: pass one name per kernel."
                )
        for name, count in Counter(user_names).most_common(1):
            if count > 1:
                raise ValueError(
                    f"{count} kernels are named {name!r}: use different names."
                )

    def __len__(self) -> int:
        return len(self.kernels)

    def __getitem__(self, index: int, /) -> Kernel:
        return self.kernels[index]

    def name(self, index: int) -> str:
        """Return the name of one kernel."""
        return self._all_names[index]

    @cached_property
    def _all_names(self) -> tuple[str, ...]:
        """Return unique names of all kernels."""
        if self.names is not None:
            return tuple(self.names)
        return unique_names([kernel_name(kernel) for kernel in self.kernels])


@dataclass(frozen=True)
class ParameterGrid:
    """Every kernel on every set of columns, built on demand.

    Kernel ``i`` is ``kernels[i % len(kernels)]`` on ``column_sets[i // len(kernels)]``.
    Column sets are as in `ColumnKernel`; ``slice(None)`` means all columns. `labels`,
    one per column set, are used in kernel names instead of the columns' names.
    """

    # Kernels on the same columns are adjacent, so that their distances are computed
    # once.

    kernels: Sequence[Kernel]
    column_sets: Sequence[Columns]
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", ListDictionary(self.kernels).kernels)
        object.__setattr__(self, "column_sets", tuple(self.column_sets))
        if not self.column_sets:
            raise ValueError(
                "ParameterGrid: column_sets must contain at least one set of columns, "
                "got none."
            )
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
            if len(self.labels) != len(self.column_sets):
                raise ValueError(
                    f"ParameterGrid: there are {len(self.labels)} labels for "
                    f"{len(self.column_sets)} column sets: pass one label per set."
                )

    def __len__(self) -> int:
        return len(self.kernels) * len(self.column_sets)

    def __getitem__(self, index: int, /) -> Kernel:
        set_index, kernel_index = divmod(range(len(self))[index], len(self.kernels))
        column_set = self.column_sets[set_index]
        if column_set == ALL_COLUMNS:
            return self.kernels[kernel_index]
        label = None if self.labels is None else self.labels[set_index]
        return ColumnKernel(self.kernels[kernel_index], column_set, label)


@dataclass(frozen=True)
class ResolvedDictionary:
    """A dictionary that replaces column names by indices when a kernel is built."""

    dictionary: KernelDictionary
    features: Features

    def __len__(self) -> int:
        return len(self.dictionary)

    def __getitem__(self, index: int, /) -> Kernel:
        return resolve_kernel(self.dictionary[index], self.features)


def resolve_columns(
    dictionary: KernelDictionary,
    n_features: int,
    feature_names: Sequence[str] | None = None,
) -> KernelDictionary:
    """Return a dictionary whose column names are replaced by indices.

    Estimators call this once in `fit`, because arrays have no column names. Names of
    kernels keep the column names. Raises ValueError for a column that the data lacks.
    """
    names = None if feature_names is None else tuple(feature_names)
    return resolve(dictionary, Features(n_features, names))


@singledispatch
def resolve(dictionary: KernelDictionary, features: Features) -> KernelDictionary:
    """Return a dictionary with indices instead of names; see `resolve_columns`."""
    return ResolvedDictionary(dictionary, features)


@resolve.register
def _resolve_list(dictionary: ListDictionary, features: Features) -> KernelDictionary:
    kernels = [resolve_kernel(kernel, features) for kernel in dictionary.kernels]
    names = dictionary.names
    if names is None:
        names = unique_names([kernel_name(kernel) for kernel in kernels])
    return ListDictionary(kernels, names)


@resolve.register
def _resolve_grid(dictionary: ParameterGrid, features: Features) -> KernelDictionary:
    column_sets = dictionary.column_sets
    indices = [resolve_indices(columns, features) for columns in column_sets]
    pairs = list(zip(column_sets, indices, strict=True))
    labels = dictionary.labels or [resolved_label(*pair, features) for pair in pairs]
    sets = [
        ALL_COLUMNS if columns == ALL_COLUMNS else names for columns, names in pairs
    ]
    return ParameterGrid(dictionary.kernels, sets, labels)


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique names: repeated names get their position, as in "rbf #2"."""
    counts = Counter(names)
    return tuple(
        name if counts[name] == 1 else f"{name} #{index}"
        for index, name in enumerate(names)
    )


def kernel_names(
    dictionary: KernelDictionary, indices: Iterable[int] | None = None
) -> list[str]:
    """Return the names of the kernels at some indices, by default of all kernels."""
    n_kernels = len(kernel_sequence("kernel_names", dictionary))
    positions: Sequence[int] = range(n_kernels)
    try:
        if indices is not None:
            positions = [positions[as_index(i)] for i in indices]
    except (TypeError, IndexError) as error:
        raise type(error)(
            f"kernel_names: indices must be a sequence of integers from {-n_kernels} "
            f"to {n_kernels - 1}, got {shown(indices)}. Negative integers count from "
            "the end."
        ) from error
    # A dictionary with a method `name(index)` defines the names of its kernels.
    name = getattr(dictionary, "name", None)
    if callable(name):
        return [name(position) for position in positions]
    kernels = [dictionary[position] for position in positions]
    for index, kernel in zip(positions, kernels, strict=True):
        check_kernel(kernel, f"Kernel {index} of the dictionary")
    return [kernel_name(kernel) for kernel in kernels]
