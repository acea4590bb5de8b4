"""The best single kernel by cross-validation, the simplest baseline."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import (
    Recipe,
    Training,
    fitted_attributes,
    solve_outputs,
    warn_unfinished,
)
from multikernel.estimators.lp.base import MarginMKL
from multikernel.estimators.search.base import (
    Candidates,
    Refit,
    SearchCV,
    Solved,
    solved,
)
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import GramStack, Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss
from multikernel.solvers.fixed_weights import FixedWeights


def one_kernel(gram: GramStack, y: Array, sample_weight: Array, *, m: int) -> Array:
    """Return a weight of one for one kernel, zero for the others."""
    weights = np.zeros(gram.shape[0])
    weights[m] = 1.0
    return weights


@dataclass(frozen=True, eq=False)
class KernelCandidates:
    """All kernels, each alone.

    Parameters
    ----------
    owner : str
        The estimator.
    recipe : Recipe
        The machine.
    n_kernels : int
        How many kernels there are.
    """

    owner: str
    recipe: Recipe
    n_kernels: int

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the number of every kernel."""
        numbers: Any = np.arange(self.n_kernels)
        return {"kernel": numbers}

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return nothing: the order of kernels means nothing."""
        return {}

    def alone(self, m: int) -> Recipe:
        """Return the recipe with one kernel."""
        rule = partial(one_kernel, m=m)
        return replace(self.recipe, solver=FixedWeights(rule, self.recipe.solver))

    def solve(self, training: Training, watch: Watch) -> Iterator[Solved]:
        """Yield the models of all kernels."""
        for m in range(self.n_kernels):
            if watch.stopped:
                return
            recipe = self.alone(m)
            found = solve_outputs(recipe, training, watch)
            if not watch.stopped:
                yield solved(m, recipe, training, found)

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve nothing yet: everything depends on the choice."""
        return partial(self._chosen, training, watch)

    def _chosen(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes of one kernel's model."""
        recipe = self.alone(best)
        found = solve_outputs(recipe, training, watch)
        warn_unfinished(self.owner, training, found)
        return fitted_attributes(recipe, training, found)


class SingleKernel(SearchCV, MarginMKL):
    """Chooses one kernel; goes first among the bases."""

    def _candidates(self, recipe: Recipe, training: Training) -> Candidates:
        """Return the kernels to try."""
        return KernelCandidates(type(self).__name__, recipe, training.stack.shape[0])


class SingleKernelClassifier(SingleKernel, ClassifierMKL):
    r"""Classification with the one kernel that scores best on folds.

    Every kernel is tried alone, in the machine

    .. math::
        \frac12 \|f_m\|^2 + C \sum_i s_i\, \ell\bigl(y_i, f_m(x_i) + b\bigr)

    with sample weights s, and the one with the best mean validation score is taken.
    It is what a combination of kernels has to beat. The duality gap is that of the
    machine with the chosen kernel. Kernels are computed once, and what they learn from
    samples without labels is learnt once; each fold normalises them by its own
    training samples.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidates. None stands for `median_dictionary`: a linear kernel, and
        Gaussians of a few widths, which the samples decide, on all columns together and
        on each alone; it expects standardised columns; on strings for
        `sequence_dictionary`. A mapping from names of views to columns, or to (columns,
        kernels), gives each view kernels of its own, see `multikernel.kernels.Views`.
        Kernels may be functions, and names of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. For "precomputed" see `stack_grams`.
    C : float, default=1.0
        What the sum of the losses is multiplied by, positive: the C of
        `sklearn.svm.SVC`. The larger it is, the closer the fit.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds, as everywhere in scikit-learn; None stands for five. A single pair
        is a validation set.
    scoring : str, callable or None, default=None
        What is maximised; None stands for accuracy. A function gets the fitted model
        and the validation samples; scorers that take sample weights get these too.
    n_jobs : int or None, default=None
        Folds that are fitted at the same time, by threads that share the Gram
        matrices; -1 stands for all cores.
    refit : bool, default=True
        Whether to solve for the chosen kernel on all samples, and to be that model.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Outer iterations at most; the default of the solver when None.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class label; "balanced" gives all classes the
        same total weight.
    storage : str, LowRank or MemoryMapped, default="auto"
        How Gram matrices are held while fitting, see `multikernel.gram.build_stack`:
        "dense", "dense32" (single precision), "lazy" (computed when needed),
        "low_rank" or a `multikernel.gram.LowRank` (factors by landmarks), "memmap" or
        a `multikernel.gram.MemoryMapped` (in a file), or "auto" for what is predicted
        to be quickest. Precomputed ones are held as they come.
    max_bytes : int, default=None
        Limit on the bytes of the Gram matrices, with the copies that folds need; half
        of the memory that is free when None.
    check_psd : {"active", "all", False}, default="active"
        Which kernels that are not this library's own, precomputed ones among them,
        are checked for a negative eigenvalue after a fit: those of the model, all, or
        none. See `multikernel.gram.check_definite`.
    verbose : int, default=0
        Whether to write one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Draws the vectors that test precomputed matrices for symmetry, and subsamples
        of the dictionary where there are any; the rest of a fit is deterministic.

    Attributes
    ----------
    kernel_ : int
        The kernel that was chosen, its place in ``kernel_names_``.
    best_params_ : dict
        The parameters that were chosen. Of several with the same score those of a
        model with kernels go before those of one without, and then the simplest.
    best_index_ : int
        Their place in ``cv_results_``.
    best_score_ : float
        Their mean score.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        As scikit-learn's searches have it: ``params``, ``param_`` and the name of each
        parameter, ``split0_test_score`` and so on, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``mean_n_active``, the mean number
        of kernels in use.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        One for the kernel that was chosen, zero for the others.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Shares of the terms in the variance of the decision values on the training
        samples, see `variance_shares`: they sum to one, and one that works against
        the others is negative.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a non-zero weight (for any class), ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        The feasible dual point that proves ``duality_gap_``, from -C to C for the
        hinge and the logistic loss, zero at samples of weight zero. At the optimum f_m
        is ``kernel_weights_[m]`` times K_m times it.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float or ndarray of shape (n_classes,)
        The objective above: penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made for the chosen kernel.
    history_ : structured ndarray of shape (n_lines,)
        One line per outer iteration: output (index of the class, 0 for two classes),
        iteration, seconds, objective, duality_gap, n_active, passes, inner_steps.
    status_ : str
        Why the solver stopped, a sentence: the value of a `Status`, the worst one of
        all classes.
    storage_, storage_reason_ : str
        How Gram matrices were held, and why.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns; of training samples for precomputed kernels.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, where X was a data frame.

    See Also
    --------
    UniformMKLClassifier : The sum of all kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SingleKernelClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SingleKernelClassifier(kernels, cv=3).fit(X, y)
    >>> model.kernel_, model.kernel_weights_
    (2, array([0., 0., 1., 0.]))
    """

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        *,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "hinge",
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())


class SingleKernelRegressor(SingleKernel, RegressorMKL):
    r"""Regression with the one kernel that scores best on folds.

    Every kernel is tried alone, in the machine

    .. math::
        \frac12 \|f_m\|^2 + C \sum_i s_i\, \ell\bigl(y_i, f_m(x_i) + b\bigr)

    with sample weights s, and the one with the best mean validation score is taken.
    It is what a combination of kernels has to beat. The duality gap is that of the
    machine with the chosen kernel. Kernels are computed once, and what they learn from
    samples without labels is learnt once; each fold normalises them by its own
    training samples.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidates. None stands for `median_dictionary`: a linear kernel, and
        Gaussians of a few widths, which the samples decide, on all columns together and
        on each alone; it expects standardised columns; on strings for
        `sequence_dictionary`. A mapping from names of views to columns, or to (columns,
        kernels), gives each view kernels of its own, see `multikernel.kernels.Views`.
        Kernels may be functions, and names of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. For "precomputed" see `stack_grams`.
    C : float, default=1.0
        What the sum of the losses is multiplied by, positive: the C of
        `sklearn.svm.SVR`. The larger it is, the closer the fit.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds, as everywhere in scikit-learn; None stands for five. A single pair
        is a validation set.
    scoring : str, callable or None, default=None
        What is maximised; None stands for R^2. A function gets the fitted model and the
        validation samples; scorers that take sample weights get these too.
    n_jobs : int or None, default=None
        Folds that are fitted at the same time, by threads that share the Gram
        matrices; -1 stands for all cores.
    refit : bool, default=True
        Whether to solve for the chosen kernel on all samples, and to be that model.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error" for half the squared error, "epsilon_insensitive" for the
        absolute error beyond ``epsilon``, or a loss object.
    epsilon : float, default=0.1
        Error that costs nothing, in units of y; for "epsilon_insensitive" only.
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Outer iterations at most; the default of the solver when None.
    storage : str, LowRank or MemoryMapped, default="auto"
        How Gram matrices are held while fitting, see `multikernel.gram.build_stack`:
        "dense", "dense32" (single precision), "lazy" (computed when needed),
        "low_rank" or a `multikernel.gram.LowRank` (factors by landmarks), "memmap" or
        a `multikernel.gram.MemoryMapped` (in a file), or "auto" for what is predicted
        to be quickest. Precomputed ones are held as they come.
    max_bytes : int, default=None
        Limit on the bytes of the Gram matrices, with the copies that folds need; half
        of the memory that is free when None.
    check_psd : {"active", "all", False}, default="active"
        Which kernels that are not this library's own, precomputed ones among them,
        are checked for a negative eigenvalue after a fit: those of the model, all, or
        none. See `multikernel.gram.check_definite`.
    verbose : int, default=0
        Whether to write one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Draws the vectors that test precomputed matrices for symmetry, and subsamples
        of the dictionary where there are any; the rest of a fit is deterministic.

    Attributes
    ----------
    kernel_ : int
        The kernel that was chosen, its place in ``kernel_names_``.
    best_params_ : dict
        The parameters that were chosen. Of several with the same score those of a
        model with kernels go before those of one without, and then the simplest.
    best_index_ : int
        Their place in ``cv_results_``.
    best_score_ : float
        Their mean score.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        As scikit-learn's searches have it: ``params``, ``param_`` and the name of each
        parameter, ``split0_test_score`` and so on, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``mean_n_active``, the mean number
        of kernels in use.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        One for the kernel that was chosen, zero for the others.
    block_norms_ : ndarray of shape (n_kernels,)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,)
        Shares of the terms in the variance of the decision values on the training
        samples, see `variance_shares`: they sum to one, and one that works against
        the others is negative.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a non-zero weight, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        The feasible dual point that proves ``duality_gap_``, from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero. At the optimum f_m is
        ``kernel_weights_[m]`` times K_m times it.
    intercept_ : ndarray of shape (1,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float
        The objective above: penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Outer iterations made for the chosen kernel.
    history_ : structured ndarray of shape (n_lines,)
        One line per outer iteration: output (always 0), iteration, seconds, objective,
        duality_gap, n_active, passes, inner_steps.
    status_ : str
        Why the solver stopped, a sentence: the value of a `Status`.
    storage_, storage_reason_ : str
        How Gram matrices were held, and why.
    n_features_in_ : int
        Number of columns; of training samples for precomputed kernels.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, where X was a data frame.

    See Also
    --------
    UniformMKLRegressor : The sum of all kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SingleKernelRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SingleKernelRegressor(kernels, cv=3).fit(X, y)
    >>> model.kernel_, model.kernel_weights_
    (2, array([0., 0., 1., 0.]))
    """

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        *,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: float = 0.1,
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())
