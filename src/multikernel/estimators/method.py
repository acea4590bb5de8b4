"""What a fit asks of a method: what it learns from, its problem, its solution.

An estimator makes its method from its parameters; `estimators.fit` calls the parts of
a method in order. A search is a method too, made of another one.
"""

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
    """Samples, and what a method learns from on them: Gram matrices, or a graph.

    A graph needs the methods below that are abstract, and no others.
    """

    samples: Samples
    # Entries of ``fit_info_`` about the matrices.
    fit_info: Mapping[str, Any]
    precomputed: bool = False

    @property
    def names(self) -> KernelNames | None:
        """Return the names of all kernels, None for a graph."""
        return None

    @property
    @abstractmethod
    def n_bytes(self) -> float:
        """Return what it holds in memory."""

    def among(self, samples: Samples) -> Self:
        """Return the same data with `samples`, which differ in their labels at most."""
        return replace(self, samples=samples)  # type: ignore[type-var]

    def naming_errors(self) -> AbstractContextManager[None]:
        """Return a context manager that adds a kernel's name to errors about it."""
        return nullcontext()

    @abstractmethod
    def part(self, chosen: Indices, n_copies: int = 1) -> tuple[Self, Indices]:
        """Return some of the samples, as if these had been read alone.

        Only what was prepared for parts has any, `n_copies` at a time where each needs
        a copy. With them come the `chosen` that stay, one of each group of copies.
        """

    @abstractmethod
    def sample(self, rows: Indices) -> Self:
        """Return some of the samples, from which parts can be cut as from these."""

    def unchecked(self) -> Self:
        """Return the same, whose kernels are checked elsewhere."""
        return self

    @abstractmethod
    def whole(self) -> Self:
        """Return all samples as a fit has them, from what was prepared for parts."""

    @abstractmethod
    def fold(self, train: Indices, test: Indices, n_copies: int) -> "Fold":
        """Return one side of a split to learn from, and the other to score on."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One side of a split to learn from, and the other to score on.

    Parameters
    ----------
    training : Data
        The training samples, their kernels normalized by what they say alone.
    validation : Samples
        The validation samples.
    decision_values : callable
        From several models, as the method's candidates yield them, to their decision
        values on the validation samples, (n_models, n_test, n_outputs).
    """

    training: Any
    validation: Samples
    decision_values: Callable[[Sequence[Any]], Array]

    def inputs(self, *, whole: bool) -> Any:
        """Return the validation samples as the user gave them, or stand-ins for them.

        Precomputed matrices are copied where somebody may look into the `whole`;
        otherwise their numbers stand for them.
        """
        table, rows = self.validation.table, self.validation.rows
        if table.X.ndim == 2:
            return _safe_indexing(table.given, rows)
        if whole:
            return table.X[np.ix_(rows, self.training.samples.rows)]
        return rows


class Source(ABC):
    """What a method learns from, before there are samples.

    Messages call the estimator `owner`. Samples with the same data and label become one
    if it `merges_copies`. They may be in `partitions`, as collections of Dask. Columns
    without a penalty and offsets need `takes_columns`. Folds need data for `parts`.
    """

    owner: str
    kernels: Any
    parts: bool = False
    partitions: bool = False
    merges_copies: bool = True
    takes_columns: bool = False

    @abstractmethod
    def for_parts(self) -> Self:
        """Return what prepares data that parts are cut from."""

    @abstractmethod
    def prepare(
        self, samples: Samples, tell: Callable[[float], None] | None = None
    ) -> Data:
        """Return what the method learns from: kernels, and their values on samples.

        It may `tell` which share of the kernels has been computed.
        """


class Method(Protocol):
    """A frozen value that supplies what differs from one method to another.

    `why_no_path` says why it has no path over strengths, after the estimator's name.
    """

    @property
    def why_no_path(self) -> str | None:
        """Return the end of a sentence, or None if it has a path."""

    @property
    def source(self) -> Source:
        """Return what it learns from."""

    def learn(self, data: Any, watch: Watch, /) -> dict[str, Any]:
        """Return the fitted attributes, with the model that predicts as ``_model``.

        The `watch` gets the number of solves, and the factor from their objectives to
        the estimator's; a solve that ended early is warned of.
        """


@dataclass(frozen=True, eq=False)
class Solved:
    """The model of one candidate on the training samples of a fold, or of several.

    Parameters
    ----------
    places : sequence of int
        The candidates that it is the model of.
    model : object
        What the fold takes to predict.
    n_active : int or ndarray
        How many kernels it has, for each target if these choose alone.
    n_bytes : int
        What it holds in memory.
    gaps : ndarray of shape (n_solves,)
        Relative duality gaps; none for a greedy method.
    attributes : callable
        Returns the fitted attributes.
    chain : sequence of int, default=()
        The candidates that are solved for one after another, ever less simple; this is
        one of them, and later ones may be left out.
    targets : ndarray or None, default=None
        The targets, if these choose alone, that it is the model of.
    """

    places: Sequence[int]
    model: Any
    n_active: int | Array
    n_bytes: int
    gaps: Array
    attributes: Callable[[], dict[str, Any]]
    chain: Sequence[int] = ()
    targets: Indices | None = None


Means = Callable[[], Array | None]
"""Returns the mean scores of all folds, nan where unknown, or None if there are none.

Shapes are (n_candidates,), or (n_candidates, n_targets) if targets choose alone.
"""


@dataclass(frozen=True, eq=False)
class Candidates(ABC):
    """What a search chooses among, the simplest first.

    Parameters
    ----------
    method : Method
        The method, at other strengths than the candidates'. Its `with_tol` returns
        it with another relative duality gap to stop at, or itself if it has none.
    blocks : sequence of ndarray or None, default=None
        Targets that choose alone, in blocks that are solved for together; None where
        there is one choice for all.
    """

    method: Any
    blocks: Sequence[Indices] | None = field(default=None, kw_only=True)

    def with_tol(self, tol: float) -> Self:
        """Return the candidates, solved for to another relative duality gap."""
        return replace(self, method=self.method.with_tol(tol))

    def on_share(self, share: float) -> Self:
        """Return the candidates with the strengths for a share of the samples.

        Strengths are those for all samples. C, which multiplies a sum, stays the same.
        """
        return self

    def without_path(self) -> Self:
        """Return the candidates whose chosen one is solved without a path to it."""
        return self

    def __len__(self) -> int:
        """Return how many candidates there are."""
        return len(next(iter(self.columns().values())))

    @abstractmethod
    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the parameters that candidates differ in, (n_candidates,) for each.

        Where candidates are numbers of kernels, those above `most`, the largest in any
        fold, are left out.
        """

    @abstractmethod
    def solve(self, data: Any, watch: Watch, means: Means, /) -> Iterator[Solved]:
        """Yield the models of candidates on one fold, in any order.

        What the `means` say is not worth it may be left out.
        """

    @abstractmethod
    def refit(self, data: Any, watch: Watch, best: Any, /) -> dict[str, Any]:
        """Return the fitted attributes of the best candidate's model on all samples.

        The best one is a number, or an array if targets choose alone. One iteration is
        made where the `watch` is stopped already.
        """

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grids whose ends are worth a warning beside a choice."""
        return self.columns()
