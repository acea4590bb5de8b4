"""Sparse multiple kernel learning by SpicyMKL, alpha chosen by cross-validation."""

from dataclasses import dataclass

from multikernel.estimators.spicy.candidates import AlphaSearchCV
from multikernel.estimators.spicy.estimators import (
    SparseClassification,
    SparseRegression,
)
from multikernel.estimators.spicy.method import (
    documented_classifier,
    documented_regressor,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL


@documented_classifier
@dataclass(eq=False, repr=False)
class SpicyMKLClassifierCV(SparseClassification, AlphaSearchCV, ClassifierMKL):
    """Sparse multiple kernel classification with alpha chosen by cross-validation.

    The problem of `SpicyMKLClassifier` is solved on every fold for all
    strengths in turn, each from the solution before, and the strength with the best
    mean validation score is taken. Kernels are computed once and cut for the folds,
    and each fold normalises them by its own training samples, as a
    `SpicyMKLClassifier` fitted on them would do.

    Parameters
    ----------
    n_alphas : int, default=20
        Strengths of that grid.
    alpha_min_ratio : float, default=1e-3
        Its last strength over the first, in (0, 1].

    Attributes
    ----------
    l1_ratio_
    alpha_
    alphas_
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends
        at the choice.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus alpha times the penalty.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made along the path on all samples.

    See Also
    --------
    SpicyMKLClassifier : The model for one alpha.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLClassifierCV(kernels, n_alphas=8, cv=3).fit(X, y)
    >>> model.alphas_.shape, bool(model.alpha_ in model.alphas_)
    ((8,), True)
    """


@documented_regressor
@dataclass(eq=False, repr=False, kw_only=True)
class SpicyMKLRegressorCV(SparseRegression, AlphaSearchCV, RegressorMKL):
    """Sparse multiple kernel regression with alpha chosen by cross-validation.

    The problem of `SpicyMKLRegressor` is solved on every fold for all
    strengths in turn, each from the solution before, and the strength with the best
    mean validation score is taken. Kernels are computed once and cut for the folds,
    and each fold normalises them by its own training samples, as a
    `SpicyMKLRegressor` fitted on them would do.

    With ``selection="separate"`` every target has a strength of its own, unless
    ``scoring`` is a function, which scores all targets together.

    Parameters
    ----------
    n_alphas : int, default=20
        Strengths of that grid.
    alpha_min_ratio : float, default=1e-3
        Its last strength over the first, in (0, 1].

    Attributes
    ----------
    epsilon_
    l1_ratio_
    alpha_
    alphas_
    target_scores_ : ndarray of shape (n_targets, n_candidates)
        Where every target has a strength of its own, the mean scores that it was chosen
        by; nan for strengths that a target has left out. ``best_params_``,
        ``best_index_`` and ``alpha_`` then hold an array with one entry for each
        target, ``best_score_`` is the mean of what targets have reached, and scores in
        ``cv_results_`` are means over targets, of losses sums.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends
        at the choice; at the lowest where targets have chosen, each from its choice on
        with its model.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        The feasible dual point that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m times it.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss plus alpha times the penalty.
    n_iter_ : int or ndarray of shape (n_targets,)
        Outer iterations made along the path on all samples.

    See Also
    --------
    SpicyMKLRegressor : The model for one alpha.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1]) + 0.1 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLRegressorCV(kernels, alpha_min_ratio=1e-3, cv=3).fit(X, y)
    >>> bool(model.best_score_ > 0.9)
    True
    """

    intervals: bool = False
