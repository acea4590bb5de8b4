"""lp-norm multiple kernel learning, C and p chosen by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass

from multikernel.estimators.descriptions import documented
from multikernel.estimators.lp.candidates import DEFAULT_PS, margin_search
from multikernel.estimators.lp.estimators import LpClassification, LpRegression
from multikernel.estimators.lp.method import lp_method
from multikernel.estimators.method import AnyMethod
from multikernel.estimators.search.search import SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL


@dataclass(eq=False, repr=False, kw_only=True)
class MarginSearchCV(SearchCV):
    """Chooses C and p by cross-validation."""

    Cs: Sequence[float] | None = None
    ps: Sequence[float] = DEFAULT_PS

    def _method(self) -> AnyMethod:
        return margin_search(self, lp_method(self, self.ps), self.ps, with_p=True)


@documented("lp-norm, classifiers")
@dataclass(eq=False, repr=False)
class LpMKLClassifierCV(LpClassification, MarginSearchCV, ClassifierMKL):
    r"""Classification by lp-norm MKL, C and p chosen by cross-validation.

    The problem of `LpMKLClassifier` is solved on every fold for pairs
    of C and p in turn, each from a neighbour's solution, and the pair with the best
    mean validation score is taken. The largest p is solved for from the smallest C up,
    until scores have gone down; every other p for the best C of the next larger one
    and the values beside it, and for larger ones while scores rise. What is left out
    is nan in ``cv_results_``. Kernels are computed once and cut for the folds, each of
    which normalises them by its own training samples: a fold's models are those of a
    `LpMKLClassifier` fitted on it.

    Parameters
    ----------
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Values of p to try, each at least 1.
    refit : bool, default=True
        Whether to solve for ``p_`` on all samples, from the smallest C up, and to be
        the model at ``C_``.

    Attributes
    ----------
    C_
    p_ : float
        Its p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for that p, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``p_`` and C up to
        ``C_``, solved for to ``cv_tol_`` but for the last; its strengths are 1 / C.
    objective_ : float or ndarray of shape (n_classes,)
        That of `LpMKLClassifier`: penalty plus C times the sum of the losses.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made for all C of ``path_`` together.

    See Also
    --------
    LpMKLClassifier : The model for one C and one p.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LpMKLClassifierCV(kernels, Cs=[0.01, 0.1, 1.0], cv=3).fit(X, y)
    >>> model.C_ in model.Cs_, model.p_ in model.ps_
    (True, True)
    """


@documented("several targets", "lp-norm, regressors")
@dataclass(eq=False, repr=False, kw_only=True)
class LpMKLRegressorCV(LpRegression, MarginSearchCV, RegressorMKL):
    r"""Regression by lp-norm MKL, C and p chosen by cross-validation.

    The problem of `LpMKLRegressor` is solved on every fold for pairs
    of C and p in turn, each from a neighbour's solution, and the pair with the best
    mean validation score is taken. The largest p is solved for from the smallest C up,
    until scores have gone down; every other p for the best C of the next larger one
    and the values beside it, and for larger ones while scores rise. What is left out
    is nan in ``cv_results_``. Kernels are computed once and cut for the folds, each of
    which normalises them by its own training samples: a fold's models are those of a
    `LpMKLRegressor` fitted on it.

    Parameters
    ----------
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Values of p to try, each at least 1.
    refit : bool, default=True
        Whether to solve for ``p_`` on all samples, from the smallest C up, and to be
        the model at ``C_``.

    Attributes
    ----------
    epsilon_
    C_
    p_ : float
        Its p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for that p, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``p_`` and C up to
        ``C_``, solved for to ``cv_tol_`` but for the last; its strengths are 1 / C.
    objective_ : float or ndarray of shape (n_targets,)
        That of `LpMKLRegressor`: penalty plus C times the sum of the losses.
    n_iter_ : int or ndarray of shape (n_targets,)
        Outer iterations made for all C of ``path_`` together.

    See Also
    --------
    LpMKLRegressor : The model for one C and one p.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LpMKLRegressorCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.p_ in model.ps_
    (True, True)
    """

    intervals: bool = False
