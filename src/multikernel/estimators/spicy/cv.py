"""Sparse learning by SpicyMKL with alpha chosen by cross-validation, along its path."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.method import (
    finished,
    fitted_attributes,
    solved,
)
from multikernel.estimators.grams.recipe import Recipe, problems_of
from multikernel.estimators.grams.shortlist import is_shortened
from multikernel.estimators.grams.solving import (
    follow_listed,
    follow_outputs,
    follow_to,
    until_stopped,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Candidates, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations, single
from multikernel.estimators.scale import grid_of, target_scale
from multikernel.estimators.search.choice import OF_A_TARGET, RATE, no_better
from multikernel.estimators.search.path import path_arrays, strength_grid
from multikernel.estimators.search.search import Search, SearchCV, loosened
from multikernel.estimators.search.targets import (
    chosen_recipe,
    refit_targets,
    target_blocks,
)
from multikernel.estimators.spicy.estimators import (
    SparseClassification,
    SparseRegression,
)
from multikernel.estimators.spicy.method import (
    documented_classifier,
    documented_regressor,
    sparse_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL

ALPHA_MIN_RATIO = 1e-3
"""Where default paths end, as a share of where they begin: ``benchmarks/defaults``
(paths) has scores and times of paths to 1e-2, 1e-3 and 1e-4 on 42 splits."""


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaSearchCV(SearchCV):
    """Chooses alpha by cross-validation."""

    alphas: Sequence[float] | None = None
    n_alphas: int = 20
    alpha_min_ratio: float = ALPHA_MIN_RATIO

    def _method(self) -> Method:
        return alpha_search(self)


def alpha_search(model: Any) -> Search:
    """Return the search of an estimator among strengths.

    It has ``alphas``, or else ``n_alphas`` and ``alpha_min_ratio``.
    """
    method = sparse_method(model, 1.0)

    def candidates(whole: Training) -> AlphaCandidates:
        blocks, given = target_blocks(model, whole), model.alphas is not None
        if given:
            alphas = grid_of(model.alphas)[::-1]
        else:
            problems, _ = problems_of(method.recipe(whole), whole)
            alphas = strength_grid(problems, model.n_alphas, model.alpha_min_ratio)
        return AlphaCandidates(method, alphas, open_ends=given, blocks=blocks)

    return Search(model, method, candidates)


@dataclass(frozen=True, eq=False)
class AlphaCandidates(Candidates):
    """Strengths, the largest first: there models are simplest.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    open_ends : bool
        Whether the grid could go on at both ends, as one that the user gave;
        otherwise it starts where no kernel enters.
    with_path : bool, default=True
        Whether a path leads to the chosen strength on all samples.
    """

    alphas: Array
    open_ends: bool
    with_path: bool = True

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the strengths."""
        return {"alpha": self.alphas}

    def on_share(self, share: float) -> Self:
        """Return the candidates with the strengths for a share of the samples."""
        return replace(self, alphas=self.alphas * share**-RATE)

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grid; none where the choice is at its closed end."""
        closed = not self.open_ends and chosen["alpha"] == self.alphas[0]
        return {} if closed else super().edges(chosen)

    def without_path(self) -> Self:
        """Return the candidates whose chosen one is solved without a path to it."""
        return replace(self, with_path=False)

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models along the path; it ends where a callback stops it."""
        recipes, chain = self._recipes(training), range(self.alphas.size)
        if self.blocks is not None:
            yield from self._solve_each(recipes, training, watch)
            return
        path = until_stopped(follow_listed(recipes, training, watch))
        for number, fit in enumerate(path):
            model = solved(number, fit)
            if no_better((yield replace(model, chain=chain)), chain):
                return

    def _solve_each(
        self, recipes: Sequence[Recipe], training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of the targets whose mean scores may still go up."""
        chain, ends = range(len(recipes)), np.full(len(recipes[0].losses), len(recipes))
        path = until_stopped(follow_listed(recipes, training, watch, ends))
        for number, fit in enumerate(path):
            models = [solution for solution in fit.solutions if solution is not None]
            means = yield replace(
                solved(number, replace(fit, solutions=models)),
                n_active=np.array([solution.active.size for solution in models]),
                chain=chain,
                targets=np.flatnonzero([each is not None for each in fit.solutions]),
            )
            if means is not None:
                ends[[no_better(each, chain, OF_A_TARGET) for each in means.T]] = -1
            if (ends < 0).all():
                return

    def refit(self, training: Training, watch: Watch, best: Any) -> dict[str, Any]:
        """Return the attributes at a choice, and the path that leads there.

        The way there is solved as exactly as the folds are. Where these follow a short
        list of kernels, its gaps are nan, as they are over no more than the list.
        """
        recipes = self._recipes(training)
        loose = self.with_tol(loosened(self.method.tol))._recipes(training)
        if self.blocks is not None:
            return self._refit_each(recipes, loose, training, watch, best)
        recipe, alphas, way = recipes[best], self.alphas[: best + 1], loose[: best + 1]
        if self.with_path:
            *path, fit = follow_to(way, recipe, training, watch, follow_listed)
        else:
            path, fit = [], next(follow_outputs([recipe], training, watch))
        fit, alphas = finished(fit, stopped=watch.stopped), alphas[-len(path) - 1 :]
        way_there = [each.solutions for each in path]
        if is_shortened(training):
            # Gaps on the short list say nothing of the other kernels.
            way_there = [
                [replace(each, duality_gap=np.nan) for each in solutions]
                for solutions in way_there
            ]
        attributes = fitted_attributes(fit)
        paths = list(zip(*way_there, fit.solutions, strict=True))
        attributes["n_iter_"] = iterations(paths)
        attributes["alphas_"] = self.alphas
        attributes["path_"] = path_arrays(alphas, paths, recipe.objective_scale)
        return attributes

    def _refit_each(
        self,
        recipes: Sequence[Recipe],
        loose: Sequence[Recipe],
        training: Training,
        watch: Watch,
        best: Indices,
    ) -> dict[str, Any]:
        """Return the attributes of the models with a strength for every target.

        The path of a target leads to its choice, and stays there.
        """
        assert self.blocks is not None
        last, way = chosen_recipe(recipes, best), loose[: int(best.max()) + 1]
        fit, paths = refit_targets(way, last, training, watch, best, self.blocks)
        attributes = fitted_attributes(finished(fit, stopped=watch.stopped))
        n_iter = [sum(point.n_iter for point in path) for path in paths]
        attributes["n_iter_"] = single(np.maximum(n_iter, 1))
        attributes["alphas_"] = self.alphas
        scale = np.reshape(last.objective_scale, (-1, 1))
        attributes["path_"] = path_arrays(self.alphas[: len(way)], paths, scale)
        return attributes

    def _recipes(self, training: Training) -> list[Recipe]:
        """Return the recipes of all strengths."""
        samples = training.samples
        # The scale of the targets is computed once: for every strength it took a tenth
        # of a search.
        owner, loss = self.method.source.owner, self.method.loss.unit
        scale = target_scale(owner, samples, loss)
        return [
            replace(self.method, alpha=alpha).recipe_at(scale, samples.total_weight)
            for alpha in self.alphas.tolist()
        ]


@documented_classifier
@dataclass(eq=False, repr=False)
class SpicyMKLClassifierCV(SparseClassification, AlphaSearchCV, ClassifierMKL):
    """Sparse multiple kernel classification with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLClassifier` for all strengths, with warm
    starts. The search chooses the strength with the best mean validation score. The
    Gram matrices are computed once; each fold normalizes them by its own training
    samples, as `SpicyMKLClassifier` does.

    Parameters
    ----------
    n_alphas : int, default=20
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last strength of the default grid to the first, in (0, 1].

    Attributes
    ----------
    l1_ratio_
    alpha_
    alphas_
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus alpha times the penalty.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations along the path on all samples.

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

    Each fold solves the problem of `SpicyMKLRegressor` for all strengths, with warm
    starts. The search chooses the strength with the best mean validation score. The
    Gram matrices are computed once; each fold normalizes them by its own training
    samples, as `SpicyMKLRegressor` does.

    With ``selection="separate"`` each target gets its own strength, unless ``scoring``
    is a callable, which scores all targets together.

    Parameters
    ----------
    n_alphas : int, default=20
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last strength of the default grid to the first, in (0, 1].

    Attributes
    ----------
    epsilon_
    l1_ratio_
    alpha_
    alphas_
    target_scores_ : ndarray of shape (n_targets, n_candidates)
        Mean score of each target and candidate, nan for skipped candidates; only if
        each target has its own strength. ``best_params_``, ``best_index_`` and
        ``alpha_`` then contain one entry for each target, and ``best_score_`` is the
        mean over targets. ``cv_results_`` contains means of scores and sums of losses
        over targets.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength. If each target has its own strength, the path ends at the
        smallest; beyond its strength a target keeps its model.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss plus alpha times the penalty.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of outer iterations along the path on all samples.

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
