"""Local Rademacher MKL, C and theta chosen by cross-validation."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.descriptions import documented
from multikernel.estimators.grams.method import (
    fitted_attributes,
    solved,
)
from multikernel.estimators.grams.solving import follow_outputs, until_stopped
from multikernel.estimators.grams.training import Training
from multikernel.estimators.local_rademacher.estimators import (
    TailClassification,
    TailRegression,
)
from multikernel.estimators.local_rademacher.method import (
    TailRecipe,
    certified,
    finished_tails,
    method_attributes,
    tail_method,
)
from multikernel.estimators.lp.cv import margin_grid, margin_path
from multikernel.estimators.method import Candidates, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.problem import Solution

DEFAULT_THETAS = (0, 1, 2, 4, 8, 16)
"""Those of the paper, and none: the plain lp-norm model is always a candidate."""


@dataclass(frozen=True, eq=False)
class TailCandidates(Candidates):
    """All pairs of C and theta; in a list of them C rises slower than theta.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        Ascending.
    thetas : ndarray of shape (n_thetas,)
        Ascending.
    p : float
        Norm of the kernel weights.
    """

    Cs: Array
    thetas: Indices
    p: float

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return C and theta of every pair."""
        return {
            "C": np.repeat(self.Cs, self.thetas.size),
            "theta": np.tile(self.thetas, self.Cs.size),
        }

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the values of C; theta may well be zero."""
        return {"C": self.Cs}

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of all pairs, each solved from a neighbor's solution."""
        sums = self._sums(training)
        starts: Sequence[Solution] = ()
        for j, theta in enumerate(self.thetas.tolist()):
            recipes = self._recipes(training, sums, theta)
            followed = follow_outputs(recipes, training, watch, starts)
            for i, fit in enumerate(until_stopped(followed)):
                training = fit.training
                # Smallest C and next theta: near, and far from separated data.
                starts = fit.solutions if i == 0 else starts
                model = solved(i * self.thetas.size + j, fit)
                gaps = [solution.duality_gap for solution in certified(fit.solutions)]
                yield replace(model, gaps=np.array(gaps))
            if watch.stopped:
                return

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair, and the path of all C for its theta."""
        i, j = divmod(best, self.thetas.size)
        sums, theta = self._sums(training), int(self.thetas[j])
        recipes = self._recipes(training, sums, theta)
        Cs = self.Cs
        path = list(until_stopped(follow_outputs(recipes, training, watch)))
        if len(path) <= i:
            # Once stopped, no path leads to the choice: one iteration is made there.
            Cs, recipes = Cs[[i]], [recipes[i]]
            path, i = [next(follow_outputs(recipes, training, watch))], 0
        path[i] = finished_tails(path[i], stopped=watch.stopped)
        attributes = fitted_attributes(path[i]) | method_attributes(path[i])
        paths = list(zip(*(certified(fit.solutions) for fit in path), strict=True))
        return attributes | {
            "n_iter_": iterations(paths),
            "path_": margin_path(Cs, recipes, paths),
            "Cs_": self.Cs,
            "thetas_": self.thetas,
            "tail_sums_": sums.tails,
        }

    def _sums(self, training: Training) -> TailSums:
        """Return the tail sums of all kernels on the samples of a fold."""
        largest = int(self.thetas[-1])
        return tail_sums(training.stack, largest, training.samples.weights)

    def _recipes(
        self, training: Training, sums: TailSums, theta: int
    ) -> list[TailRecipe]:
        """Return the recipes of all C for one theta."""
        return [
            replace(self.method, C=C).with_tails(training, sums, theta)
            for C in self.Cs.tolist()
        ]


@dataclass(eq=False, repr=False, kw_only=True)
class TailSearchCV(SearchCV):
    """Chooses C and theta by cross-validation."""

    Cs: Sequence[float] | None = None
    thetas: Sequence[int] = DEFAULT_THETAS
    p: float = 2.0

    def _method(self) -> Method:
        method = tail_method(self, 0)

        def candidates(whole: Training) -> TailCandidates:
            sums = np.array([method.weight_sum(whole.stack.shape[0])])
            Cs = margin_grid(self.Cs, method, whole, sums)[:, 0]
            thetas = np.unique(np.asarray(self.thetas, dtype=np.intp))
            return TailCandidates(method, Cs, thetas, method.p)

        return Search(self, method, candidates)


@documented("local Rademacher", "local Rademacher, classifiers")
@dataclass(eq=False, repr=False)
class LocalRademacherMKLClassifierCV(TailClassification, TailSearchCV, ClassifierMKL):
    r"""Classification by local Rademacher MKL, C and theta cross-validated.

    Each fold solves the problem of `LocalRademacherMKLClassifier` for all pairs of C
    and theta, with warm starts. The search chooses the pair with the best mean
    validation score. The Gram matrices are computed once; each fold normalizes them by
    its own training samples and computes one spectrum of each kernel for all pairs.

    Parameters
    ----------
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Candidate numbers of free eigenvalues; 0 gives the model of `LpMKLClassifier`.
    n_starts : int, default=3
        Number of starts of "dc" for each pair: first the solution of a neighboring pair
        (for the first pair, of "conv"), then equal weights, then random weights.

    Attributes
    ----------
    C_
    theta_ : int
        Chosen theta.
    Cs_ : ndarray of shape (n_Cs,)
        All candidate values of C, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``theta_``. The strengths
        of the path are 1 / C; gaps of "dc" are those of the convex problems.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point of the (last) convex problem; from -C to C for the hinge and
        the logistic loss, zero at samples of weight zero.
    objective_ : float or ndarray of shape (n_classes,)
        Objective of `LocalRademacherMKLClassifier`: the penalty plus C times the sum of
        the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ... eigenvalues, divided by n.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations over all C.

    See Also
    --------
    LocalRademacherMKLClassifier : The model for one C and one theta.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLClassifierCV(kernels, Cs=[0.01, 0.1, 1.0], cv=3)
    >>> model = model.fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """


@documented("local Rademacher")
@dataclass(eq=False, repr=False, kw_only=True)
class LocalRademacherMKLRegressorCV(TailRegression, TailSearchCV, RegressorMKL):
    r"""Regression by local Rademacher MKL, C and theta cross-validated.

    Each fold solves the problem of `LocalRademacherMKLRegressor` for all pairs of C and
    theta, with warm starts. The search chooses the pair with the best mean validation
    score. The Gram matrices are computed once; each fold normalizes them by its own
    training samples and computes one spectrum of each kernel for all pairs.

    Parameters
    ----------
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Candidate numbers of free eigenvalues; 0 gives the model of `LpMKLRegressor`.
    n_starts : int, default=3
        Number of starts of "dc" for each pair: first the solution of a neighboring pair
        (for the first pair, of "conv"), then equal weights, then random weights.

    Attributes
    ----------
    epsilon_
    C_
    theta_ : int
        Chosen theta.
    Cs_ : ndarray of shape (n_Cs,)
        All candidate values of C, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``theta_``. The strengths
        of the path are 1 / C; gaps of "dc" are those of the convex problems.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights mu of the kernels, which are scaled to trace n, on the
        boundary of the constraint.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point of the (last) convex problem; from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero.
    objective_ : float
        Objective of `LocalRademacherMKLRegressor`: the penalty plus C times the sum of
        the losses.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ... eigenvalues, divided by n.
    n_iter_ : int
        Total number of outer iterations over all C.

    See Also
    --------
    LocalRademacherMKLRegressor : The model for one C and one theta.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLRegressorCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3)
    >>> model = model.fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """

    intervals: bool = False
