"""The best single kernel by cross-validation, the simplest baseline."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.descriptions import documented
from multikernel.estimators.grams.method import (
    fitted_attributes,
    solve_outputs,
    solved,
    warn_unfinished,
)
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.lp.method import (
    MARGIN_CHECKS,
    MarginMethod,
    UnitSumMethod,
    margin_method,
)
from multikernel.estimators.method import AnyMethod, Solved
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.progress import Watch
from multikernel.estimators.scale import Amount, Grid
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import GramStack, Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss
from multikernel.problem import Solution
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
    method : MarginMethod
        The machine.
    n_kernels : int
        How many kernels there are.
    """

    method: MarginMethod
    n_kernels: int

    def with_tol(self, tol: float) -> Self:
        """Return the candidates, solved for to another relative duality gap."""
        return replace(self, method=self.method.with_tol(tol))

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the number of every kernel."""
        numbers: Any = np.arange(self.n_kernels)
        return {"kernel": numbers}

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Grid]:
        """Return nothing: the order of kernels means nothing."""
        return {}

    def alone(self, m: int, training: Training) -> Recipe:
        """Return the recipe with one kernel."""
        rule = partial(one_kernel, m=m)
        solver = FixedWeights(rule, self.method.solver)
        return replace(self.method.problem(training), solver=solver)

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of all kernels."""
        for m in range(self.n_kernels):
            if watch.stopped:
                return
            recipe = self.alone(m, training)
            found = solve_outputs(recipe, training, watch)
            if not watch.stopped:
                yield solved(m, recipe, training, found)

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes of one kernel's model."""
        recipe = self.alone(best, training)
        found = solve_outputs(recipe, training, watch)
        warn_unfinished(self.method.source.owner, training, found)
        return fitted_attributes(recipe, training, found)


def kernel_search(model: Any) -> Search[Training, Recipe, list[Solution]]:
    """Return the search of an estimator among its kernels."""
    method = margin_method(model, model.C, UnitSumMethod)

    def candidates(whole: Training) -> KernelCandidates:
        return KernelCandidates(method, whole.stack.shape[0])

    return Search(model, method, candidates)


@documented()
class SingleKernelClassifierCV(SearchCV, ClassifierMKL):
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
    refit : bool, default=True
        Whether to solve for the chosen kernel on all samples, and to be that model.

    Attributes
    ----------
    C_
    kernel_ : int
        The kernel that was chosen, its place in ``kernel_names_``.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        One for the kernel that was chosen, zero for the others.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made for the chosen kernel.

    See Also
    --------
    UniformMKLClassifier : The sum of all kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SingleKernelClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SingleKernelClassifierCV(kernels, cv=3).fit(X, y)
    >>> model.kernel_, model.kernel_weights_
    (2, array([0., 0., 1., 0.]))
    """

    _checks = MARGIN_CHECKS

    def __init__(
        self,
        kernels: Any = None,
        C: Amount = 1.0,
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
        check_psd: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.C = C
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.loss = loss
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.storage = storage
        self.max_bytes = max_bytes
        self.check_psd = check_psd
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> AnyMethod:
        return kernel_search(self)


@documented()
class SingleKernelRegressorCV(SearchCV, RegressorMKL):
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
    refit : bool, default=True
        Whether to solve for the chosen kernel on all samples, and to be that model.

    Attributes
    ----------
    C_
    epsilon_
    kernel_ : int
        The kernel that was chosen, its place in ``kernel_names_``.
    kernel_weights_ : ndarray of shape (n_kernels,)
        One for the kernel that was chosen, zero for the others.
    n_iter_ : int
        Outer iterations made for the chosen kernel.

    See Also
    --------
    UniformMKLRegressor : The sum of all kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SingleKernelRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SingleKernelRegressorCV(kernels, cv=3).fit(X, y)
    >>> model.kernel_, model.kernel_weights_
    (2, array([0., 0., 1., 0.]))
    """

    _checks = MARGIN_CHECKS

    def __init__(
        self,
        kernels: Any = None,
        C: Amount = "scale",
        *,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: Amount = "scale",
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.C = C
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.loss = loss
        self.epsilon = epsilon
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.storage = storage
        self.max_bytes = max_bytes
        self.check_psd = check_psd
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> AnyMethod:
        return kernel_search(self)
