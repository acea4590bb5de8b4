"""Protocols of methods: their data, problems and solutions; a search wraps a method."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
from sklearn.utils import _safe_indexing

from multikernel._typing import Array, Indices
from multikernel.estimators.progress import Watch
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.samples import Samples


class Data(ABC):
    """Training data of a method: samples with Gram matrices or a graph."""

    # A graph implements only the abstract methods.
    samples: Samples
    # Entries of ``fit_info_`` about the matrices.
    fit_info: Mapping[str, object]
    precomputed: bool = False

    @property
    def names(self) -> KernelNames | None:
        """The names of all kernels; None for a graph."""
        return None

    @property
    def none_varies(self) -> bool:
        """Whether all kernels are zero or constant; for a graph, all columns of X."""
        return False

    @property
    @abstractmethod
    def n_bytes(self) -> float:
        """The bytes of the Gram matrices; for a graph, the bytes that a fit needs."""

    def relabel(self, samples: Samples) -> Self:
        """Return a copy with other `samples`, which may differ only in labels."""
        return replace(self, samples=samples)  # type: ignore[type-var]

    def naming_errors(self) -> AbstractContextManager[None]:
        """Return a context manager that adds the kernel's name to kernel errors."""
        return nullcontext()

    @abstractmethod
    def part(self, indices: Indices, n_in_memory: int = 1) -> tuple[Self, Indices]:
        """Return the data of the samples `indices`, and indices that merging keeps.

        If the `Source` requires it, equal samples are merged into the first of them,
        and only the index of this one is returned. `n_in_memory` is the number of parts
        that are in memory at a time.
        """
        # The `Source` must have `parts=True`. Parts that copy matrices share the limit
        # of memory.

    @abstractmethod
    def sample(self, rows: Indices) -> Self:
        """Return the data of the samples `rows`, from which folds can be cut."""

    def on_all_samples(self) -> Self:
        """Return the data of all samples, ready for a fit."""
        return self.part(np.arange(self.samples.rows.size))[0]

    @abstractmethod
    def fold(self, train: Indices, test: Indices, n_in_memory: int) -> "Fold":
        """Return the fold of a split; `n_in_memory` folds are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Fold:
    """The training data and the validation samples of a fold."""

    training: Data  # with kernels normalized on the training samples alone
    validation: Samples
    # Maps models, as yielded by the method's candidates, to their decision values on
    # the validation samples, (n_models, n_test, n_outputs).
    decision_values: Callable[[Sequence[Any]], Array]

    def inputs(self, *, with_matrices: bool) -> object:
        """Return the user's data of the validation samples, or their row numbers."""
        table, rows = self.validation.table, self.validation.rows
        if table.X.ndim == 2:
            return _safe_indexing(table.given, rows)
        # X contains precomputed matrices. Unless `with_matrices`, return row numbers.
        if with_matrices:
            return table.X[np.ix_(rows, self.training.samples.rows)]
        return rows


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """Source of the training data of a method, before samples are read."""

    owner: str  # name of the estimator in messages
    kernels: object
    # Whether folds are cut from the data. Their kernels are then normalized later, on
    # the training samples of each fold.
    parts: bool = field(default=False, kw_only=True)
    # Whether samples may be in partitions, as Dask collections.
    partitions: bool = field(default=False, kw_only=True)
    # Whether samples with the same data and label are merged, their weights added.
    # Machines for nonsmooth losses depend on how many samples share a dual variable.
    merges_copies: bool = field(default=True, kw_only=True)
    # Whether unpenalized columns and offsets are supported.
    takes_columns: bool = field(default=False, kw_only=True)

    @abstractmethod
    def prepare(
        self, samples: Samples, report: Callable[[float], None] | None = None
    ) -> Data:
        """Return the training data; `report` receives the share of computed kernels."""


class Method(Protocol):
    """A learning method with its settings, which never change."""

    @property
    def source(self) -> Source:
        """The source of the method's training data."""

    def learn(self, data: Any, watch: Watch, /) -> dict[str, object]:
        """Fit the data; return the attributes, with the fitted model as ``_model``."""
        # `watch` receives the number of solves, and the factor that converts their
        # objectives to the estimator's. A solve that ended early emits a warning.


@dataclass(frozen=True, eq=False)
class Solved:
    """A model fitted on the training set of a fold, for one or several candidates."""

    candidates: Sequence[int]  # the candidates with this model
    model: object  # in the form that `Fold.decision_values` requires
    # Number of active kernels; an array with a number for each target, if each target
    # chooses its own candidate.
    n_active: int | Array
    n_bytes: int
    gaps: Array  # relative duality gaps of the solves; empty for a greedy method
    attributes: Callable[[], dict[str, object]]  # returns the fitted attributes
    # Candidates that are solved one after another, from simple to complex. They include
    # the candidates of this model, and the search may skip the last ones.
    chain: Sequence[int] = ()
    # The targets of this model, if each target chooses its own candidate.
    targets: Indices | None = None


Means = Callable[[], Array]
"""Returns mean scores over folds, (n_candidates, n_choices), with one choice or one
per target; nan for candidates that some fold has not scored yet."""


@dataclass(frozen=True, eq=False)
class Candidates(ABC):
    """The candidates of a search, the simplest first."""

    # Candidates replace the strength of this method. Its `with_tol` returns
    # the method with another tolerance, or itself if it has no tolerance.
    method: Any
    # Blocks of targets that are solved together, if each target chooses its own
    # candidate; None if there is one choice for all targets.
    blocks: Sequence[Indices] | None = field(default=None, kw_only=True)

    def with_tol(self, tol: float) -> Self:
        """Return the candidates with another tolerance."""
        return replace(self, method=self.method.with_tol(tol))

    def scaled_to_share(self, share: float) -> Self:
        """Return candidates with strengths adapted to a share of the samples."""
        # Strengths are given for all samples. By default they stay the same on a part
        # of the samples, as for C, which multiplies a sum over samples. Classes whose
        # strength is relative to the mean loss, such as alpha, override this method.
        return self

    def without_path(self) -> Self:
        """Return candidates whose `refit` solves only the best one, if supported."""
        return self

    def __len__(self) -> int:
        # All values of `grid` have this length.
        return len(next(iter(self.grid().values())))

    @abstractmethod
    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return the parameters that vary among candidates, (n_candidates,) each."""
        # If candidates are numbers of kernels, those above `max_kernels` are omitted;
        # None omits no candidate.

    @abstractmethod
    def solve(self, data: Any, watch: Watch, means: Means, /) -> Iterator[Solved]:
        """Yield the models of candidates on one fold, in any order."""
        # Candidates that cannot improve the `means` may be skipped.

    @abstractmethod
    def refit(self, data: Any, watch: Watch, best: Any, /) -> dict[str, object]:
        """Return the fitted attributes of the best candidate's model on all samples."""
        # `best` is an index, or an array if targets choose separately. If the `watch`
        # has already stopped, one iteration is made.

    def open_grids(self, best_params: Mapping[str, float]) -> Mapping[str, Array]:
        """Return, by parameter, the grids that may give better models if extended."""
        # A search warns if its best value is at an end of one of these grids.
        return self.grid()
