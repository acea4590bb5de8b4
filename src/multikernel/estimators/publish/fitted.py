"""The fitted attributes of solutions, and the state from which models predict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from multikernel._typing import Array, Indices
from multikernel._validation import (
    COUNT,
    DAMAGED_FIT,
    check_parameter,
    check_places,
    check_shapes,
    shown,
)
from multikernel.estimators.publish.intervals import FoldModels
from multikernel.estimators.publish.predict import AdditiveModel
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.tables import TEXT_FEATURES
from multikernel.exceptions import warn_user
from multikernel.linalg.tall import covariances_with_sum
from multikernel.problem import Progress, Solution, Status

FINISHED = (Status.CONVERGED, Status.SELECTED, Status.PRECISE, Status.STATIONARY)
"""Statuses of a successful solve; any other status causes a warning."""

SEVERITY = (
    *FINISHED,
    Status.NOISE_LIMITED,
    Status.LIMITED,
    Status.STOPPED,
    Status.MAX_KERNELS,
    Status.MAX_ITER,
    Status.STALLED,
)
"""Statuses from best to worst; a fit reports the worst of its problems."""


class Outcome(Protocol):
    """The facts about a solve that solutions of all solvers contain."""

    @property
    def status(self) -> Status:
        """Why the solver stopped."""

    @property
    def n_iter(self) -> int:
        """The number of outer iterations."""

    @property
    def history(self) -> Sequence[Progress]:
        """The `Progress` after each outer iteration."""


@dataclass(frozen=True, eq=False)
class BlockFunctions:
    """Coefficients of a model's functions f_m, by active kernel, sample and output."""

    # Kernels with a nonzero norm in at least one output, ascending.
    active: Indices
    # Shape (n_active, n_samples, n_outputs), except that the second axis has the length
    # `GramStack.expansion_length`, if that differs from n_samples. The values of f_m
    # for output k are ``K_m @ coefs[j, :, k]``, with m = active[j].
    coefs: Array
    intercept: Array
    # Coefficients of unpenalized columns, (n_columns, n_outputs); None if there are
    # none.
    effects: Array | None = None


def merge(solutions: Sequence[Solution]) -> BlockFunctions:
    """Return the functions of several solutions, over the union of their kernels."""
    # All solutions use the same stack. Either each has one output, or each has several.
    active = np.unique(np.concatenate([solution.active for solution in solutions]))
    intercept = np.concatenate([solution.intercept for solution in solutions])
    lengths = {s.coefs.shape[1] for s in solutions if s.active.size}
    length = lengths.pop() if lengths else solutions[0].dual.shape[0]
    coefs = np.zeros((active.size, length, intercept.size))
    start = 0
    for solution in solutions:
        shape = solution.active.size, length, solution.intercept.size
        rows, end = (np.searchsorted(active, solution.active), start + shape[-1])
        coefs[rows, :, start:end] = solution.coefs.reshape(shape)
        start = end
    all_effects = [s.effects for s in solutions if s.effects is not None]
    effects = np.stack(all_effects, axis=1) if all_effects else None
    return BlockFunctions(active.astype(np.intp), coefs, intercept, effects)


def was_stopped(solutions: Sequence[Outcome | None]) -> bool:
    """Return whether a callback has stopped a solve; skipped outputs are None."""
    return any(s is not None and s.status is Status.STOPPED for s in solutions)


def worst_status(solutions: Iterable[Outcome]) -> Status:
    """Return the worst status of the solutions."""
    return max((s.status for s in solutions), key=SEVERITY.index)


def status_attributes(status: Status) -> dict[str, str]:
    """Return ``status_``, a code for why a solver stopped, and ``status_message_``."""
    return {"status_": status.name.lower(), "status_message_": str(status.value)}


def algorithms_used(solutions: Sequence[Solution]) -> str | NDArray[np.str_]:
    """Return the names of the algorithms used: text, or an array for many solutions."""
    steps = [", then ".join(solution.steps) for solution in solutions]
    return steps[0] if len(steps) == 1 else np.array(steps)


def single(values: object) -> Any:
    """Return values as an array, without the axis of outputs if there is only one."""
    values = np.asarray(values)
    return values[0] if values.shape[0] == 1 else values


def variance_shares(terms: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    """Return the share Cov(f_m, f) / Var(f) of each term f_m in the variance of f.

    The sum f of the terms is over the last axis of `terms`, (n_samples[, n_outputs],
    n_active), as from `contributions`; shares have shape ([n_outputs, ]n_active). They
    sum to one, do not depend on the scaling of kernels, and are negative for terms that
    counteract others. Shares are zero if f is constant.
    """
    values = np.asarray(terms, dtype=np.float64)
    weights = np.ones(values.shape[0])
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=np.float64)
    return shares_of(covariances_with_sum(values, weights))


def shares_of(products: Array) -> Array:
    """Return products, (..., n_terms), divided by their sum; zero for sums <= 0."""
    totals = products.sum(axis=-1, keepdims=True)
    shares = np.zeros(products.shape)
    np.divide(products, totals, out=shares, where=totals > 0.0)
    return shares


def spread_terms(
    norms: Array, shares: Array, active: Indices, n_kernels: int
) -> dict[str, Array]:
    """Return ``block_norms_`` and ``variance_shares_``, zero for inactive kernels."""
    # `norms` and `shares` have shape (n_outputs, n_active). The returned arrays have
    # shape (n_kernels,) for one output, otherwise (n_outputs, n_kernels).
    all_norms, all_shares = np.zeros((2, len(norms), n_kernels))
    all_norms[:, active], all_shares[:, active] = norms, shares
    return {"block_norms_": single(all_norms), "variance_shares_": single(all_shares)}


HISTORY_DTYPE = np.dtype(
    [
        ("output", np.intp),
        ("iteration", np.intp),
        ("seconds", np.float64),
        ("objective", np.float64),
        ("duality_gap", np.float64),
        ("n_active", np.intp),
        ("passes", np.float64),
        ("inner_steps", np.intp),
    ]
)

PROGRESS = attrgetter(*(HISTORY_DTYPE.names or ())[1:])
"""Returns the fields of a `Progress` that a line of a history contains."""


def iterations(paths: Iterable[Iterable[Outcome]]) -> Any:
    """Return each output's total number of iterations on its path, but at least 1."""
    # If the initial point is optimal, its certificate counts as an iteration, because
    # scikit-learn requires at least one of every estimator with ``max_iter``.
    return single([max(1, sum(solution.n_iter for solution in path)) for path in paths])


def history_array(
    solutions: Sequence[Outcome], scale: float | Array
) -> NDArray[np.void]:
    """Return the problems' histories as one array, with objectives times `scale`."""
    rows = [
        (output, *PROGRESS(progress))
        for output, solution in enumerate(solutions)
        for progress in solution.history
    ]
    history = np.array(rows, dtype=HISTORY_DTYPE)
    # `scale`, one number or one per problem, converts objectives to the estimator's
    # scale.
    history["objective"] *= np.full(len(solutions), scale)[history["output"]]
    return history


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The state of a fitted estimator: the model and the settings of its fit."""

    names: KernelNames
    precomputed: bool  # whether new samples are given as Gram matrices
    loss: str  # as shown in messages
    has_probabilities: bool  # whether the loss is a likelihood
    model: AdditiveModel | None = None  # None for a search with refit=False
    stages: Any = None  # the models after each selected kernel, for greedy methods
    # How decision values are converted to predictions, see `find_link`.
    link: str = "one_vs_rest"
    # The D^2 score of a regressor: "pinball" with its level, or "tweedie" with its
    # power. None means R^2.
    deviance: tuple[str, float] | None = None
    outputs: tuple[str, ...] = ()  # the names of the outputs
    # The X of a search and its decision values, stored so that a prediction for the
    # same object X does not compute them again.
    known: tuple[object, Array] | None = None
    folds: FoldModels | None = None  # the models of a search's folds, if stored
    has_offset: bool = False


class FittedEstimator(Protocol):
    """A fitted estimator of this library, as summaries and Sobol indices read it."""

    n_features_in_: int
    kernel_weights_: Array
    active_kernels_: Indices
    block_norms_: Array
    variance_shares_: Array
    duality_gap_: float | Array
    fit_info_: Mapping[str, object]
    output_names_: list[str]
    unpenalized_coef_: Array  # only if there are unpenalized columns
    tol: float
    _state: FittedModel

    def _fitted(self) -> FittedModel: ...


def additive_model(estimator: FittedEstimator) -> AdditiveModel:
    """Return the model that predicts, which every fit with a refit has."""
    model = estimator._state.model
    assert model is not None
    return model


def warn_without_offset(model: FittedEstimator) -> None:
    """Warn if a model fitted with an offset predicts without one."""
    if model._state.has_offset:
        warn_user(
            f"{type(model).__name__} was fitted with an offset, but none was passed, "
            "so the result assumes an offset of zero: call predict(X, offset=...) or "
            "score(X, y, offset=...). Cross-validation by scikit-learn requires "
            "metadata routing and set_score_request(offset=True)."
        )


def warn_refit_without_offset(
    owner: str, model: BaseEstimator, offset: ArrayLike | None
) -> None:
    """Warn if a function named `owner` lacks the offset of a model's fit."""
    if offset is None and getattr(vars(model).get("_state"), "has_offset", False):
        warn_user(
            f"{owner}: {type(model).__name__} was fitted with an offset, but none was "
            "passed, so the result assumes an offset of zero: pass the offset of that "
            "fit."
        )


PER_KERNEL = ("kernel_weights_", "block_norms_", "variance_shares_", "node_norms_")
"""Attributes with one value per kernel, or one per output and kernel."""


SELECTION = ("kernel_weights_", "node_norms_")
"""Attributes of `PER_KERNEL` that all outputs may share."""

PER_OUTPUT = ("objective_", "duality_gap_", "n_iter_", "reduced_gap_", "n_searched_")
"""Attributes with one number, or one per output."""


def check_fitted(estimator: BaseEstimator) -> None:
    """Raise unless the attributes of a fit have the shapes that its model requires."""
    # This always holds after a fit, but may be false for a model from a file.
    fit, owner = vars(estimator), type(estimator).__name__
    state = fit.get("_state")
    if state is None:
        return
    n_kernels, n_features = state.names.n_kernels, fit["n_features_in_"]
    check_parameter(owner, "n_features_in_", n_features, COUNT)
    n_outputs = np.size(fit.get("intercept_", 0.0))
    shape: tuple[int, ...] = (n_outputs, n_kernels)
    shapes = dict.fromkeys(PER_KERNEL, shape[n_outputs == 1 :])
    for name in SELECTION:
        if np.ndim(fit.get(name)) == 1:
            shapes[name] = shape[1:]
    shapes |= {name: shape[: min(1, np.ndim(fit.get(name)))] for name in PER_OUTPUT}
    for name in shapes.keys() & fit.keys():
        check_shapes(owner, **{name: (np.asarray(fit[name]), shapes[name])})
    _check_columns(owner, fit, n_features)
    history = fit["history_"]
    is_history = history.ndim == 1 and history.dtype == HISTORY_DTYPE
    expected = f"a vector with the fields {HISTORY_DTYPE.names}"
    _require(is_history, owner, "history_", expected, history)
    if state.model is not None:
        _check_model(owner, fit, state, n_features)


def _check_columns(owner: str, fit: Mapping[str, Any], n_features: int) -> None:
    """Raise unless the attributes of columns agree with the number of features."""
    _check_length(owner, "feature_names_in_", fit, n_features)
    text_columns = {name: fit[name] for name in TEXT_FEATURES if name in fit}
    views, missing = fit.get("view_columns_", {}), fit.get("missing_views_", {})
    for name, columns in (text_columns | views).items():
        check_places(owner, name, columns, n_features)
    are_texts = isinstance(missing, dict) and all(map(_is_text, missing.values()))
    is_complete = are_texts and missing.keys() == views.keys()
    expected = "a dict from each view to a string"
    _require(is_complete, owner, "missing_views_", expected, missing)
    if "category_features_" in fit:
        values = fit["categories_"]
        _check_length(owner, "categories_", fit, fit["category_features_"].size)
        are_vectors = all(np.ndim(categories) == 1 for categories in values)
        expected = "a list of one-dimensional arrays"
        _require(are_vectors, owner, "categories_", expected, values)


def _check_model(
    owner: str, fit: Mapping[str, Any], state: FittedModel, n_features: int
) -> None:
    """Raise unless a model matches the kernels and columns of its estimator."""
    model, n_kernels, dual = state.model, state.names.n_kernels, fit["dual_coef_"]
    assert model is not None
    n_outputs = model.n_outputs
    shapes: dict[str, tuple[int | str, ...]] = {
        "intercept_": (n_outputs,),
        "active_kernels_": (model.n_active,),
        "dual_coef_": ("n_outputs", "n_samples")[np.ndim(dual) < 2 :],
    }
    names: Any = fit.get("unpenalized_names_")
    if "unpenalized_coef_" in fit:
        are_texts = isinstance(names, list) and all(map(_is_text, names))
        _require(are_texts, owner, "unpenalized_names_", "a list of strings", names)
        shapes["unpenalized_coef_"] = (n_outputs, len(names))[n_outputs == 1 :]
    check_shapes(owner, **{name: (fit[name], axes) for name, axes in shapes.items()})
    check_places(owner, "active_kernels_", fit["active_kernels_"], n_kernels)
    if "support_" in fit:
        check_places(owner, "support_", fit["support_"], dual.shape[-1])
    _check_length(owner, "output_names_", {"output_names_": state.outputs}, n_outputs)
    if state.link not in ("labels", "identity"):
        _check_length(owner, "classes_", fit, max(2, n_outputs))
    is_packed = "sequence_features_" in fit or "sparse_input_" in fit
    for fold_model in (model, *(state.folds.models if state.folds is not None else ())):
        fold_model.check_columns(n_kernels, n_features, packed=is_packed)
        check_shapes(owner, intercept=(fold_model.intercept, (n_outputs,)))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _check_length(owner: str, name: str, fit: Mapping[str, Any], n: int) -> None:
    """Raise unless an attribute is absent, or a sequence of length `n`."""
    values = fit.get(name, range(n))
    is_matrix = isinstance(values, np.ndarray) and values.ndim > 1
    expected = f"one sequence of {n} values"
    _require(not is_matrix and len(values) == n, owner, name, expected, values)


def _require(
    is_valid: bool, owner: str, name: str, expected: str, value: object
) -> None:
    """Raise unless an attribute is valid; `expected` describes valid values."""
    if not is_valid:
        raise ValueError(
            f"{owner}: {name} must be {expected}, got {shown(value)}. {DAMAGED_FIT}"
        )
