"""What the estimators that select kernels one after the other share."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if

from multikernel._typing import Array
from multikernel._validation import COUNT, NON_NEGATIVE, AnyOf, Check, Number
from multikernel.estimators.data.read import check_predict_data
from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.one_vs_rest import FINISHED
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Recipe, Training
from multikernel.estimators.fit.stages import Stages, make_stages
from multikernel.estimators.search.tasks import (
    ClassifierMKL,
    RegressorMKL,
    class_codes,
    has_probabilities,
    log_probabilities,
    one_column,
)
from multikernel.exceptions import ConvergenceWarning
from multikernel.losses import weighted
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GreedyPath, GroupOMP

LARGEST_SEED = 2**31 - 1


class GreedyMKL(BaseMKL):
    """A model that grows by one kernel at a time; every prefix of it is a model."""

    # There is no certificate that could ask for it.
    _refines = False

    # Copies do not change a selection: there is no machine with corners to settle.
    _merges_copies: ClassVar[bool] = False

    _checks: ClassVar[Mapping[str, Check]] = {
        "tol": NON_NEGATIVE,
        "subsample": AnyOf((Number(0.0, 1.0, above=True), COUNT)),
    }

    max_kernels: int | None
    subsample: float | int
    tol: float

    def _build(self, total_weight: float) -> Recipe:
        """Return the recipe; the mean loss of an alpha is the sum of total times it."""
        whole = isinstance(self.subsample, Integral)
        drawn = whole or self.subsample < 1.0
        random = check_random_state(self.random_state) if drawn else None
        solver = GroupOMP(
            max_kernels=self.max_kernels,
            tol=float(self.tol),
            subsample=int(self.subsample) if whole else float(self.subsample),
            random_state=0 if random is None else random.randint(LARGEST_SEED),
        )
        ridge = BlockElasticNet(self._strength() * total_weight, l1_ratio=0.0)
        return Recipe(self._find_loss(), ridge, solver, 1.0 / total_weight)

    def _solve(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> dict[str, Any]:
        """Select kernels and return the fitted attributes."""
        path = greedy_solver(recipe).path(joint_problem(recipe, training), watch)
        warn_interrupted(type(self).__name__, path)
        return make_stages(path, training, recipe.objective_scale).attributes()

    def _fitted_stages(self) -> Stages:
        """Return the models of all prefixes, or say that there are none."""
        stages = self._fitted().stages
        assert stages is not None
        return stages

    def _staged_values(self, X: Any) -> Array:
        """Return decision values, shape (n_selected + 1, n_samples, n_outputs)."""
        model = self._fitted_stages().model
        return model.decision_values(
            check_predict_data(self, X, self._state.precomputed)
        )

    def prefix(self, n_kernels: int) -> Self:
        """Return the fitted model with the first selected kernels only.

        It predicts, and has the fitted attributes, as if it had been fitted with so
        many kernels; its parameters are those of this estimator.

        Parameters
        ----------
        n_kernels : int
            How many, from none to all of ``selection_order_``.

        Returns
        -------
        model : estimator
            Shares its arrays with this estimator.

        Raises
        ------
        ValueError
            If fewer kernels were selected.
        """
        stages = self._fitted_stages()
        if not 0 <= n_kernels <= len(stages):
            raise ValueError(
                f"{type(self).__name__} has models with 0 to {len(stages)} kernels, "
                f"got n_kernels={n_kernels}."
            )
        attributes = stages.prefix(n_kernels).attributes()
        state = replace(
            self._state,
            model=attributes.pop("_model"),
            stages=attributes.pop("_stages"),
        )
        view = copy.copy(self)
        for name, value in (attributes | {"_state": state}).items():
            setattr(view, name, value)
        return view


def greedy_solver(recipe: Recipe) -> GroupOMP:
    """Return the solver of a greedy recipe."""
    assert isinstance(recipe.solver, GroupOMP)
    return recipe.solver


def joint_problem(recipe: Recipe, training: Training) -> Problem:
    """Return one problem with all outputs, so that they share a selection.

    Parameters
    ----------
    recipe : Recipe
        Loss and penalty.
    training : Training
        The data.

    Returns
    -------
    problem : Problem
    """
    samples = training.samples
    targets = samples.targets
    y = targets[0] if len(targets) == 1 else np.ascontiguousarray(targets.T)
    loss = weighted(recipe.loss, samples.weights)
    return Problem(training.stack, y, loss, recipe.regularizer, training.fit_intercept)


def warn_interrupted(owner: str, path: GreedyPath) -> None:
    """Say so where a selection ended before its time.

    Parameters
    ----------
    owner : str
        The estimator.
    path : GreedyPath
        Its path.

    Warns
    -----
    ConvergenceWarning
        With the number of kernels and the reason.
    """
    if path.status not in FINISHED:
        warnings.warn(
            f"{owner} stopped with {len(path)} kernels. {path.status.value}",
            ConvergenceWarning,
            stacklevel=5,
        )


class GreedyClassifier(GreedyMKL, ClassifierMKL):
    """Adds the predictions of all prefixes of a classifier."""

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Return the decision values of the models with no kernel, one kernel, ...

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        values : iterator of ndarray of shape (n_samples,) or (n_samples, n_classes)
            Item k is the `decision_function` of ``prefix(k)``. Every kernel is
            evaluated once for all.
        """
        return (one_column(f) for f in self._staged_values(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Return the predictions of the models with no kernel, one kernel, ...

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `staged_decision_function`.

        Returns
        -------
        labels : iterator of ndarray of shape (n_samples,)
            Item k holds the predictions of ``prefix(k)``.
        """
        values = self._staged_values(X)
        return (self.classes_[class_codes(f)] for f in values)

    @available_if(has_probabilities)
    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Return the probabilities of all prefixes; log loss only.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `staged_decision_function`.

        Returns
        -------
        probabilities : iterator of ndarray of shape (n_samples, n_classes)
            Item k holds the probabilities of ``prefix(k)``.
        """
        return (np.exp(log_probabilities(f)) for f in self._staged_values(X))


class GreedyRegressor(GreedyMKL, RegressorMKL):
    """Adds several targets, and the predictions of all prefixes of a regressor."""

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Return the predictions of the models with no kernel, one kernel, ...

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        y : iterator of ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Item k holds the predictions of ``prefix(k)``. Every kernel is evaluated
            once for all.
        """
        return (one_column(f) for f in self._staged_values(X))

    def __sklearn_tags__(self) -> Tags:
        """Say that several targets are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
