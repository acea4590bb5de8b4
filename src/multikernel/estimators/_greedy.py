"""What the estimators that select kernels one after the other share."""

import copy
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if

from multikernel._typing import Array
from multikernel.estimators._base import BaseMKL, Recipe
from multikernel.estimators._data import check_predict_data
from multikernel.estimators._grams import Grams
from multikernel.estimators._predict import AdditiveModel
from multikernel.estimators._samples import Samples
from multikernel.estimators._scores import FoldClassifier
from multikernel.estimators._stages import Stages, make_stages
from multikernel.estimators._tasks import (
    MKLClassifier,
    MKLRegressor,
    has_probabilities,
    predictions,
)
from multikernel.gram.base import GramStack
from multikernel.losses import Loss, weighted
from multikernel.problem import Callback, Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GroupOMP

LARGEST_SEED = 2**31 - 1


class GreedyMKL(BaseMKL):
    """A model that grows by one kernel at a time; every prefix of it is a model."""

    subsample: float | int
    _stages: Stages

    def _recipe(
        self, loss: Loss, alpha: float, max_kernels: int | None, total_weight: float
    ) -> Recipe:
        """Return the recipe; the mean loss of an alpha is the sum of total times it."""
        whole = isinstance(self.subsample, Integral)
        drawn = whole or self.subsample < 1.0
        random = check_random_state(self.random_state) if drawn else None
        solver = GroupOMP(
            max_kernels=max_kernels,
            tol=self.tol,
            subsample=int(self.subsample) if whole else float(self.subsample),
            random_state=0 if random is None else random.randint(LARGEST_SEED),
        )
        ridge = BlockElasticNet(alpha * total_weight, l1_ratio=0.0)
        return Recipe(loss, ridge, solver, 1.0 / total_weight)

    def _problems(
        self, recipe: Recipe, stack: GramStack, samples: Samples
    ) -> list[Problem]:
        """Return one problem with all outputs, so that they share a selection."""
        loss = weighted(recipe.loss, self._weights(samples))
        targets = self._targets(samples)
        y = targets[0] if len(targets) == 1 else np.ascontiguousarray(targets.T)
        return [Problem(stack, y, loss, recipe.regularizer, self.fit_intercept)]

    def _fit_samples(
        self, samples: Samples, grams: Grams, callback: Callback | None
    ) -> dict[str, Any]:
        """Select kernels and return the fitted attributes."""
        recipe = self._build(self._total_weight(samples))
        assert isinstance(recipe.solver, GroupOMP)
        (problem,) = self._problems(recipe, grams.stack, samples)
        path = recipe.solver.path(problem, self._watch(recipe, callback))
        stages = make_stages(path, grams.cross, samples, recipe.objective_scale)
        return stages.attributes() | {"_names": grams.names}

    def _fitted_model(self) -> AdditiveModel:
        return self._fitted_stages().last_model()

    def _fitted_stages(self) -> Stages:
        """Return the models of all prefixes, or say that there are none."""
        self._require_fitted()
        return self._stages

    def _staged_values(self, X: Any) -> Array:
        """Return decision values, shape (n_selected + 1, n_samples, n_outputs)."""
        model = self._fitted_stages().model
        return model.decision_values(check_predict_data(self, X))

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
        view = copy.copy(self)
        for name, value in stages.prefix(n_kernels).attributes().items():
            setattr(view, name, value)
        return view


class GreedyClassifier(GreedyMKL, MKLClassifier):
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
        return (predictions(f) for f in self._staged_values(X))

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
        stage = FoldClassifier(self.loss, self.classes_)
        return (stage.predict(f) for f in values)

    @available_if(has_probabilities)
    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Return the probabilities of all prefixes; logistic loss only.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `staged_decision_function`.

        Returns
        -------
        probabilities : iterator of ndarray of shape (n_samples, n_classes)
            Item k holds the probabilities of ``prefix(k)``.
        """
        values = self._staged_values(X)
        stage = FoldClassifier(self.loss, self.classes_)
        return (stage.predict_proba(f) for f in values)


class GreedyRegressor(GreedyMKL, MKLRegressor):
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
        return (predictions(f) for f in self._staged_values(X))

    def __sklearn_tags__(self) -> Tags:
        """Say that several targets are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
