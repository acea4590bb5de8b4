"""Selection of kernels one after the other; every prefix of it is a model."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if

from multikernel._typing import Array
from multikernel._validation import COUNT, NON_NEGATIVE, AnyOf, Check, Number
from multikernel.estimators.data.read import check_predict_data
from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.one_vs_rest import FINISHED
from multikernel.estimators.fit.parameters import POSITIVE_SEQUENCE
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Recipe, Training
from multikernel.estimators.fit.stages import Stages, make_stages
from multikernel.estimators.gram_method import GramSource, gram_source, loss_of
from multikernel.estimators.search.tasks import (
    RegressorMKL,
    class_codes,
    has_probabilities,
    log_probabilities,
    one_column,
)
from multikernel.exceptions import ConvergenceWarning
from multikernel.losses import Loss, weighted
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GreedyPath, GroupOMP

LARGEST_SEED = 2**31 - 1

GREEDY_CHECKS: Mapping[str, Check] = {
    "alphas": POSITIVE_SEQUENCE,
    "tol": NON_NEGATIVE,
    "subsample": AnyOf((Number(0.0, 1.0, above=True), COUNT)),
}

Model = TypeVar("Model", bound=BaseMKL)


@dataclass(frozen=True, eq=False)
class GreedyMethod:
    """A mean loss and a ridge over kernels that join one at a time.

    Parameters
    ----------
    source : GramSource
        What it learns from.
    loss : Loss
        The loss of one sample.
    alpha : float
        Strength of the ridge.
    solver : GroupOMP
        The algorithm.
    """

    source: GramSource
    loss: Loss
    alpha: float
    solver: GroupOMP

    why_no_path: ClassVar[str] = (
        "has a path over numbers of kernels, not over strengths: one fit holds it, see "
        "selection_order_ and prefix."
    )

    def problem(self, data: Training) -> Recipe:
        """Return the recipe; the mean loss of an alpha is the sum of total times it."""
        total = data.samples.total_weight
        ridge = BlockElasticNet(self.alpha * total, l1_ratio=0.0)
        return Recipe(self.loss, ridge, self.solver, 1.0 / total)

    def solve(self, problem: Recipe, data: Training, watch: Watch) -> GreedyPath:
        """Select kernels, and return the models with none, one, two, ..."""
        path = self.solver.path(joint_problem(problem, data), watch)
        warn_interrupted(self.source.owner, path)
        return path

    def publish(
        self, problem: Recipe, data: Training, solution: GreedyPath
    ) -> dict[str, Any]:
        """Return the fitted attributes, with the models of all prefixes."""
        return make_stages(solution, data, problem.objective_scale).attributes()


def greedy_method(model: Any, alpha: float = 1.0) -> GreedyMethod:
    """Return the method of an estimator, at a strength of one for a search.

    Copies do not change a selection: there is no machine with corners to settle. Nor is
    there a certificate that could ask for finer factors.
    """
    whole = isinstance(model.subsample, Integral)
    drawn = whole or model.subsample < 1.0
    random = check_random_state(model.random_state) if drawn else None
    solver = GroupOMP(
        max_kernels=model.max_kernels,
        tol=float(model.tol),
        subsample=int(model.subsample) if whole else float(model.subsample),
        random_state=0 if random is None else random.randint(LARGEST_SEED),
    )
    source = gram_source(model, merges_copies=False, refines=False)
    return GreedyMethod(source, loss_of(model), float(alpha), solver)


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


def _stages_of(model: BaseMKL) -> Stages:
    """Return the models of all prefixes, or say that there are none."""
    stages: Stages | None = model._fitted().stages
    assert stages is not None
    return stages


def _staged_values(model: BaseMKL, X: Any) -> Array:
    """Return decision values, shape (n_selected + 1, n_samples, n_outputs)."""
    staged = _stages_of(model).model
    return staged.decision_values(
        check_predict_data(model, X, model._state.precomputed)
    )


# What follows are methods of the classes that select kernels, with a search and
# without one: functions, so that these have no further base in common.


def prefix(self: Model, n_kernels: int) -> Model:
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
    stages = _stages_of(self)
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


def staged_decision_function(self: Any, X: Any) -> Iterator[Array]:
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
    return (one_column(f) for f in _staged_values(self, X))


def staged_classes(self: Any, X: Any) -> Iterator[Array]:
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
    values = _staged_values(self, X)
    return (self.classes_[class_codes(f)] for f in values)


@available_if(has_probabilities)
def staged_predict_proba(self: Any, X: Any) -> Iterator[Array]:
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
    return (np.exp(log_probabilities(f)) for f in _staged_values(self, X))


def staged_targets(self: Any, X: Any) -> Iterator[Array]:
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
    return (one_column(f) for f in _staged_values(self, X))


def tags_of_several(self: RegressorMKL) -> Tags:
    """Say that several targets are welcome."""
    tags = RegressorMKL.__sklearn_tags__(self)
    tags.target_tags.multi_output = True
    return tags
