"""Greedy selection of kernels by MKL-GOMP, sparsity and alpha chosen on folds."""

from collections.abc import Sequence
from dataclasses import dataclass

from multikernel.estimators.descriptions import documented
from multikernel.estimators.grams.training import Training
from multikernel.estimators.group_omp.candidates import RIDGES, PrefixCandidates
from multikernel.estimators.group_omp.estimators import (
    GreedyClassification,
    GreedyRegression,
)
from multikernel.estimators.group_omp.method import greedy_method
from multikernel.estimators.method import AnyMethod
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL


@dataclass(eq=False, repr=False, kw_only=True)
class GreedySearchCV(SearchCV):
    """Chooses alpha and the number of kernels by cross-validation."""

    alphas: Sequence[float] | None = None

    def _method(self) -> AnyMethod:
        method = greedy_method(self)

        def candidates(whole: Training) -> PrefixCandidates:
            alphas = grid_of(RIDGES if self.alphas is None else self.alphas)[::-1]
            n_kernels = whole.stack.shape[0]
            most = n_kernels if self.max_kernels is None else self.max_kernels
            return PrefixCandidates(
                method, alphas, most=min(most, n_kernels), open_end=most < n_kernels
            )

        return Search(self, method, candidates)


@documented("Group-OMP", "Group-OMP, classifiers", lacks=("cv_tol_",))
@dataclass(eq=False, repr=False)
class GroupOMPClassifierCV(GreedyClassification, GreedySearchCV, ClassifierMKL):
    """Classification by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    On every fold the kernels are selected for all strengths side by side, and every
    prefix of every selection is a candidate: one path per fold and strength scores
    all numbers of kernels. Kernels are computed once and cut for the folds; each fold
    normalises them by its own training samples, as `GroupOMPClassifier` fitted on them
    would do.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Strengths of the ridge penalty on the mean loss to try, positive. None stands
        for 1e-4, 1e-3, 1e-2, 1e-1 and 1.
    max_kernels : int or None, default=None
        The largest number of kernels to try, the smallest is none; when None as many
        as the selection takes before none improves the fit by more than ``tol``.
    refit : bool, default=True
        Whether to select on all samples, and to be the model with ``max_kernels_``
        kernels at ``alpha_``.
    loss : {"squared_error", "log_loss", "hinge"} or Loss, default="squared_error"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.

    Attributes
    ----------
    alpha_
    max_kernels_ : int
        The number of kernels that was chosen: the fewest with the best mean score,
        then the largest alpha.
    alphas_
    selection_order_
    improvements_
    active_kernels_ : ndarray of shape (n_selected,)
        The selected kernels, ascending.
    objective_ : float
        Mean loss, summed over the classes, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.

    See Also
    --------
    GroupOMPClassifier : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws the scores.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPClassifierCV(kernels, cv=3).fit(X, y)
    >>> model.max_kernels_, model.selection_order_
    (1, array([2]))
    """


@documented(
    "Group-OMP",
    "mean loss, regressors",
    "Group-OMP, regressors",
    lacks=("cv_tol_",),
)
@dataclass(eq=False, repr=False, kw_only=True)
class GroupOMPRegressorCV(GreedyRegression, GreedySearchCV, RegressorMKL):
    """Regression by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    On every fold the kernels are selected for all strengths side by side, and every
    prefix of every selection is a candidate: one path per fold and strength scores
    all numbers of kernels. Kernels are computed once and cut for the folds; each fold
    normalises them by its own training samples, as `GroupOMPRegressor` fitted on them
    would do.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Strengths of the ridge penalty on the mean loss to try, positive, as
        `GroupOMPRegressor` has it. None stands for 1e-4, 1e-3, 1e-2, 1e-1 and 1.
    max_kernels : int or None, default=None
        The largest number of kernels to try, the smallest is none; when None as many
        as the selection takes before none improves the fit by more than ``tol``.
    refit : bool, default=True
        Whether to select on all samples, and to be the model with ``max_kernels_``
        kernels at ``alpha_``.
    tol : float, default=1e-3
        The precision: stop when no kernel improves the fit by more than this share of
        the largest improvement that a kernel could offer to the constant model, half
        the variance of the target for the squared loss.

    Attributes
    ----------
    epsilon_
    alpha_
    max_kernels_ : int
        The number of kernels that was chosen: the fewest with the best mean score,
        then the largest alpha.
    alphas_
    selection_order_
    improvements_
    active_kernels_ : ndarray of shape (n_selected,)
        The selected kernels, ascending.
    intercept_ : ndarray of shape (n_outputs,)
        The intercept.
    objective_ : float
        Mean loss, summed over the targets, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.

    See Also
    --------
    GroupOMPRegressor : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws the scores.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1]) + X[:, 3] + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPRegressorCV(kernels, cv=3).fit(X, y)
    >>> model.max_kernels_, model.selection_order_
    (2, array([3, 1]))
    """

    intervals: bool = False
