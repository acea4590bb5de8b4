"""The fit sequence of all estimators; a new one adds parameters and `_build`."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from multikernel._typing import Array, Indices
from multikernel._validation import Check, InstanceOf, check_parameter
from multikernel.estimators.data.copies import distinct, in_order
from multikernel.estimators.data.dictionary import choose_dictionary
from multikernel.estimators.data.grams import Grams, build_grams, build_raw_grams
from multikernel.estimators.data.partitions import check_partitions, lazy
from multikernel.estimators.data.precomputed import GramOptions
from multikernel.estimators.data.read import (
    check_fit_data,
    check_predict_data,
    is_precomputed,
)
from multikernel.estimators.data.samples import Samples, read_samples
from multikernel.estimators.data.storage import settle_storage
from multikernel.estimators.data.warned import (
    naming_the_kernel,
    warn_degenerate,
    warn_dictionary,
    warn_empty,
)
from multikernel.estimators.fit.combined import CombinedKernel
from multikernel.estimators.fit.fitted import FittedModel, check_fitted, publish
from multikernel.estimators.fit.losses import (
    find_link,
    find_loss,
    is_likelihood,
    shares_selection,
)
from multikernel.estimators.fit.parameters import CHECKS
from multikernel.estimators.fit.predict import AdditiveModel
from multikernel.estimators.fit.progress import Watch, report, tell_building
from multikernel.estimators.fit.solve import (
    Recipe,
    Training,
    fitted_attributes,
    solve_outputs,
    warn_unfinished,
)
from multikernel.estimators.fit.summary import (
    data_frame,
    facts,
    fitted_html,
    summary_columns,
    view_sums,
)
from multikernel.gram import Storage
from multikernel.gram.blocked import SampledRows
from multikernel.gram.blocked.workers import is_dask
from multikernel.gram.normalization import Steps
from multikernel.kernels import KernelDictionary
from multikernel.kernels.parameters import with_parameter
from multikernel.losses import Loss
from multikernel.problem import Callback

# mypy takes `Callable` for a form of typing; it is a class that isinstance accepts.
CALLBACK = InstanceOf((Callable, NoneType), "callable, or None")  # type: ignore[arg-type]


Solve = Callable[[Recipe, Training, Watch], dict[str, Any]]
"""From the method and all that it learns from to fitted attributes."""


class BaseMKL(BaseEstimator, metaclass=ABCMeta):
    """A multiple kernel model: `fit`, `contributions` and the fitted attributes.

    A subclass stores its parameters, extends `_checks` and implements `_build`. What
    differs beyond that is two steps of the fit: which samples are kept (`_arrange`)
    and how a recipe becomes attributes (`_solve`).
    """

    # Of parameters that are not in `CHECKS`, or mean something else; bases' count too.
    _checks: ClassVar[Mapping[str, Check]] = {}

    # Whether factors of low rank are refined where a certificate asks for it.
    _refines: ClassVar[bool] = True

    # Whether samples with the same data and label become one, with their weights.
    _merges_copies: ClassVar[bool] = True
    # Whether text gets kernels where none are named.
    _sequences_by_default: ClassVar[bool] = True

    # Whether it learns from collections of Dask.
    _takes_partitions: ClassVar[bool] = False

    # Parameters that every subclass has.
    kernels: Any
    loss: Any
    normalize: Steps
    fit_intercept: bool
    storage: Storage
    max_bytes: int | None
    check_psd: str | bool
    verbose: int
    random_state: Any

    # What every fit publishes beside its own.
    kernel_weights_: Array
    active_kernels_: Indices

    # What a fit leaves: the model, and what its answers depend on.
    _state: FittedModel

    @abstractmethod
    def _build(self, total_weight: float) -> Recipe:
        """Return the method for training samples of this total weight."""

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
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; several columns where the estimator has a ``selection``, of which
            a classifier takes labels that samples have (1) or have not (0).
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
        multikernel.exceptions.IndefiniteKernelError
            If a Gram matrix is not positive semidefinite, see ``check_psd``.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
        """
        publish(self, self._learn(X, y, sample_weight, callback))
        return self

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        callback: Callback | None,
        groups: Any = None,
        solve: Solve | None = None,
        for_parts: bool = False,
    ) -> dict[str, Any]:
        """Check, read, encode, build the Gram matrices, solve: all that `fit` does.

        `for_parts` asks for samples and matrices as `part_of` cuts from them. Returns
        the fitted attributes, and leaves the estimator as it is.
        """
        owner, parameters = type(self).__name__, self.get_params(deep=False)
        self._check_parameters()
        check_parameter(owner, "callback", callback, CALLBACK)

        table = (check_partitions if is_dask(X) else check_fit_data)(self, X, y)
        samples = read_samples(
            owner,
            table,
            sample_weight,
            classify=is_classifier(self),
            class_weight=parameters.get("class_weight"),
            shared=shares_selection(parameters),
        )
        samples = replace(samples, groups=groups)
        if for_parts:
            samples = in_order(samples) if self._merges_copies else samples
        else:
            samples = self._arrange(samples)
        recipe = self._build(samples.total_weight)

        dictionary = self._dictionary(samples)
        options = GramOptions(
            self._normalization(),
            self.storage,
            self.max_bytes,
            self.random_state,
            self.check_psd,
            tell_building(owner, callback, self.verbose),
        )
        verbose = bool(self.verbose)
        options, stored = settle_storage(owner, dictionary, samples, options, verbose)
        if not self._refines:
            options = options.with_all_landmarks()
        build = build_raw_grams if for_parts else self._build_grams
        grams = build(dictionary, samples, options)
        if grams.stack is not None:
            warn_dictionary(owner, grams, samples, self.kernels is None)

        callbacks = [] if callback is None else [callback]
        if self.verbose:
            callbacks.insert(0, report(owner, recipe.objective_scale))
        training = Training(samples, grams, self.fit_intercept)
        watch = Watch(callbacks)
        with naming_the_kernel(grams):
            attributes = (solve or self._solve)(recipe, training, watch)
        watch.finish()
        warn_empty(owner, attributes)

        state = FittedModel(
            model=attributes.pop("_model", None),
            stages=attributes.pop("_stages", None),
            names=attributes.pop("_names", grams.names),
            precomputed=dictionary is None,
            loss=repr(self.loss),
            has_probabilities=is_likelihood(self.loss),
            link=find_link(self.loss, samples),
            outputs=samples.output_names,
        )
        classes = {} if samples.classes is None else {"classes_": samples.classes}
        columns = vars(table.columns)
        return attributes | classes | stored | columns | {"_state": state}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, and of its kernels.

        Parameters
        ----------
        **params : dict
            ``kernels__sigma`` is that of all kernels that have one, and
            ``kernels__expression__sigma`` that of the kernels of a view; so searches
            such as `sklearn.model_selection.GridSearchCV` can choose it. The kernels
            are replaced, and those that were given stay as they are.

        Returns
        -------
        self : estimator
        """
        own = {k: v for k, v in params.items() if not k.startswith("kernels__")}
        super().set_params(**own)
        for name in params.keys() - own.keys():
            path = name.split("__")[1:]
            self.kernels = with_parameter(self.kernels, path, params[name])
        return self

    def _check_parameters(self) -> None:
        """Raise a sentence for the first parameter that is wrong."""
        checks, owner = self._all_checks(), type(self).__name__
        for name, value in self.get_params(deep=False).items():
            if name in checks:
                check_parameter(owner, name, value, checks[name])

    @classmethod
    def _all_checks(cls) -> Mapping[str, Check]:
        """Return the checks of parameters by name."""
        found = dict(CHECKS)
        for kind in reversed(cls.__mro__):
            found |= vars(kind).get("_checks", {})
        return found

    def _strength(self, name: str = "alpha") -> float:
        """Return the strength, one in a search, whose grid sets it."""
        return float(getattr(self, name, 1.0))

    def _find_loss(self) -> Loss:
        """Return the loss that ``loss`` stands for."""
        return find_loss(self.loss)

    def _arrange(self, samples: Samples) -> Samples:
        """Return the samples to learn from."""
        merges = self._merges_copies and not isinstance(samples.X, SampledRows)
        return distinct(samples) if merges else samples

    def _dictionary(self, samples: Samples) -> KernelDictionary | None:
        """Return what the ``kernels`` stand for."""
        return choose_dictionary(samples)

    def _normalization(self) -> Steps:
        """Return the steps that kernels are normalised by."""
        return self.normalize

    def _build_grams(
        self,
        dictionary: KernelDictionary | None,
        samples: Samples,
        options: GramOptions,
    ) -> Grams:
        """Return the Gram matrices to learn from, and name those that are of no use."""
        grams = build_grams(dictionary, samples, options)
        warn_degenerate(type(self).__name__, grams)
        return grams

    def _solve(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> dict[str, Any]:
        """Solve the problems and return the fitted attributes."""
        solutions = solve_outputs(recipe, training, watch)
        warn_unfinished(type(self).__name__, training, solutions)
        return fitted_attributes(recipe, training, solutions)

    @property
    def kernel_names_(self) -> list[str]:
        """Names of all kernels, in the order of ``kernel_weights_``."""
        return list(self._fitted().names.everything)

    @property
    def combined_kernel_(self) -> CombinedKernel:
        """The weighted sum of the model's kernels, for any kernel method.

        A callable ``k(X, Y=None)``, as ``SVC(kernel=...)`` and
        `sklearn.kernel_ridge.KernelRidge` take it, and a Gaussian process kernel of
        scikit-learn; samples are those of the data that reach this model. Weights are
        ``kernel_weights_``, of several outputs their mean. Not for precomputed or
        centred kernels, nor for graphs of kernels.
        """
        model = self._fitted().model
        grams: Any = getattr(model, "grams", None)
        if not hasattr(grams, "between"):
            raise AttributeError(
                f"The kernels of {type(self).__name__} are no list, so it has no "
                "combined_kernel_."
            )
        weights = np.atleast_2d(self.kernel_weights_).mean(axis=0)
        return CombinedKernel(grams, weights[self.active_kernels_])

    @property
    def kernel_views_(self) -> list[str]:
        """The view of every kernel, where ``kernels`` was a mapping of views."""
        return list(self._views())

    @property
    def view_weights_(self) -> dict[str, Any]:
        """Sums of the kernel weights of every view, per output if several."""
        return view_sums(self._views(), self.kernel_weights_)

    @property
    def view_shares_(self) -> dict[str, Any]:
        """Sums of the shares of the variance of every view, per output if several."""
        return view_sums(self._views(), self.variance_shares_)

    def _views(self) -> tuple[str, ...]:
        """Return the view of every kernel, or say that there are none."""
        views = self._fitted().names.views
        if views is None:
            raise AttributeError(
                f"This {type(self).__name__} was fitted without views: give kernels as "
                "a mapping from names to columns."
            )
        return views

    def summary(self, by: str = "kernel") -> Any:
        """Return what the model says, as a data frame.

        Parameters
        ----------
        by : {"kernel", "view"}, default="kernel"
            What a row is about: a kernel in use, or a view (where ``kernels`` was a
            mapping of views), whose weights and shares are summed up.

        Returns
        -------
        table : pandas DataFrame
            ``kernel`` its name, ``view`` where there are views, ``output`` the class or
            the name of the output where there are several, ``weight`` that of
            ``kernel_weights_``, ``block_norm`` the norm of the kernel's function, and
            ``variance_share`` its share in the variance of the decision values on the
            training samples, Cov(f_m, f) / Var(f), by which rows are sorted. Shares
            sum to one for every output; a negative one belongs to a term that works
            against the others. Weights mean something else in every method, shares
            the same in all. ``table.attrs`` has the strength, the gap and the score.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If `by` is something else, or the model has no views.
        """
        table = data_frame(summary_columns(self, by))
        table.attrs |= facts(self)
        return table

    @property
    def _repr_html_(self) -> Any:
        """Return what shows the model in a notebook, once it is fitted its summary."""
        diagram = super()._repr_html_
        return lambda: diagram() + fitted_html(self)

    def _repr_mimebundle_(self, **settings: Any) -> dict[str, str]:
        """Return what shows the model in a notebook."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**settings)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    @property
    def output_names_(self) -> list[str]:
        """Names of the outputs: of targets, labels, or more than two classes.

        Those of a data frame of targets are its columns, others ``y0``, ``y1`` and so
        on; two classes are one output, which is positive for the second.
        """
        return list(self._fitted().outputs)

    @lazy
    def contributions(self, X: Any) -> Array:
        """Return the additive terms of the model, one per active kernel.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        terms : ndarray of shape (n_samples, n_outputs, n_active)
            f_m(x) for the kernels ``active_kernels_``, in their order. Their sum plus
            ``intercept_`` is the decision value or prediction. Outputs are targets,
            labels, or more than two classes; the axis of a single one is left out,
            (n_samples, n_active).
        """
        model, checked = self._model_and_data(X)
        terms = model.contributions(checked)
        return terms[:, 0] if terms.shape[1] == 1 else terms

    def _decision_values(self, X: Any) -> Array:
        """Return the decision values, shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        known = self._state.known
        if known is not None and known[0] is X:
            return known[1]
        model, checked = self._model_and_data(X)
        return model.decision_values(checked)

    def _model_and_data(self, X: Any) -> tuple[AdditiveModel, Array]:
        """Return the fitted model, and new data as it takes them."""
        state = self._fitted()
        assert state.model is not None
        return state.model, check_predict_data(self, X, state.precomputed)

    def _check_fitted(self) -> None:
        """Raise unless what a file says of a fit has the shapes of one."""
        check_fitted(self)

    def _fitted(self) -> FittedModel:
        """Return what a fit left, or say that there is no model."""
        check_is_fitted(self)
        if self._state.model is None:
            raise NotFittedError(
                f"{type(self).__name__} was fitted with refit=False: it chose "
                "parameters and fitted no model on all samples."
            )
        return self._state

    def __sklearn_tags__(self) -> Tags:
        """Say that precomputed kernels are sliced on two axes."""
        tags = super().__sklearn_tags__()
        precomputed = is_precomputed(self.kernels)
        tags.input_tags.pairwise = precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.two_d_array = not precomputed
        return tags
