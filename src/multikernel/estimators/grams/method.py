"""Methods that learn from Gram matrices: how they prepare, solve and publish."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import (
    check_combination,
    decision_values,
    scaled_dual_value,
)
from multikernel.certificates.rounding import (
    ORDINARY,
    is_rounding,
    largest_losses,
    with_rounding,
)
from multikernel.estimators.grams.grams import additive_model
from multikernel.estimators.grams.recipe import GramFit, Recipe, originals, problems_of
from multikernel.estimators.grams.solving import solve_outputs
from multikernel.estimators.grams.source import GramSource
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Solved
from multikernel.estimators.parameters import LossSetting
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import (
    FINISHED,
    BlockFunctions,
    algorithms_used,
    history_array,
    iterations,
    merge,
    shares_of,
    single,
    spread_terms,
    status_attributes,
    worst_status,
)
from multikernel.estimators.publish.predict import AdditiveModel
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.gram.factors.landmarks import landmarks_of
from multikernel.gram.rounded import is_single, rounding_ratios
from multikernel.linalg import EPS, SINGLE, TINY
from multikernel.problem import Problem, Solution, Status
from multikernel.solvers.base import tolerance_of

# Stored matrices may be approximate or rounded. If the active kernels are recomputed at
# the training samples, the objective refers to the values of ``decision_function``.
CHEAP = 0.1
"""Active kernels are recomputed if they have at most this share of stored entries."""

# These bounds are about ten times the actual errors of single precision.
ORDINARY_SINGLE = 1e-5
"""Bounds on rounding errors below this share of the objective do not widen the gap."""

# At this ratio, centering cancels at least four of sixteen digits.
LARGE = 1e4
"""Kernels are recomputed if centering divides the size of one by more than this."""


@dataclass(frozen=True, eq=False)
class GramMethod(ABC):
    """A method that solves a `Problem` per output, or one for all outputs together."""

    source: GramSource
    # The loss of one sample, without sample weights.
    loss: LossSetting

    @abstractmethod
    def recipe(self, data: Training) -> Recipe:
        """Return the losses, penalties and solver for the training data."""

    def learn(self, data: Training, watch: Watch) -> dict[str, object]:
        """Solve the problems of all outputs, and return the fitted attributes."""
        fit = self.solve(self.recipe(data), data, watch)
        return self.publish(fit)

    def solve(
        self,
        recipe: Recipe,
        data: Training,
        watch: Watch,
        starts: Sequence[Solution] = (),
    ) -> GramFit:
        """Return solutions of all outputs, with duality gaps, from warm `starts`."""
        # `finish` recomputes objectives and gaps from predicted values, and warns if a
        # solver stopped early.
        watch.expect(len(recipe.penalties))
        return self.finish(solve_outputs(recipe, data, watch, starts))

    def finish(self, fit: GramFit, *, stopped: bool = False) -> GramFit:
        """Return a fit with recomputed objectives; warn unless it converged."""
        published = with_predicted_objectives(fit)
        # A fit that a callback stopped needs no warning.
        if not stopped:
            warn_unconverged(fit.training, published)
        return replace(fit, solutions=published)

    def publish(self, fit: GramFit) -> dict[str, object]:
        """Return the fitted attributes."""
        return fitted_attributes(fit)


def fitted_attributes(fit: GramFit) -> dict[str, object]:
    """Return the fitted attributes, with the model that predicts as ``_model``."""
    recipe, training, solutions = fit.recipe, fit.training, fit.solutions
    samples, scale = training.samples, recipe.objective_scale
    stack, columns = training.stack, training.least_squares
    expansion = training.with_fitted_columns(merge(solutions))
    model, active = additive_model(training, expansion), expansion.active
    kernel_weights = np.array([s.kernel_weights for s in solutions])
    training.check_definite(active, kernel_weights)
    # The dual points in the scale of ``dual_coef_``, shape (n_outputs, n_samples).
    dual = np.concatenate([np.atleast_2d(s.dual.T) for s in solutions])
    dual = np.reshape(recipe.dual_scale, (-1, 1)) * dual
    if columns is not None and solutions[0].effects is None:
        dual = columns.projection.transposed(dual.T).T
    is_used = expansion.coefs.any(axis=(0, 2))
    if is_used.size != dual.shape[1]:
        # The coefficients belong to the columns of factors, not to samples. Samples in
        # use are then those with a nonzero dual variable.
        is_used = dual.any(axis=0) & bool(active.size)
    weights = samples.sample_weight
    weights = np.ones(stack.shape[1]) if weights is None else weights
    squares, products = stack.term_covariances(active, expansion.coefs, weights)
    norms, shares = np.sqrt(np.maximum(squares, 0.0)), shares_of(products)
    # If there is one problem, `single` removes the axis of problems.
    return {
        **spread_terms(norms, shares, active, stack.shape[0]),
        **effect_attributes(model),
        "kernel_weights_": single(kernel_weights),
        "active_kernels_": active,
        "dual_coef_": single(samples.scatter(dual)),
        "support_": samples.rows_of(np.flatnonzero(is_used)),
        "objective_": single(scale * np.array([s.objective for s in solutions])),
        "duality_gap_": single([s.duality_gap for s in solutions]),
        "n_iter_": iterations([[s] for s in solutions]),
        "history_": history_array(solutions, scale),
        "fit_info_": {"solver": algorithms_used(solutions), **training.fit_info},
        **status_attributes(worst_status(solutions)),
        **{f"{name}_": value for name, value in recipe.params.items()},
        "_model": model,
        # A fit on a short list of kernels has fewer names than the dictionary.
        "_names": training.names,
    }


def effect_attributes(model: AdditiveModel) -> dict[str, Array | list[str]]:
    """Return ``intercept_``, and coefficients and names of the unpenalized columns."""
    design, effects = model.design, model.effects
    if design is None or effects is None:
        return {"intercept_": model.intercept}
    # Coefficients and intercept refer to columns that are not centered.
    return {
        "intercept_": design.intercept(model.intercept, effects),
        "unpenalized_coef_": single(effects.T),
        "unpenalized_names_": list(design.names),
    }


def solved_candidate(candidate: int, fit: GramFit) -> Solved:
    """Return the model of a candidate on a fold, from the solutions of all outputs."""
    expansion = fit.training.with_fitted_columns(merge(fit.solutions))
    return Solved(
        [candidate],
        (fit.training, expansion),
        expansion.active.size,
        expansion.coefs.nbytes,
        np.array([solution.duality_gap for solution in fit.solutions]),
        partial(fitted_attributes, fit),
    )


def convergence_gap(solution: Solution) -> float:
    """Return the duality gap to compare with ``tol``."""
    # A problem that is not convex has no gap; its last convex problem has one.
    gap: float = getattr(solution, "subproblem_gap", solution.duality_gap)
    return gap


def warn_unconverged(training: Training, solutions: Sequence[Solution]) -> None:
    """Warn if a solver stopped early; raise if an indefinite kernel stalled it."""
    status = worst_status(solutions)
    if status in FINISHED:
        return
    for solution in solutions:
        if solution.status is Status.STALLED:
            check_combination(training.stack, solution.kernel_weights)
    gap = max(map(convergence_gap, solutions))
    warn_user(
        f"{training.source.owner} stopped at a relative duality gap of {gap:.2e}. "
        f"{status.value}",
        ConvergenceWarning,
    )


def with_predicted_objectives(fit: GramFit) -> Sequence[Solution]:
    """Return solutions whose objective and gap are those of the predictions."""
    # Single precision (`rounded`) at first only adds its errors to the gap. Active
    # kernels are evaluated again (`recompute`) if the gap then exceeds tol, if
    # centering cancels many digits, or if this takes little time.
    recipe, training, solutions = fit.recipe, fit.training, fit.solutions
    # Most fits, of kernels in double precision without unpenalized columns, have exact
    # objectives and end here. Training entries may have single precision; predictions
    # always have double.
    rounded = is_single(training.source.options.storage) and not training.precomputed
    recompute = _must_recompute(training, solutions, rounded=rounded)
    if not (recompute or rounded or training.design is not None):
        return solutions
    tol, problems = tolerance_of(recipe.solver), problems_of(recipe, training)[0]
    if rounded:
        with_errors = partial(_with_norm_errors, training)
        solutions = list(map(with_errors, problems, solutions))
    if rounded and not recompute:
        with_errors = partial(_with_loss_errors, training)
        bounded = list(map(with_errors, problems, solutions))
        recompute = any(solution.duality_gap > tol for solution in bounded)
        solutions = solutions if recompute else bounded
    if not (recompute or training.design is not None):
        return solutions
    expansion = training.with_fitted_columns(merge(solutions))
    f, linear = _predicted_values(training, expansion, recompute=recompute)
    first_output, published = 0, []
    triples = zip(originals(recipe, training), problems, solutions, strict=True)
    for triple in triples:
        outputs = slice(first_output, first_output + triple[2].intercept.size)
        first_output, values = outputs.stop, (f[:, outputs], linear[:, outputs])
        published.append(_predicted_solution(training, *triple, *values, tol))
    return published


def _predicted_values(
    training: Training, expansion: BlockFunctions, *, recompute: bool
) -> tuple[Array, Array]:
    """Return decision values, and the part of them from the unpenalized columns."""
    # The decision values and this part each have shape (n_samples, n_outputs).
    linear = np.zeros((training.stack.shape[1], expansion.intercept.size))
    if training.design is not None and expansion.effects is not None:
        linear += training.design(training.X) @ expansion.effects
    # If `recompute`, evaluate active kernels as for new samples, without the stack.
    if recompute:
        model = additive_model(training, expansion)
        return model.decision_values(training.X), linear
    f = linear + expansion.intercept
    if expansion.active.size:
        kernels = training.stack.once(expansion.active)
        f += kernels.block_matvec(expansion.coefs).sum(axis=0)
    return f, linear


def _must_recompute(
    training: Training, solutions: Sequence[Solution], *, rounded: bool
) -> bool:
    """Return whether to compute the active kernels again at the training samples."""
    # Recomputed kernels have the exact values of predictions. This is required if
    # centering cancels many digits. Otherwise, rounded or approximate kernels are
    # recomputed if this is cheap.
    # `rounded` says whether the stored matrices have single precision.
    if not isinstance(training.X, np.ndarray):
        return False
    active = np.unique(np.concatenate([solution.active for solution in solutions]))
    ratios = rounding_ratios(training.stack_with_rounding)[active]
    if ratios.max(initial=0.0) > LARGE:
        return True
    stack, landmarks = training.stack, landmarks_of(training.stack)
    if landmarks is None and not rounded:
        return False
    width = active.size * stack.shape[1]
    if landmarks is not None:
        width = sum(landmarks.widths(stack, active))
    return float(stack.shape[1]) * width <= CHEAP * stack.pass_numbers()


def _with_norm_errors(
    training: Training, problem: Problem, solution: Solution
) -> Solution:
    """Return a solution whose gap covers single-precision errors of dual norms."""
    # Rounding can make the computed dual norms too small, and the dual value too large.
    # So the gap grows by the decrease of the dual value if the dual point must be
    # feasible for `largest_norms`, which are upper bounds of the exact dual norms.
    dual, norms = solution.dual, solution.norms
    sizes = np.abs(training.stack.traces()) / len(problem.y)
    errors = SINGLE * float(np.sum(dual * dual)) * sizes
    squared_norms = np.maximum(problem.gram.quadratic_forms(dual), 0.0)
    largest_norms = np.sqrt(squared_norms + errors)
    _, value = scaled_dual_value(problem, dual, norms, np.sqrt(squared_norms))
    _, least_value = scaled_dual_value(problem, dual, norms, largest_norms)
    hidden, objective = max(value - least_value, 0.0), solution.objective
    gap = with_rounding(solution.duality_gap, hidden, objective, ORDINARY_SINGLE)
    return replace(solution, duality_gap=gap)


def _with_loss_errors(
    training: Training, problem: Problem, solution: Solution
) -> Solution:
    """Return a solution whose gap covers single-precision errors of the loss."""
    if not solution.active.size:
        return solution
    diagonals = np.maximum(training.stack.once(solution.active).diagonals(), 0.0)
    squares = (solution.coefs.reshape(*diagonals.shape, -1) ** 2).sum(axis=2)
    sizes = np.sqrt(np.einsum("mi,mi->m", squares, diagonals))
    errors = SINGLE * (sizes @ np.sqrt(diagonals))
    f = _solver_values(problem, solution)
    errors = np.broadcast_to(errors.reshape((-1,) + (1,) * (f.ndim - 1)), f.shape)
    losses = largest_losses(problem.loss, problem.y, f, errors)
    hidden_loss = float((losses - problem.loss.value(problem.y, f)).sum())
    gap = with_rounding(solution.duality_gap, hidden_loss, solution.objective)
    return replace(solution, duality_gap=gap)


def _solver_values(problem: Problem, solution: Solution) -> Array:
    """Return decision values computed with the stack and the unpenalized columns."""
    f = decision_values(problem, solution)
    if problem.columns is None:
        return f
    assert solution.effects is not None
    return np.asarray(f + problem.columns @ solution.effects)


def _dual_error(training: Training, solution: Solution, linear_part: Array) -> float:
    """Return a bound on the dual value's error that unpenalized columns cause."""
    if training.least_squares is None:
        return 0.0
    dual = solution.dual
    if solution.effects is None:
        dual = training.least_squares.projection.transposed(dual)
    # Dual points are orthogonal to these columns only up to rounding.
    products = dual * (linear_part - linear_part.mean(axis=0))
    return abs(float(products.sum())) + 4.0 * EPS * float(np.linalg.norm(products))


def _predicted_solution(
    training: Training,
    original: Problem,
    problem: Problem,
    solution: Solution,
    f: Array,
    linear_part: Array,
    tol: float,
) -> Solution:
    """Return `solution` with the objective and gap of its predicted values `f`."""
    # `solution` solves `problem`; `original` is the same problem before unpenalized
    # columns are eliminated. `f` are decision values of the published model, of which
    # `linear_part` is from the unpenalized columns. The objective is that of `original`
    # at `f`. The gap is the distance of this objective to the dual value of `problem`,
    # which bounds the optimum of both.
    f, linear_part = f.reshape(original.y.shape), linear_part.reshape(original.y.shape)
    loss = float(original.loss.value(original.y, f).sum())
    solver_f = _solver_values(problem, solution)
    solver_loss = float(problem.loss.value(problem.y, solver_f).sum())
    error, size = _dual_error(training, solution, linear_part), abs(solution.objective)
    # Keep the solver's objective if the loss at `f` differs from it only by rounding.
    is_same = abs(loss - solver_loss) + error <= ORDINARY * size
    if not (is_same or np.isnan(solution.duality_gap)):
        objective = solution.objective + loss - solver_loss
        bound = solution.objective - solution.duality_gap * size - error
        gap = max((objective - bound) / max(abs(objective), TINY), 0.0)
        changes: dict[str, Any] = {"objective": objective, "duality_gap": gap}
        last_line = [replace(line, **changes) for line in solution.history[-1:]]
        history = (*solution.history[:-1], *last_line)
        solution = replace(solution, history=history, **changes)
    if is_rounding(original, f, np.abs(f) + np.abs(linear_part), solution.objective):
        solution = replace(solution, duality_gap=0.0, status=Status.CONVERGED)
    if solution.status is Status.CONVERGED and solution.duality_gap > tol:
        solution = replace(solution, status=Status.STALLED)
    return solution
