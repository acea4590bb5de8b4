"""Choosing C for weights that no solver learns, or the best single kernel."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.descriptions import documented
from multikernel.estimators.fixed_weights.estimators import (
    WeightedClassification,
    WeightedRegression,
)
from multikernel.estimators.fixed_weights.method import (
    WeightedSumMethod,
    given_weights,
    weight_checks,
    weighted_method,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.lp.cv import (
    MarginCandidates,
    margin_grid,
    margin_search,
)
from multikernel.estimators.method import Candidates, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.solvers import FixedWeights


@dataclass(frozen=True, eq=False)
class KernelCandidates(Candidates):
    """All kernels, each alone, with all values of C.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs, 1)
        Ascending.
    n_kernels : int
        How many kernels there are.
    """

    Cs: Array
    n_kernels: int

    def alone(self, m: int) -> MarginCandidates:
        """Return the candidates of one kernel."""
        method, weights = self.method, np.zeros(self.n_kernels)
        weights[m] = 1.0
        rule = partial(given_weights, weights=weights)
        solver = FixedWeights(rule, method.solver)
        alone = WeightedSumMethod(method.source, method.loss, 1.0, np.inf, solver)
        first, every = m * len(self.Cs), np.array([np.inf])
        return MarginCandidates(alone, self.Cs, every, with_p=False, place=first)

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the number of the kernel and the C of every candidate."""
        size = len(self.Cs)
        numbers: Any = np.repeat(np.arange(self.n_kernels), size)
        return {"kernel": numbers, "C": np.tile(self.Cs[:, 0], self.n_kernels)}

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the values of C; the order of kernels means nothing."""
        return {"C": self.Cs[:, 0]}

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of each kernel, C rising while scores do."""
        for m in range(self.n_kernels):
            yield from self.alone(m).solve(training, watch)
            if watch.stopped:
                return

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes of one kernel's model."""
        m, number = divmod(best, len(self.Cs))
        return self.alone(m).refit(training, watch, number)


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedSearchCV(SearchCV):
    """Chooses C by cross-validation, and one kernel where it is asked for."""

    Cs: Sequence[float] | None = None

    def _method(self) -> Method:
        method = weighted_method(self)
        asked = self.kernel_weights
        if not (isinstance(asked, str) and asked == "single"):
            return margin_search(self, method, [np.inf], with_p=False)

        def candidates(whole: Training) -> KernelCandidates:
            Cs = margin_grid(self.Cs, method, whole, np.ones(1))
            return KernelCandidates(method, Cs, whole.stack.shape[0])

        return Search(self, method, candidates)


@documented("fixed weights", "fixed weights, classifiers")
@dataclass(eq=False, repr=False)
class FixedWeightsMKLClassifierCV(
    WeightedClassification, WeightedSearchCV, ClassifierMKL
):
    r"""Classification with fixed weights, C chosen by cross-validation.

    Each fold computes the weights from its training samples and solves the problem of
    `FixedWeightsMKLClassifier` for all values of C, with warm starts. The search
    chooses the C with the best mean validation score. With ``kernel_weights="single"``
    each kernel alone is a candidate with all values of C, and the model is the best
    single kernel. Kernels are fitted and Gram matrices computed once, without labels;
    each fold normalizes them by its own training samples.

    Parameters
    ----------
    Cs : sequence of float, default=None
        Candidate values of C, positive. None means 1/32, 1/8, 1/2, 2, ..., 128 divided
        by the sum of the weights (one for a rule) times the mean variance of the
        kernels, and times four for "log_loss". If there is one value, "single" chooses
        the kernel only.

    Attributes
    ----------
    C_
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    kernel_ : int
        Index of the chosen kernel in ``kernel_names_``; only for "single".
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples. The strengths of the path
        are 1 / C.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations over all C.
    machine_gap_

    See Also
    --------
    FixedWeightsMKLClassifier : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.
    .. [2] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.
    .. [3] Aiolli, Donini (2015). EasyMKL: a scalable multiple kernel learning
       algorithm. Neurocomputing 169, 215-224.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import FixedWeightsMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = FixedWeightsMKLClassifierCV(kernels, Cs=[0.1, 1.0, 9.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] == model.C_, model.Cs_.size
    (True, 3)
    >>> model.set_params(kernel_weights="single", Cs=[1.0]).fit(X, y).kernel_weights_
    array([0., 0., 1., 0.])
    """

    _checks = weight_checks("uniform", "alignment", "easy", "single")


@documented("fixed weights", "fixed weights, regressors")
@dataclass(eq=False, repr=False, kw_only=True)
class FixedWeightsMKLRegressorCV(WeightedRegression, WeightedSearchCV, RegressorMKL):
    r"""Regression with fixed weights, C chosen by cross-validation.

    Each fold computes the weights from its training samples and solves the problem of
    `FixedWeightsMKLRegressor` for all values of C, with warm starts. The search chooses
    the C with the best mean validation score. With ``kernel_weights="single"`` each
    kernel alone is a candidate with all values of C, and the model is the best single
    kernel. Kernels are fitted and Gram matrices computed once, without labels; each
    fold normalizes them by its own training samples.

    Parameters
    ----------
    Cs : sequence of float, default=None
        Candidate values of C, positive. None means 1/32, 1/8, 1/2, 2, ..., 128 divided
        by the sum of the weights (one for a rule) times the mean variance of the
        kernels. If there is one value, "single" chooses the kernel only.

    Attributes
    ----------
    epsilon_
    C_
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    kernel_ : int
        Index of the chosen kernel in ``kernel_names_``; only for "single".
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples. The strengths of the path
        are 1 / C.
    n_iter_ : int
        Total number of outer iterations over all C.
    machine_gap_

    See Also
    --------
    FixedWeightsMKLRegressor : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.
    .. [2] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import FixedWeightsMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = FixedWeightsMKLRegressorCV(kernels, Cs=[0.1, 1.0, 9.0, 81.0], cv=3)
    >>> model.fit(X, y).best_params_["C"] in model.Cs_, model.Cs_.size
    (True, 4)
    >>> model.set_params(kernel_weights="single", Cs=[1.0]).fit(X, y).kernel_weights_
    array([0., 0., 1., 0.])
    """

    _checks = weight_checks("uniform", "alignment", "single")
    intervals: bool = False
