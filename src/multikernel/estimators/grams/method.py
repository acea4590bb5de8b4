"""Methods that learn from Gram matrices: how they prepare, solve and publish."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import check_combination
from multikernel.estimators.grams.grams import additive_model
from multikernel.estimators.grams.listed import solve_outputs
from multikernel.estimators.grams.predicted import as_predicted
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.source import GramSource
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Solved
from multikernel.estimators.parameters import LossSetting
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import (
    FINISHED,
    BlockFunctions,
    history_array,
    iterations,
    merge,
    shares_of,
    single,
    spread_terms,
    status_attributes,
    steps_taken,
    worst_status,
)
from multikernel.estimators.publish.predict import AdditiveModel
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.problem import Solution, Status


@dataclass(frozen=True, eq=False)
class GramMethod(ABC):
    """A method that solves one `Problem` per output.

    Parameters
    ----------
    source : GramSource
        The Gram matrices that the method learns from.
    loss : LossSetting
        The loss of one sample, without sample weights.
    """

    source: GramSource
    loss: LossSetting

    why_no_path: ClassVar[str | None] = None

    @abstractmethod
    def recipe(self, data: Training) -> Recipe:
        """Return the losses, penalties and solver for these samples."""

    def learn(self, data: Training, watch: Watch) -> dict[str, Any]:
        """Return the fitted attributes."""
        return self.publish(self.solve(self.recipe(data), data, watch))

    def along_path(self) -> Self:
        """Return the method without its own strength, which a path replaces."""
        return self

    def solve(
        self,
        recipe: Recipe,
        data: Training,
        watch: Watch,
        starts: Sequence[Solution] = (),
    ) -> GramFit:
        """Return the certified solutions of all outputs, computed from warm starts."""
        watch.expect(len(recipe.penalties), recipe.objective_scale)
        return finished(solve_outputs(recipe, data, watch, starts))

    def publish(self, fit: GramFit) -> dict[str, Any]:
        """Return the fitted attributes."""
        return fitted_attributes(fit)


def fitted_attributes(fit: GramFit) -> dict[str, Any]:
    """Return the fitted attributes, with the model that predicts as ``_model``.

    If there is a single problem, attributes have no axis of problems.
    """
    recipe, training, solutions = fit.recipe, fit.training, fit.solutions
    samples = training.samples
    scales = np.full(len(solutions), recipe.objective_scale)
    expansion = training.completed(merge(solutions))
    model, active = additive_model(training, expansion), expansion.active
    kernel_weights = np.array([s.kernel_weights for s in solutions])
    training.check_sums(active, kernel_weights)
    dual = _dual_points(fit)
    in_use = expansion.coefs.any(axis=(0, 2))
    if in_use.size != dual.shape[1]:
        # Factors have coefficients for columns, not samples. Their functions are sums
        # of earlier dual points over the samples.
        in_use = dual.any(axis=0) & bool(active.size)
    return {
        **_described_terms(training, expansion),
        **described_effects(model),
        "kernel_weights_": single(kernel_weights),
        "active_kernels_": active,
        "dual_coef_": single(samples.scatter(dual)),
        "support_": samples.rows_of(np.flatnonzero(in_use)),
        "objective_": single(scales * [s.objective for s in solutions]),
        "duality_gap_": single([s.duality_gap for s in solutions]),
        "n_iter_": iterations([[s] for s in solutions]),
        "history_": history_array(solutions, scales),
        "fit_info_": {"solver": steps_taken(solutions), **training.fit_info},
        **status_attributes(worst_status(solutions)),
        **{f"{name}_": number for name, number in recipe.numbers.items()},
        "_model": model,
        # A short list of kernels has fewer names than the data.
        "_names": training.names,
    }


def _described_terms(training: Training, expansion: BlockFunctions) -> dict[str, Any]:
    """Return the norms and shares of a model, as `spread_terms` names them."""
    stack, active = training.stack, expansion.active
    weights = training.samples.sample_weight
    weights = np.ones(stack.shape[1]) if weights is None else weights
    squares, products = stack.term_covariances(active, expansion.coefs, weights)
    norms = np.sqrt(np.maximum(squares, 0.0))
    return spread_terms(norms, shares_of(products), active, stack.shape[0])


def _dual_points(fit: GramFit) -> Array:
    """Return the dual points in the estimator's scale, (n_outputs, n_samples)."""
    factors = np.full(len(fit.solutions), fit.recipe.dual_scale)
    pairs = zip(factors, fit.solutions, strict=True)
    dual = np.concatenate([factor * np.atleast_2d(s.dual.T) for factor, s in pairs])
    columns = fit.training.least_squares
    if columns is not None and fit.solutions[0].effects is None:
        dual = columns.projection.transposed(dual.T).T
    return dual


def described_effects(model: AdditiveModel) -> dict[str, Any]:
    """Return the intercept, and coefficients and names of the unpenalized columns."""
    design, effects = model.design, model.effects
    if design is None or effects is None:
        return {"intercept_": model.intercept}
    return {
        "intercept_": design.intercept(model.intercept, effects),  # not centered
        "unpenalized_coef_": single(effects.T),
        "unpenalized_names_": list(design.names),
    }


def solved(candidate: int, fit: GramFit) -> Solved:
    """Return the solutions of all outputs on a fold as the model of a candidate."""
    expansion = fit.training.completed(merge(fit.solutions))
    return Solved(
        [candidate],
        (fit.training, expansion),
        expansion.active.size,
        expansion.coefs.nbytes,
        np.array([solution.duality_gap for solution in fit.solutions]),
        partial(fitted_attributes, fit),
    )


def finished(fit: GramFit, *, stopped: bool = False) -> GramFit:
    """Return the published solutions, and warn about those that did not converge.

    There is no warning if a callback `stopped` the fit.
    """
    published = as_predicted(fit)
    if not stopped:
        warn_unfinished(fit.training, published)
    return replace(fit, solutions=published)


def warn_unfinished(training: Training, solutions: Sequence[Solution]) -> None:
    """Warn if a solver stopped above the tolerance.

    If a solver stalled, an indefinite kernel is searched for and named.
    """
    for solution in solutions:
        if solution.status is Status.STALLED:
            check_combination(training.stack, solution.kernel_weights)
    status = worst_status(solutions)
    if status not in FINISHED:
        gap = max(solution.duality_gap for solution in solutions)
        warn_user(
            f"{training.owner} stopped at a relative duality gap of {gap:.2e}. "
            f"{status.value}",
            ConvergenceWarning,
        )
