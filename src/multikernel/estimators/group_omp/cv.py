"""Group-OMP with sparsity and alpha chosen by cross-validation."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.descriptions import documented
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.shortlist import greedy_list, is_shortened
from multikernel.estimators.grams.training import Training
from multikernel.estimators.group_omp.estimators import (
    GreedyClassification,
    GreedyRegression,
)
from multikernel.estimators.group_omp.method import (
    GreedyFit,
    GreedyMethod,
    greedy_method,
    joint_problem,
    prefix_attributes,
    warn_interrupted,
)
from multikernel.estimators.group_omp.stages import PublishedPath, published_path
from multikernel.estimators.method import Candidates, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.problem import Problem, Status
from multikernel.solvers import GreedyPath

RIDGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
"""The strengths that are tried by default."""


@dataclass(frozen=True, eq=False)
class PrefixCandidates(Candidates):
    """All pairs of a number of kernels and a strength, the simplest first.

    Fewer kernels come before more, and stronger penalties before weaker ones.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    most : int
        The largest number of kernels; the smallest is zero.
    open_end : bool
        Whether there are more kernels than that.
    """

    method: GreedyMethod
    alphas: Array
    most: int
    open_end: bool

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the number of kernels and the strength of every pair."""
        counts = np.arange((self.most if most is None else most) + 1)
        return {
            "max_kernels": np.repeat(counts, self.alphas.size),
            "alpha": np.tile(self.alphas, counts.size),
        }

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the strengths, and the numbers of kernels where there are more."""
        edges = {"alpha": self.alphas}
        if self.open_end and chosen["max_kernels"] > 0:
            edges["max_kernels"] = np.arange(self.most + 1.0)
        return edges

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of all prefixes; a path's last stands for larger ones."""
        recipes = self._recipes(training)
        problem = joint_problem(recipes[0], training)
        listed = greedy_list(problem) if is_shortened(training) else None
        for a, path in enumerate(self._paths(recipes, problem, watch, listed)):
            if path.status is Status.STOPPED:
                continue
            published = published_path(path, training)
            fit = GreedyFit(recipes[a], training, path)
            for k in range(len(path) + 1):
                last = self.most if k == len(path) else k
                places = range(
                    k * len(recipes) + a, (last + 1) * len(recipes), len(recipes)
                )
                attributes = partial(prefix_attributes, fit, k)
                # All kernels of a model share one expansion, which takes no memory.
                model = training, _expansion(published, k)
                yield Solved(places, model, k, 0, np.empty(0), attributes)

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair."""
        recipes = self._recipes(training)
        n_selected, a = divmod(best, len(recipes))
        # The solver selects at least one kernel, and a choice may be none.
        solver = replace(self.method.solver, max_kernels=max(n_selected, 1))
        alone = replace(self, method=replace(self.method, solver=solver))
        problem = joint_problem(recipes[a], training)
        (path,) = alone._paths([recipes[a]], problem, watch)
        warn_interrupted(self.method.source.owner, path)
        fit = GreedyFit(recipes[a], training, path)
        attributes = prefix_attributes(fit, min(n_selected, len(path)))
        return attributes | {"alphas_": self.alphas}

    def _recipes(self, training: Training) -> list[Recipe]:
        """Return the recipes of all strengths."""
        return [
            replace(self.method, alpha=alpha).recipe(training)
            for alpha in self.alphas.tolist()
        ]

    def _paths(
        self,
        recipes: Sequence[Recipe],
        problem: Problem,
        watch: Watch,
        listed: Indices | None = None,
    ) -> list[GreedyPath]:
        """Return the paths of some strengths, grown side by side.

        They select from all kernels, or from those that are `listed`.
        """
        strengths = np.array([recipe.penalties[0].alpha for recipe in recipes])
        if listed is None:
            return self.method.solver.paths(problem, strengths, watch)
        short = replace(problem, gram=problem.gram.take(listed))
        return [
            replace(path, problem=problem, order=listed[path.order])
            for path in self.method.solver.paths(short, strengths, watch)
        ]


def _expansion(path: PublishedPath, k: int) -> BlockFunctions:
    """Return the model with k kernels, which share its coefficients."""
    shared = np.broadcast_to(path.coefs[k], (k, *path.coefs.shape[1:]))
    effects = None if path.effects is None else path.effects[k]
    return BlockFunctions(np.sort(path.order[:k]), shared, path.intercepts[k], effects)


@dataclass(eq=False, repr=False, kw_only=True)
class GreedySearchCV(SearchCV):
    """Chooses alpha and the number of kernels by cross-validation."""

    alphas: Sequence[float] | None = None

    def _method(self) -> Method:
        method = greedy_method(self)

        def candidates(whole: Training) -> PrefixCandidates:
            alphas = grid_of(RIDGES if self.alphas is None else self.alphas)[::-1]
            n_kernels = whole.stack.shape[0]
            most = n_kernels if self.max_kernels is None else self.max_kernels
            return PrefixCandidates(
                method, alphas, most=min(most, n_kernels), open_end=most < n_kernels
            )

        return Search(self, method, candidates)


@documented("Group-OMP", "Group-OMP, classifiers")
@dataclass(eq=False, repr=False)
class GroupOMPClassifierCV(GreedyClassification, GreedySearchCV, ClassifierMKL):
    """Classification by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    Each fold selects kernels for all strengths at the same time. Each prefix of a
    selection is a candidate, so one path per fold and strength scores all numbers of
    kernels. The Gram matrices are computed once; each fold normalizes them by its own
    training samples, as `GroupOMPClassifier` does.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Candidate strengths of the ridge penalty, positive. None means 1e-4, 1e-3, 1e-2,
        1e-1 and 1.
    max_kernels : int or None, default=None
        Largest candidate number of kernels; the smallest is zero. With None, ``tol``
        stops the selection.
    loss : {"squared_error", "log_loss", "hinge"} or Loss, default="squared_error"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.

    Attributes
    ----------
    alpha_
    max_kernels_ : int
        Chosen number of kernels: the smallest one with the best mean score, then the
        largest alpha.
    alphas_
    selection_order_
    improvements_
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
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
)
@dataclass(eq=False, repr=False, kw_only=True)
class GroupOMPRegressorCV(GreedyRegression, GreedySearchCV, RegressorMKL):
    """Regression by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    Each fold selects kernels for all strengths at the same time. Each prefix of a
    selection is a candidate, so one path per fold and strength scores all numbers of
    kernels. The Gram matrices are computed once; each fold normalizes them by its own
    training samples, as `GroupOMPRegressor` does.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Candidate strengths of the ridge penalty, positive, as ``alpha`` of
        `GroupOMPRegressor`. None means 1e-4, 1e-3, 1e-2, 1e-1 and 1.
    max_kernels : int or None, default=None
        Largest candidate number of kernels; the smallest is zero. With None, ``tol``
        stops the selection.
    tol : float, default=1e-3
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement over the
        constant model. For the squared loss that is half the variance of the target.

    Attributes
    ----------
    epsilon_
    alpha_
    max_kernels_ : int
        Chosen number of kernels: the smallest one with the best mean score, then the
        largest alpha.
    alphas_
    selection_order_
    improvements_
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
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
