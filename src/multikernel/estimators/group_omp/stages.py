"""The models of a greedy path: with no kernel, one selected kernel, two, ..."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import DAMAGED_FIT, check_places, check_shapes
from multikernel.estimators.grams.grams import (
    cross_grams,
    landmark_coefs,
    landmark_grams,
)
from multikernel.estimators.grams.method import effect_attributes
from multikernel.estimators.grams.training import Training
from multikernel.estimators.publish.fitted import (
    HISTORY_DTYPE,
    history_array,
    shares_of,
    single,
    spread_terms,
    status_attributes,
)
from multikernel.estimators.publish.predict import (
    AdditiveModel,
    CrossGrams,
    Rows,
    check_effects,
)
from multikernel.estimators.read.numbers import finite_predictions
from multikernel.estimators.read.unpenalized import Design
from multikernel.gram.factors.landmarks import landmarks_of
from multikernel.linalg.tables import row_chunks
from multikernel.problem import Status
from multikernel.solvers import GreedyPath


@dataclass(frozen=True, eq=False)
class ReorderedGrams(CrossGrams):
    """Some of the kernels of a model, in another order."""

    grams: CrossGrams
    positions: Indices  # shape (n_active,), positions in `grams`

    def _check_fitted(self) -> None:
        n_kernels = len(self.grams.widths)
        check_places("ReorderedGrams", "positions", self.positions, n_kernels)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each kernel's matrix."""
        widths = self.grams.widths
        return tuple(widths[position] for position in self.positions)

    def check_columns(self, n_kernels: int, n_features: int, *, packed: bool) -> None:
        """Raise unless all kernels in `grams`, also those not used here, match X."""
        # The arguments are as in `CrossGrams.check_columns`.
        self.grams.check_columns(n_kernels, n_features, packed=packed)

    def between(self, X: Array, Y: Array, position: int) -> Array:
        """Return the matrix of an active kernel between any samples X and Y."""
        return self.grams.between(X, Y, int(self.positions[position]))

    @property
    def n_cached(self) -> int:
        """The maximum number of matrices that the function returned by `at` caches."""
        return self.grams.n_cached

    def at(self, X: Rows) -> Callable[[int], Array]:
        """Return a function that returns a kernel's matrix at X, given its position."""
        matrix = self.grams.at(X)
        return lambda position: matrix(int(self.positions[position]))


@dataclass(frozen=True, eq=False)
class StagedModel:
    """The models of a greedy path; all kernels of a model share its coefficients."""

    grams: CrossGrams  # the kernels in the order of selection
    # Coefficients of the stored samples in the models with no kernel, one kernel, ...:
    # shape (n_selected + 1, n_stored, n_outputs).
    coefs: Array
    intercepts: Array  # (n_selected + 1, n_outputs)
    # If kernels have landmarks in place of samples, the coefficients of each kernel's
    # landmarks, (n_selected + 1, n_landmarks, n_outputs); None if all use `coefs`.
    own: tuple[Array, ...] | None = None
    design: Design | None = None  # the unpenalized columns
    # Coefficients of the unpenalized columns, (n_selected + 1, n_columns, n_outputs).
    effects: Array | None = None

    def _check_fitted(self) -> None:
        check_effects(self.design, self.effects, self.intercepts.shape)
        widths = self.grams.widths
        check_shapes(
            "StagedModel",
            intercepts=(self.intercepts, ("n_models", "n_outputs")),
            coefs=(self.coefs, ("n_models", "n_kept", "n_outputs")),
        )
        n_models, n_kept, n_outputs = self.coefs.shape
        if not n_models - 1 <= len(widths):
            raise ValueError(
                f"StagedModel: {n_models} models require at least {n_models - 1} "
                f"kernels, got {len(widths)}. {DAMAGED_FIT}"
            )
        if self.own is None:
            if any(width != n_kept for width in widths):
                raise ValueError(
                    "StagedModel: coefs must have one row per column of each kernel, "
                    f"got {n_kept} rows, but kernels with {widths} columns. "
                    f"{DAMAGED_FIT}"
                )
            return
        for width, values in zip(widths, self.own, strict=True):
            shapes = {"own coefficients": (values, ("n_all", width, n_outputs))}
            check_shapes("StagedModel", **shapes)
            if len(values) < n_models:
                raise ValueError(
                    "StagedModel: each kernel must have coefficients for all "
                    f"{n_models} models, got {len(values)}. {DAMAGED_FIT}"
                )

    def last_coefs(self) -> Array:
        """Return the last model's coefficients, (n_selected, n_columns, n_outputs)."""
        # Each column belongs to a stored sample or a landmark of the kernel.
        # If `own` is None, all kernels share coefs[-1].
        n_selected = len(self.coefs) - 1
        if self.own is None or not n_selected:
            return np.broadcast_to(self.coefs[-1], (n_selected, *self.coefs.shape[1:]))
        # Kernels have different numbers of landmarks: fill the missing rows with zeros.
        own_coefs = self.own[:n_selected]
        n_rows = max(values.shape[1] for values in own_coefs)
        coefs = np.zeros((n_selected, n_rows, self.coefs.shape[2]))
        for position, values in enumerate(own_coefs):
            coefs[position, : values.shape[1]] = values[n_selected]
        return coefs

    @np.errstate(over="ignore", invalid="ignore")
    def decision_values(self, X: Rows) -> Array:
        """Return the decision values, shape (n_selected + 1, n_samples, n_outputs)."""
        n_models, width, n_outputs = self.coefs.shape
        if self.own is not None:
            width = max((values.shape[1] for values in self.own), default=1)
        f = np.repeat(self.intercepts[:, None, :], X.shape[0], axis=1)
        if self.design is not None and self.effects is not None:
            f += self.design(X) @ self.effects
        for rows in row_chunks(X.shape[0], width * (1 + self.grams.n_cached)):
            matrix = self.grams.at(X[rows])
            # The model with k kernels uses those at the positions 0, ..., k - 1. Each
            # kernel is evaluated once for all models that use it.
            for position in range(n_models - 1):
                coefs = self.coefs if self.own is None else self.own[position]
                used_coefs = coefs[position + 1 : n_models]
                columns = np.moveaxis(used_coefs, 1, 0).reshape(used_coefs.shape[1], -1)
                images = matrix(position) @ columns
                images = images.reshape(-1, len(used_coefs), n_outputs)
                f[position + 1 :, rows] += np.moveaxis(images, 0, 1)
        finite_predictions(np.moveaxis(f, 1, 0))
        return f


def published_path(
    path: GreedyPath, training: Training
) -> tuple[GreedyPath, Array | None]:
    """Return a path for the original kernels, and effects of unpenalized columns."""
    # The coefficients have shape (n_selected + 1, n_samples, n_outputs). If there are
    # unpenalized columns, a fit projects the kernels such that their functions are
    # orthogonal to these columns.
    path = replace(path, coefs=path.coefs.reshape(*path.coefs.shape[:2], -1))
    fit = training.least_squares
    if fit is None:
        return path, None
    # With projected matrices P K P^T, coefficients c give P K (P^T c): the original
    # kernels have the coefficients P^T c, and `fitted_columns` accounts for P.
    coefs = fit.projection.project_each(path.coefs, transposed=True)
    path = replace(path, coefs=coefs)
    f = kernel_values(path, training)
    pairs = [training.fitted_columns(decision_values) for decision_values in f]
    intercepts, effects = (np.stack(values) for values in zip(*pairs, strict=True))
    return replace(path, intercepts=intercepts), effects


def kernel_values(path: GreedyPath, training: Training) -> Array:
    """Return each model's sum of functions, (n_selected + 1, n_samples, n_outputs)."""
    terms = replace(path, intercepts=np.zeros(path.intercepts.shape))
    return terms.decision_values(training.stack)


def staged_model(
    path: GreedyPath, effects: Array | None, training: Training
) -> tuple[StagedModel, Indices]:
    """Return the models of a path, and the indices of the samples that they store."""
    coefs, linear_part = path.coefs, (training.design, effects)
    used = np.flatnonzero(coefs.any(axis=(0, 2)))
    if landmarks_of(training.stack) is None:
        kernels, stored = cross_grams(training, path.order, used)
        stored_coefs = coefs[:, stored]
        model = StagedModel(kernels, stored_coefs, path.intercepts, None, *linear_part)
        return model, stored
    # With landmarks, convert the coefficients of all models and outputs at once.
    n_models, n_samples, n_outputs = coefs.shape
    side_by_side = np.moveaxis(coefs, 1, 0).reshape(n_samples, -1)
    stack, kernels = training.stack, path.order.tolist()
    arrays = [landmark_coefs(stack, m, side_by_side) for m in kernels]
    shape = -1, n_models, n_outputs
    own = tuple(np.moveaxis(values.reshape(shape), 1, 0) for values in arrays)
    grams = landmark_grams(stack, path.order)
    return StagedModel(grams, coefs[:, used], path.intercepts, own, *linear_part), used


@dataclass(frozen=True, eq=False)
class Stages:
    """The models of a greedy path, with the data of their fitted attributes."""

    model: StagedModel
    order: Indices  # the kernels in the order of selection
    improvements: Array  # predicted decreases of the estimator's objective
    history: NDArray[np.void]  # one line per model, see `history_array`
    rows: Indices  # row numbers of X of the samples that `model` stores
    shape: tuple[int, int]  # number of kernels in the dictionary, number of rows of X
    # Strength of the ridge penalty on the summed loss. Dual variables are coefficients
    # times this strength.
    strength: float
    status: str  # name of a `Status`; model files cannot contain enumerations
    # Block norms and variance shares of each model, see `staged_terms`; both have shape
    # (n_selected + 1, n_outputs, n_selected).
    norms: Array
    shares: Array

    def _check_fitted(self) -> None:
        n_models, n_kept, n_outputs = self.model.coefs.shape
        n_selected = n_models - 1
        check_shapes(
            "Stages",
            order=(self.order, (n_selected,)),
            improvements=(self.improvements, (n_selected,)),
            rows=(self.rows, (n_kept,)),
            norms=(self.norms, (n_models, n_outputs, n_selected)),
            shares=(self.shares, (n_models, n_outputs, n_selected)),
        )
        n_kernels, n_rows = self.shape
        check_places("Stages", "order", self.order, n_kernels)
        check_places("Stages", "rows", self.rows, n_rows)
        if self.history.shape != (n_models,) or self.history.dtype != HISTORY_DTYPE:
            raise ValueError(
                f"Stages: history must have {n_models} records, one per model, with "
                f"the fields {HISTORY_DTYPE.names}, got an array of shape "
                f"{self.history.shape} and type {self.history.dtype}. {DAMAGED_FIT}"
            )

    def __len__(self) -> int:
        return self.order.size

    def prefix(self, k: int) -> "Stages":
        """Return the path that ends with the model of the first k kernels."""
        effects = self.model.effects
        model = replace(
            self.model,
            coefs=self.model.coefs[: k + 1],
            intercepts=self.model.intercepts[: k + 1],
            effects=None if effects is None else effects[: k + 1],
        )
        return replace(
            self,
            model=model,
            order=self.order[:k],
            improvements=self.improvements[:k],
            history=self.history[: k + 1],
            norms=self.norms[: k + 1, :, :k],
            shares=self.shares[: k + 1, :, :k],
            status=self.status if k == len(self) else Status.SELECTED.name,
        )

    def last_model(self) -> AdditiveModel:
        """Return the model with all selected kernels, sorted by their indices."""
        ascending = np.argsort(self.order)
        grams = ReorderedGrams(self.model.grams, ascending)
        coefs = self.model.last_coefs()
        # Without landmarks all kernels have the same coefficients.
        if self.model.own is not None:
            coefs = coefs[ascending]
        effects = None if self.model.effects is None else self.model.effects[-1]
        return AdditiveModel(
            grams, coefs, self.model.intercepts[-1], self.model.design, effects
        )

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the last model, with all selected kernels."""
        n_kernels, n_rows = self.shape
        coefs = self.model.coefs[-1]
        dual = np.zeros((coefs.shape[1], n_rows))
        dual[:, self.rows] = self.strength * coefs.T
        weights = np.zeros(n_kernels)
        weights[self.order] = 1.0
        norms, shares, model = self.norms[-1], self.shares[-1], self.last_model()
        return {
            **spread_terms(norms, shares, self.order, n_kernels),
            **effect_attributes(model),
            "kernel_weights_": weights,
            "active_kernels_": np.sort(self.order),
            "selection_order_": self.order,
            # The improvements and the objective are half of those in Sindhwani and
            # Lozano (2011).
            "improvements_": self.improvements,
            "dual_coef_": single(dual),
            "support_": self.rows[coefs.any(axis=1)],
            "objective_": float(self.history["objective"][-1]),
            "duality_gap_": np.nan,
            "n_iter_": len(self),
            "history_": self.history,
            **status_attributes(Status[self.status]),
            "_model": model,
            "_stages": self,
        }


def make_stages(path: GreedyPath, training: Training, scale: float) -> Stages:
    """Return the models of a path, with its objectives multiplied by `scale`."""
    samples = training.samples
    solution = path.solution()
    training.check_definite(path.order, solution.kernel_weights)
    published, effects = published_path(path, training)
    model, stored = staged_model(published, effects, training)
    norms, shares = staged_terms(published, training)
    return Stages(
        model=model,
        order=path.order,
        improvements=scale * path.improvements,
        history=history_array([solution], scale),
        rows=samples.rows[stored],
        shape=(path.problem.gram.shape[0], len(samples.table.y)),
        strength=path.problem.regularizer.alpha,
        status=path.status.name,
        norms=norms,
        shares=shares,
    )


def staged_terms(path: GreedyPath, training: Training) -> tuple[Array, Array]:
    """Return the block norms and variance shares of the kernels in every model."""
    gram, coefs, n_models = training.stack, path.coefs, len(path) + 1
    f = kernel_values(path, training)
    sample_weight = training.samples.sample_weight
    weights = np.ones(f.shape[1]) if sample_weight is None else sample_weight
    centered = f - np.average(f, axis=1, weights=weights)[:, None]
    centered *= weights[:, None]
    # The results have shape (n_selected + 1, n_outputs, n_selected), with kernels in
    # the order of selection. With coefficients c of a model, a kernel K has the squared
    # norm c^T K c, and its share is the covariance of K c with the model's function f,
    # divided by the sum of all covariances.
    squares, products = np.zeros((2, n_models, f.shape[2], len(path)))
    for position, kernel in enumerate(path.order):
        used_coefs = np.moveaxis(coefs[position + 1 :], 0, 1)
        columns = used_coefs.reshape(used_coefs.shape[0], -1)
        images = gram.take(np.array([kernel])).matvec(columns)[0]
        images = np.moveaxis(images.reshape(used_coefs.shape), 1, 0)
        # The models with more than `position` kernels use this kernel.
        users = slice(position + 1, None)
        squares[users, :, position] = np.einsum("pik,pik->pk", coefs[users], images)
        products[users, :, position] = np.einsum("pik,pik->pk", centered[users], images)
    return np.sqrt(np.maximum(squares, 0.0)), shares_of(products)
