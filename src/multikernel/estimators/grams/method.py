"""Methods that learn from Gram matrices: what they prepare, solve and publish."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from multikernel.estimators.grams.grams import build_grams, build_raw_grams
from multikernel.estimators.grams.solve import (
    fitted_attributes,
    solve_outputs,
    warn_unfinished,
)
from multikernel.estimators.grams.storage import GramOptions, settle_storage
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.grams.useless import warn_degenerate, warn_dictionary
from multikernel.estimators.progress import Watch
from multikernel.estimators.read.dictionary import choose_dictionary
from multikernel.estimators.read.samples import Samples, distinct, in_order
from multikernel.gram.factors.engine import SampledRows
from multikernel.losses import Loss
from multikernel.problem import Solution


@dataclass(frozen=True, eq=False)
class GramSource:
    """Gram matrices of kernels: what most methods learn from.

    Parameters
    ----------
    owner : str
        What messages call the estimator.
    kernels : object
        Its ``kernels``.
    options : GramOptions
        How matrices are made.
    fit_intercept : bool
        Whether models have an intercept.
    verbose : bool
        Whether the choice of a storage is written to standard error.
    merges_copies : bool, default=True
        Whether samples with the same data and label become one, with their weights.
        Machines with corners depend on how many share a dual variable.
    refines : bool, default=True
        Whether factors of low rank are refined where a certificate asks for it;
        otherwise they are at once as fine as they may be.
    partitions : bool, default=False
        Whether samples may be in partitions, as collections of Dask.
    parts : bool, default=False
        Whether parts are to be cut from the matrices, which are not normalised then.
    """

    owner: str
    kernels: Any
    options: GramOptions
    fit_intercept: bool
    verbose: bool
    merges_copies: bool = True
    refines: bool = True
    partitions: bool = False
    parts: bool = False

    def for_parts(self) -> Self:
        """Return what prepares matrices that parts are cut from."""
        return replace(self, parts=True, partitions=False)

    def arranged(self, samples: Samples) -> Samples:
        """Return the samples in an order of their own; folds may tell copies apart."""
        if not self.merges_copies or isinstance(samples.X, SampledRows):
            return samples
        return in_order(samples) if self.parts else distinct(samples)

    def prepare(
        self, samples: Samples, tell: Callable[[float], None] | None = None
    ) -> Training:
        """Choose the kernels and their storage, and compute the Gram matrices."""
        dictionary = choose_dictionary(samples)
        options, stored = settle_storage(
            self.owner,
            dictionary,
            samples,
            replace(self.options, tell=tell),
            self.verbose,
        )
        if not self.refines:
            options = options.with_all_landmarks()
        if self.parts:
            grams = build_raw_grams(dictionary, samples, options)
        else:
            grams = build_grams(dictionary, samples, options)
            warn_degenerate(self.owner, grams)
        warn_dictionary(self.owner, grams, samples, self.kernels is None)
        return Training(
            samples,
            grams,
            self.fit_intercept,
            owner=self.owner,
            merges_copies=self.merges_copies,
            stored=stored,
        )


def gram_source(model: Any, **differs: Any) -> GramSource:
    """Return what an estimator learns from, by its parameters.

    Parameters
    ----------
    model : BaseMKL
        With the parameters that are about Gram matrices.
    **differs
        Fields of a `GramSource` that its method wants otherwise.

    Returns
    -------
    source : GramSource
    """
    options = GramOptions(
        model.normalize,
        model.storage,
        model.max_bytes,
        model.random_state,
        model.check_psd,
    )
    given: dict[str, Any] = {
        "kernels": model.kernels,
        "options": options,
        "fit_intercept": getattr(model, "fit_intercept", True),
        "verbose": bool(model.verbose),
    }
    return GramSource(type(model).__name__, **(given | differs))


@dataclass(frozen=True, eq=False)
class GramMethod(ABC):
    """A method whose problem is a `Problem` per output.

    Parameters
    ----------
    source : GramSource
        What it learns from.
    loss : Loss
        The loss of one sample, without sample weights.
    """

    source: GramSource
    loss: Loss

    why_no_path: ClassVar[str | None] = None

    @abstractmethod
    def problem(self, data: Training) -> Recipe:
        """Return loss, penalty and solver for such samples."""

    def solve(self, problem: Recipe, data: Training, watch: Watch) -> list[Solution]:
        """Return the solutions of all outputs, with their gaps."""
        solutions = solve_outputs(problem, data, watch)
        warn_unfinished(self.source.owner, data, solutions)
        return solutions

    def publish(
        self, problem: Recipe, data: Training, solution: list[Solution]
    ) -> dict[str, Any]:
        """Return the fitted attributes."""
        return fitted_attributes(problem, data, solution)
