"""The plumbing that all estimators share; a new one adds parameters and `_build`."""

import copy
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from multikernel._typing import Array
from multikernel._validation import Check, InstanceOf, check_parameter, check_weights
from multikernel.certificates import check_combination
from multikernel.estimators._data import (
    check_fit_data,
    check_groups,
    check_predict_data,
    is_precomputed,
)
from multikernel.estimators._grams import Grams, build_grams, naming_the_kernel
from multikernel.estimators._one_vs_rest import FINISHED, merge, worst_status
from multikernel.estimators._parameters import SHARED_CHECKS
from multikernel.estimators._predict import AdditiveModel
from multikernel.estimators._progress import chained, history_array, report
from multikernel.estimators._samples import Labels, Samples
from multikernel.exceptions import ConvergenceWarning
from multikernel.gram.base import GramStack
from multikernel.losses import Loss, weighted
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import Solver


@dataclass(frozen=True, eq=False)
class Recipe:
    """The parts of a method: what `Problem` is made of, and what solves it.

    Parameters
    ----------
    loss : Loss
        The loss of one sample, without sample weights.
    regularizer : BlockRegularizer
        The penalty, in the summed scale of `Problem`.
    solver : Solver
        The algorithm.
    objective_scale : float
        What turns an objective of `Problem` into that of the estimator: one over the
        total weight for a mean loss, C for a C in front of the sum.
    dual_scale : float, default=1.0
        What turns a dual point of `Problem` into the estimator's.
    """

    loss: Loss
    regularizer: BlockRegularizer
    solver: Solver
    objective_scale: float
    dual_scale: float = 1.0


# mypy takes `Callable` for a form of typing; it is a class that isinstance accepts.
CALLBACK = InstanceOf((Callable, NoneType), "callable, or None")  # type: ignore[arg-type]


class BaseMKL(BaseEstimator, metaclass=ABCMeta):
    """A multiple kernel model: `fit`, `contributions` and the fitted attributes.

    A subclass stores its parameters, extends `_checks` and implements `_build`.
    """

    _checks: ClassVar[Mapping[str, Check]] = SHARED_CHECKS

    # Parameters that every subclass has.
    kernels: Any
    normalize: str | Sequence[str] | None
    fit_intercept: bool
    tol: float
    storage: str
    max_bytes: int | None
    verbose: int
    random_state: Any

    @abstractmethod
    def _build(self, total_weight: float) -> Recipe:
        """Return the method for training samples of this total weight."""

    @abstractmethod
    def _encode(self, y: Array) -> tuple[Labels, Array | None]:
        """Return labels and classes of the targets, as in `Samples`."""

    @abstractmethod
    def _targets(self, samples: Samples) -> Array:
        """Return the targets of each problem, shape (n_outputs, n_samples)."""

    def _weights(self, samples: Samples) -> Array | None:
        """Return the weights of the losses, shape (n_samples,), or None for ones."""
        return samples.weights

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        An exception on the way, such as an interrupt from the keyboard, leaves the
        estimator as it was.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data; with ``kernels="precomputed"`` Gram matrices of shape
            (n_samples, n_samples, n_kernels), see `stack_grams`.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples. An integer weight does what as many
            copies of the sample would do, a weight of zero what leaving it out would.
        callback : callable, default=None
            Called with a `Progress` once per outer iteration, its objective in the
            summed scale of `Problem`; the fit stops where it returns True.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are wrong; the message says which and how.
        multikernel.exceptions.StackTooLargeError
            If the Gram matrices would need more than ``max_bytes``.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
        """
        return self._fit(X, y, sample_weight, callback)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        callback: Callback | None,
        groups: Any = None,
    ) -> Self:
        """Read the data, solve and publish."""
        self._check_parameters()
        check_parameter(type(self).__name__, "callback", callback, CALLBACK)
        probe = copy.copy(self)
        samples = self._read(probe, X, y, sample_weight)
        if groups is not None:
            samples = replace(samples, groups=check_groups(groups, len(samples.y)))
        grams = build_grams(probe, samples.X, samples.rows, self._weights(samples))
        with naming_the_kernel(grams):
            attributes = self._fit_samples(samples, grams, callback)
        if samples.classes is not None:
            attributes["classes_"] = samples.classes
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(probe, name):
                attributes[name] = getattr(probe, name)
        self._publish(attributes)
        return self

    def _check_parameters(self) -> None:
        for name, check in self._checks.items():
            check_parameter(type(self).__name__, name, getattr(self, name), check)

    def _read(self, probe: "BaseMKL", X: Any, y: Any, sample_weight: Any) -> Samples:
        """Check the data and leave out the samples of weight zero."""
        X, y = check_fit_data(probe, X, y)
        n_rows = X.shape[0]
        weights = check_weights(sample_weight, n_rows)
        rows = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
        if rows.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two samples of non-zero weight, "
                f"got n_samples={rows.size}."
            )
        if rows.size < n_rows:
            X = X[np.ix_(rows, rows)] if is_precomputed(self.kernels) else X[rows]
        labels, classes = self._encode(y[rows])
        kept = None if weights is None else weights[rows]
        return Samples(X, labels, kept, rows, y, classes)

    def _problems(
        self, recipe: Recipe, stack: GramStack, samples: Samples
    ) -> list[Problem]:
        """Return the problems of all outputs, on one stack."""
        loss = weighted(recipe.loss, self._weights(samples))
        return [
            Problem(stack, target, loss, recipe.regularizer, self.fit_intercept)
            for target in self._targets(samples)
        ]

    def _total_weight(self, samples: Samples) -> float:
        weights = self._weights(samples)
        return float(samples.labels.shape[0] if weights is None else weights.sum())

    def _fit_samples(
        self, samples: Samples, grams: Grams, callback: Callback | None
    ) -> dict[str, Any]:
        """Solve the problems and return the fitted attributes."""
        recipe = self._build(self._total_weight(samples))
        problems = self._problems(recipe, grams.stack, samples)
        watch = self._watch(recipe, callback)
        solutions = [
            recipe.solver.solve(problem, callback=watch) for problem in problems
        ]
        return self._fitted(recipe, samples, grams, solutions)

    def _watch(self, recipe: Recipe, callback: Callback | None) -> Callback | None:
        """Return the callback that reports, where asked to, and calls the user's."""
        callbacks = [] if callback is None else [callback]
        if self.verbose:
            callbacks.insert(0, report(type(self).__name__, recipe.objective_scale))
        return chained(callbacks)

    def _fitted(
        self,
        recipe: Recipe,
        samples: Samples,
        grams: Grams,
        solutions: Sequence[Solution],
    ) -> dict[str, Any]:
        """Return the fitted attributes; those of one output lose their first axis.

        A kernel that a solver is stuck on is searched for and named.
        """
        for solution in solutions:
            if solution.status is Status.STALLED:
                check_combination(grams.stack, solution.kernel_weights)
        status = worst_status(solutions)
        gaps = np.array([solution.duality_gap for solution in solutions])
        if status not in FINISHED:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative duality gap of "
                f"{gaps.max():.2e} (tol={self.tol:g}). {status.value}",
                ConvergenceWarning,
                stacklevel=5,
            )
        expansion = merge(solutions)
        support = np.flatnonzero(expansion.coefs.any(axis=(0, 2)))
        scale = recipe.objective_scale
        dual = np.concatenate([np.atleast_2d(s.dual.T) for s in solutions])
        return {
            "kernel_weights_": single([s.kernel_weights for s in solutions]),
            "active_kernels_": expansion.active,
            "dual_coef_": single(samples.scatter(recipe.dual_scale * dual)),
            "intercept_": expansion.intercept,
            "support_": samples.rows_of(support),
            "objective_": single([scale * s.objective for s in solutions]),
            "duality_gap_": single(gaps),
            "n_iter_": single([s.n_iter for s in solutions]),
            "history_": history_array(solutions, scale),
            "status_": status.value,
            "_names": grams.names,
            "_model": grams.model(expansion),
        }

    def _publish(self, attributes: Mapping[str, Any]) -> None:
        """Replace what an earlier fit left by the attributes of this one."""
        parameters = self.get_params(deep=False)
        for name in set(vars(self)) - set(parameters) - set(attributes):
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)
        for name, value in attributes.items():
            setattr(self, name, value)

    @property
    def kernel_names_(self) -> list[str]:
        """Names of all kernels, in the order of ``kernel_weights_``."""
        self._fitted_model()
        names: list[str] = self._names()
        return names

    def contributions(self, X: Any) -> Array:
        """Return the additive terms of the model, one per active kernel.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        terms : ndarray of shape (n_samples, n_active)
            f_m(x) for the kernels ``active_kernels_``, in their order. Their sum plus
            ``intercept_`` is the decision value or prediction. With more than two
            classes the shape is (n_samples, n_classes, n_active).
        """
        terms = self._fitted_model().contributions(check_predict_data(self, X))
        return terms[:, 0] if terms.shape[1] == 1 else terms

    def _decision_values(self, X: Any) -> Array:
        """Return the decision values, shape (n_samples, n_outputs)."""
        return self._fitted_model().decision_values(check_predict_data(self, X))

    def _fitted_model(self) -> AdditiveModel:
        """Return the model, or say that there is none."""
        self._require_fitted()
        model: AdditiveModel = self._model
        return model

    def _require_fitted(self) -> None:
        """Raise unless there is a fitted model."""
        check_is_fitted(self)

    def __sklearn_tags__(self) -> Tags:
        """Say that precomputed kernels are sliced on two axes."""
        tags = super().__sklearn_tags__()
        precomputed = is_precomputed(self.kernels)
        tags.input_tags.pairwise = precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.two_d_array = not precomputed
        return tags


def single(values: Any) -> Any:
    """Return values per output as an array, or the value of a single output.

    Parameters
    ----------
    values : array-like of shape (n_outputs, ...)
        The values.

    Returns
    -------
    values : ndarray of shape (n_outputs, ...), or its only entry
    """
    values = np.asarray(values)
    return values[0] if values.shape[0] == 1 else values
