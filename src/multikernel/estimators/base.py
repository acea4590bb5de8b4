"""Base class of every estimator: fit, terms, summary and parameters."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from multikernel._install import REFERENCE
from multikernel._typing import Array, Indices
from multikernel._validation import Check, check_parameter, type_shown
from multikernel.estimators.fit import fit_estimator
from multikernel.estimators.method import Method
from multikernel.estimators.parameters import CHECKS
from multikernel.estimators.publish.columns import fill_unused_columns, has_columns
from multikernel.estimators.publish.fitted import (
    FittedModel,
    additive_model,
    check_fitted,
    warn_without_offset,
)
from multikernel.estimators.publish.predict import AdditiveModel
from multikernel.estimators.publish.summary import (
    data_frame,
    facts,
    fitted_html,
    summary_rows,
    table_columns,
    unpenalized_rows,
    view_sums,
)
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.partitions import lazy
from multikernel.estimators.read.samples import check_offset
from multikernel.estimators.read.tables import (
    Columns,
    check_predict_data,
    is_precomputed,
)
from multikernel.estimators.unknown import ADVICE, refuse_unknown, unknown_parameter
from multikernel.kernels.base import parameters_of, with_parameter
from multikernel.problem import Callback

if TYPE_CHECKING:
    from pandas import DataFrame

    from multikernel.estimators.publish.combined import CombinedKernel


class BaseMKL(BaseEstimator, metaclass=ABCMeta):
    """Base class of multiple kernel models: parameters, `fit`, terms and summary."""

    _doc_link_module, _doc_link_template = REFERENCE

    # Checks of the parameters of this class, in addition to `CHECKS` and the `_checks`
    # of base classes. A check here replaces a check of the same name there.
    _checks: ClassVar[Mapping[str, Check]] = {}

    # Parameters that every subclass has.
    kernels: Any
    verbose: int

    # Attributes that every fit sets; only classifiers have `classes_`.
    kernel_weights_: Array
    active_kernels_: Indices
    classes_: Array

    # The fitted model, and the facts about the fit that `predict` and others need.
    _state: FittedModel

    def __new__(cls, *_: object, **parameters: object) -> Self:
        """Create an estimator; raise, and suggest names, for an unknown parameter."""
        if parameters:
            refuse_unknown(cls, parameters)
        estimator: Self = super().__new__(cls)
        return estimator

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raise AttributeError, with advice for names such as ``coef_``."""
            if name in ADVICE:
                owner = type(self).__name__
                raise AttributeError(f"{owner} has no {name}: {ADVICE[name]}")
            # Python calls this method also after a property raised AttributeError: look
            # the name up again, which raises that error with its own message.
            return object.__getattribute__(self, name)

    @abstractmethod
    def _method(self) -> Method:
        """Return the learning method that the parameters describe."""

    def fit(
        self,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model; if an exception is raised, the estimator stays unchanged.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data, or Gram matrices from `stack_grams`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets or classes, or times to an event as in `SpicyMKLSurvival`. Only
            `GroupOMPRegressor` and estimators with a parameter ``selection`` accept
            several columns; for a classifier, these contain 1 or 0 for each label.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights; an integer weight acts as copies of the sample.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Known parts of the decision values, such as log(exposure) for
            loss="poisson", to which the fitted terms are added. Predictions need the
            offsets of their samples. Not supported for times to an event or ordered
            classes.
        callback : callable, default=None
            Called with a `Progress` once per outer iteration; the fit stops if it
            returns True. The objective in `Progress` sums losses over the samples.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If a parameter or the data are invalid.
        multikernel.exceptions.StackTooLargeError
            If the Gram matrices would require more than ``max_bytes``.
        multikernel.exceptions.IndefiniteKernelError
            If a Gram matrix, or the model's weighted sum of Gram matrices, is not
            positive semidefinite.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message contains the gap.
        """
        return self._learn(X, y, sample_weight, offset, callback)

    def _learn(
        self,
        X: object,
        y: object,
        sample_weight: object,
        offset: ArrayLike | None,
        callback: Callback | None,
        groups: object = None,
    ) -> Self:
        """Fit this estimator; `LearnsByCopy` overrides this to fit a copy."""
        fit_estimator(self, X, y, sample_weight, callback, groups, offset)
        return self

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters of the estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the kernels, named as in `set_params`.
            If kernels have different values of a parameter, its value is a list.

        Returns
        -------
        params : dict
        """
        params: dict[str, object] = super().get_params(deep=False)
        if deep:
            inner = parameters_of(self.kernels)
            params |= {f"kernels__{name}": value for name, value in inner.items()}
        return params

    def set_params(self, **params: object) -> Self:
        """Set parameters of the estimator and of its kernels.

        Parameters
        ----------
        **params : dict
            Values by name. ``kernels__sigma`` sets `sigma` of all kernels that have it,
            ``kernels__genes__sigma`` only of the kernels in the view named "genes". The
            kernels that you passed do not change: the estimator gets changed copies.

        Returns
        -------
        self : estimator
        """
        own_params = {k: v for k, v in params.items() if not k.startswith("kernels__")}
        param_names = self._get_param_names()
        for name in own_params:
            if name.partition("__")[0] not in param_names:
                sentence = unknown_parameter(type(self).__name__, name, param_names)
                raise ValueError(f"Invalid parameter: {sentence}")
        super().set_params(**own_params)
        for name in params.keys() - own_params.keys():
            path = name.split("__")[1:]
            self.kernels = with_parameter(self.kernels, path, params[name])
        return self

    def _check_parameters(self) -> None:
        owner, values = type(self).__name__, vars(self)
        for name, check in self._all_checks().items():
            if name in values:
                check_parameter(owner, name, values[name], check)

    @classmethod
    @cache
    def _all_checks(cls) -> Mapping[str, Check]:
        """Return the checks of all parameters by name, also those of base classes."""
        checks = dict(CHECKS)
        for base in reversed(cls.__mro__):
            checks |= vars(base).get("_checks", {})
        return checks

    @property
    def kernel_names_(self) -> list[str]:
        """Names of all kernels, in the order of ``kernel_weights_``."""
        return list(self._fitted().names.everything)

    @property
    def combined_kernel_(self) -> CombinedKernel:
        """The weighted sum of the model's kernels, a callable ``k(X, Y=None)``.

        ``SVC(kernel=...)``, `sklearn.kernel_ridge.KernelRidge` and Gaussian processes
        of scikit-learn accept it, for data with the columns of this model. The weights
        are the means of ``kernel_weights_`` over outputs. Models with precomputed
        kernels, and HKL, do not have it; with centered kernels, calls raise an error.
        """
        # Imported here, because `combined` imports the Gaussian processes of
        # scikit-learn, which only this property needs.
        from multikernel.estimators.publish.combined import CombinedKernel

        if not has_columns(self):
            raise AttributeError(
                f"{type(self).__name__} has no combined_kernel_, because it was fitted "
                "on precomputed matrices or on a graph of kernels: fit an estimator "
                "with a list of kernels."
            )
        weights = np.atleast_2d(self.kernel_weights_).mean(axis=0)
        columns = Columns.of_model(self)
        grams = additive_model(self).grams
        return CombinedKernel(grams, weights[self.active_kernels_], columns)

    @property
    def kernel_views_(self) -> list[str]:
        """The name of each kernel's view; only if ``kernels`` maps views to columns."""
        return list(self._views("kernel_views_"))

    @property
    def view_weights_(self) -> dict[str, float | Array]:
        """Sum of the kernel weights of each view; an array for several outputs."""
        return view_sums(self._views("view_weights_"), self.kernel_weights_)

    @property
    def view_shares_(self) -> dict[str, float | Array]:
        """Sum of the variance shares of each view; an array for several outputs."""
        return view_sums(self._views("view_shares_"), self.variance_shares_)

    def _views(self, attribute: str) -> tuple[str, ...]:
        """Return the view of every kernel, or raise if there are none."""
        views = self._fitted().names.views
        if views is None:
            raise AttributeError(
                f"{type(self).__name__} has no {attribute}, because it was fitted "
                "without views: fit it with kernels as a dict from names of views to "
                "columns."
            )
        return views

    def summary(self, by: str = "kernel", outputs: str | None = None) -> DataFrame:
        """Return a summary of the model as a data frame.

        Parameters
        ----------
        by : {"kernel", "view", "column"}, default="kernel"
            Content of a row: an active kernel, a view with the sums over its kernels,
            or a column of X that the model uses.
        outputs : {"all", "each"}, default=None
            Whether a row summarizes all outputs or one output. None means "all" if
            kernels have one weight for all outputs (a shared selection), otherwise
            "each".

        Returns
        -------
        table : pandas DataFrame
            By kernel: ``kernel``, ``view`` and ``output`` (if there are several),
            ``weight``, ``block_norm`` and ``variance_share``, as in the fitted
            attributes, the largest share first. A row over all outputs has the means of
            weights and shares, and the root of the sum of squared norms. By view:
            ``view``, the number of its active kernels, ``weight`` and
            ``variance_share``, in the order of the views. By column: ``first_order``
            and ``total``, the `multikernel.inspection.sobol_indices` for the training
            values, the largest first; the columns of a view form one row. Summaries by
            kernel and view end with a row for each unpenalized column, with its
            ``coefficient``. ``table.attrs`` has the strength, the duality gap, the
            score of a search, and what the default kernels omit.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If `by` or `outputs` is invalid, if a model without views is summarized by
            view, or if `by` is "column" and the model does not store the training
            values of its columns. Models with `Interactions` store these values.
        """
        rows = summary_rows(self, by, outputs)
        count = {"n_kernels": 0} if by == "view" else {}
        for row in unpenalized_rows(self) if by != "column" else ():
            rows.append({by: row.pop("column"), **row, **count})
        table = data_frame(table_columns(rows))
        table.attrs |= facts(self)
        return table

    def _get_params_html(self, deep: bool = True, doc_link: str = "") -> object:
        return super()._get_params_html(False, doc_link)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_
        return lambda: diagram() + fitted_html(self)

    def _repr_mimebundle_(self, **settings: object) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**settings)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    @property
    def output_names_(self) -> list[str]:
        """Names of the targets or labels, or of the classes if there are more than two.

        Targets in an array are named ``y``, or ``y0``, ``y1`` and so on. Two classes
        are one output, named after the second class.
        """
        return list(self._fitted().outputs)

    @lazy
    def contributions(self, X: object) -> Array:
        """Return the additive terms of the model, one per active kernel.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, or Gram matrices of shape (n_samples, n_fit_samples, n_kernels).

        Returns
        -------
        terms : ndarray of shape (n_samples, n_outputs, n_active)
            f_m(x) for each m in ``active_kernels_``; of shape (n_samples, n_active) if
            the model has one output. The decision value or prediction is their sum plus
            ``intercept_``, plus unpenalized columns times ``unpenalized_coef_``.
        """
        model, X_checked = self._model_and_data(X)
        terms = model.contributions(X_checked)
        return terms[:, 0] if terms.shape[1] == 1 else terms

    def _decision_values(self, X: object, offset: ArrayLike | None = None) -> Array:
        """Return the decision values, shape (n_samples, n_outputs)."""
        state: FittedModel | None = vars(self).get("_state")
        if state is not None and state.known is not None and state.known[0] is X:
            return state.known[1]  # a search stored the values for X, offsets included
        model, X_checked = self._model_and_data(X)
        f: Array = model.decision_values(X_checked)
        return f + self._offset_values(X, offset, *f.shape)

    def _offset_values(
        self, X: object, offset: ArrayLike | None, n_rows: int, n_outputs: int
    ) -> Array | float:
        """Return offsets of shape (n_rows, n_outputs), or 0.0 if `offset` is None."""
        if offset is None:
            warn_without_offset(self)
            return 0.0
        owner, alike = type(self).__name__, not hasattr(self, "classes_")
        warn_order(owner, X, offset=offset)
        return check_offset(owner, offset, n_rows, n_outputs, shared=alike)

    def _model_and_data(self, X: object) -> tuple[AdditiveModel, Array]:
        """Return the fitted model, and X validated and encoded for it."""
        state = self._fitted()
        X = fill_unused_columns(self, X)
        checked = check_predict_data(self, X, precomputed=state.precomputed)
        return additive_model(self), checked

    def _check_fitted(self) -> None:
        """Raise ValueError if attributes loaded from a file have invalid shapes."""
        check_fitted(self)

    def _fitted(self) -> FittedModel:
        """Return the fitted state; raise NotFittedError if there is no model."""
        if "_state" not in vars(self):
            check_is_fitted(self)  # slow, because it reads every attribute
        if self._state.model is None:
            raise NotFittedError(
                f"{type(self).__name__} was fitted with refit=False, so it contains no "
                "model of all samples, only the chosen parameters: fit again with "
                "refit=True."
            )
        return self._state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        precomputed = is_precomputed(self.kernels)
        tags.input_tags.pairwise = precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.two_d_array = not precomputed
        return tags


def checked_method(owner: str, estimator: object) -> Method:
    """Return the method of an estimator of this library, and check its parameters."""
    if not isinstance(estimator, BaseMKL):
        raise TypeError(
            f"{owner} requires an estimator of multikernel, got "
            f"{type_shown(estimator)}: for a pipeline or a search, pass the estimator "
            "of multikernel in it, and the X that this estimator receives."
        )
    estimator._check_parameters()
    return estimator._method()
