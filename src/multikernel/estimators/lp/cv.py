"""lp-norm MKL with C and p chosen by cross-validation, along paths of C."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.descriptions import documented
from multikernel.estimators.grams.method import (
    finished,
    fitted_attributes,
    solved,
)
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.solving import (
    follow_outputs,
    follow_to,
    until_stopped,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.lp.estimators import LpClassification, LpRegression
from multikernel.estimators.lp.method import MarginMethod, lp_method, margin_unit
from multikernel.estimators.method import Candidates, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.choice import no_better
from multikernel.estimators.search.path import RegularizationPath, path_arrays
from multikernel.estimators.search.search import Search, SearchCV, loosened
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.problem import Solution

C_MULTIPLES = (1 / 32, 1 / 8, 1 / 2, 2.0, 8.0, 32.0, 128.0)
"""Values of C for a kernel of unit variance. ``benchmarks/defaults`` (grids), 222
searches with p > 1: an end of the grid beat its neighbor in 16, and 11 of the 16 had
the logistic loss and not yet its factor of four; of the fixed grid of Kloft et al.
(2009) in 49."""

DEFAULT_PS = (1.0, 4 / 3, 2.0, 4.0, float("inf"))


def margin_grid(
    given: Any, method: MarginMethod, training: Training, weight_sums: Array
) -> Array:
    """Return the values of C to try, (n_Cs, n_sums): given ones, or default ones.

    Default ones are multiples of `margin_unit`, with a column for each sum of kernel
    weights; all ascend.
    """
    if given is not None:
        return np.tile(grid_of(given)[:, None], weight_sums.size)
    loss = MarginMethod.recipe(method, training).losses[0]
    units = [margin_unit(loss, training, size) for size in weight_sums.tolist()]
    return np.outer(C_MULTIPLES, units)


@dataclass(frozen=True, eq=False)
class MarginCandidates(Candidates):
    """All pairs of C and p; in a list of them C rises slower than p.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs, n_ps)
        Ascending in every column.
    ps : ndarray of shape (n_ps,)
        Ascending.
    with_p : bool
        Whether p is a parameter of the estimator.
    place : int, default=0
        Of the first pair among all candidates, where there are others.
    """

    Cs: Array
    ps: Array
    with_p: bool
    place: int = 0

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return C of every pair, and p."""
        columns = {"C": self.Cs.ravel()}
        if self.with_p:
            columns["p"] = np.tile(self.ps, len(self.Cs))
        return columns

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the values of C beside the choice; p has natural ends."""
        column = np.searchsorted(self.ps, chosen["p"]) if self.with_p else 0
        return {"C": self.Cs[:, column]}

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of pairs, each solved from a neighbor's solution.

        The search sends back the mean scores so far, one per pair, after each model.
        All C are tried with the largest p, until scores fall. The best C changes little
        from one p to the next: from the best C of the last p, one smaller and one
        larger are tried, and larger ones while scores rise. Where C is the same for all
        p, a smaller p has smaller kernels, so that its best C is larger.
        """
        size = self.ps.size
        best: int | None = None
        start: Sequence[Solution | None] = ()
        for j in range(size)[::-1]:
            recipes = self.recipes(training, j)
            # Indices of the pairs with this p, C rising.
            chain = range(self.place + j, self.place + size * len(recipes), size)
            first, top = max(0, (best or 0) - 1), best
            followed = follow_outputs(recipes[first:], training, watch, start)
            before: Sequence[Solution | None] = ()
            for i, fit in enumerate(until_stopped(followed), first):
                training = fit.training
                means = yield replace(solved(chain[i], fit), chain=chain)
                top = _best_of(means, chain)
                if i in (first, top):
                    # The next p starts there, or with the first C.
                    start = before or fit.solutions
                before = fit.solutions
                is_beyond = best is not None and i > max(best, top or 0)
                if is_beyond or (best is None and no_better(means, chain)):
                    break
            if watch.stopped:
                return
            best = top

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair, and the path of C that leads to it.

        The way there is solved as exactly as the folds are.
        """
        i, j = divmod(best, self.ps.size)
        recipes = self.recipes(training, j)
        loose = self.with_tol(loosened(self.method.tol))
        way = loose.recipes(training, j)[: i + 1]
        path = follow_to(way, recipes[i], training, watch)
        path[-1] = finished(path[-1], stopped=watch.stopped)
        attributes = fitted_attributes(path[-1])
        paths = list(zip(*(fit.solutions for fit in path), strict=True))
        all_Cs = self.Cs[:, j]
        tried = slice(i + 1 - len(path), i + 1)
        attributes["n_iter_"] = iterations(paths)
        attributes["path_"] = margin_path(all_Cs[tried], recipes[tried], paths)
        attributes["Cs_"] = all_Cs
        if self.with_p:
            attributes["ps_"] = self.ps
        return attributes

    def recipes(self, training: Training, j: int) -> list[Recipe]:
        """Return the recipes of one p, C rising.

        The largest p comes first: there every kernel has a weight. For every p the
        first C starts from the model of the next larger p, and each other C from the
        one before it. On 155 samples and 70 kernels that takes 2 steps a solve, where
        starts from the same C and the next larger p take 5: past some C the data are
        separated, and the optimum only changes with p.
        """
        method = replace(self.method, p=float(self.ps[j]))
        return [replace(method, C=C).recipe(training) for C in self.Cs[:, j].tolist()]


def _best_of(means: Array | None, chain: Sequence[int]) -> int | None:
    """Return where in a chain the mean score is best; None where none is known."""
    if means is None or not np.isfinite(means[np.asarray(chain)]).any():
        return None
    return int(np.nanargmax(means[np.asarray(chain)]))


def margin_search(
    model: Any, method: MarginMethod, ps: Sequence[float], *, with_p: bool
) -> Search:
    """Return the search of an estimator among C, and among p where it has one.

    The C and p of its method do not matter.
    """
    exponents = np.unique(np.asarray(ps, dtype=np.float64))

    def candidates(whole: Training) -> MarginCandidates:
        n_kernels = whole.stack.shape[0]
        alike = [replace(method, p=p) for p in exponents.tolist()]
        sums = np.array([each.weight_sum(n_kernels) for each in alike])
        Cs = margin_grid(model.Cs, method, whole, sums)
        return MarginCandidates(method, Cs, exponents, with_p)

    return Search(model, method, candidates)


def margin_path(
    Cs: Array, recipes: Sequence[Recipe], paths: Sequence[Sequence[Solution]]
) -> RegularizationPath:
    """Return the solutions for all C, ascending, as a path over the strengths 1 / C.

    Each output has a path with one solution per C, of the first ones where it was
    stopped. Objectives are in the scale of C times the losses.
    """
    size = len(paths[0])
    scales = np.transpose([recipe.objective_scale for recipe in recipes[:size]])
    return path_arrays(1.0 / Cs[:size], paths, scales)


@dataclass(eq=False, repr=False, kw_only=True)
class MarginSearchCV(SearchCV):
    """Chooses C and p by cross-validation."""

    Cs: Sequence[float] | None = None
    ps: Sequence[float] = DEFAULT_PS

    def _method(self) -> Method:
        return margin_search(self, lp_method(self, self.ps), self.ps, with_p=True)


@documented("lp-norm, classifiers")
@dataclass(eq=False, repr=False)
class LpMKLClassifierCV(LpClassification, MarginSearchCV, ClassifierMKL):
    r"""Classification by lp-norm MKL, C and p chosen by cross-validation.

    Each fold solves the problem of `LpMKLClassifier` for pairs of C and p, with warm
    starts. The search chooses the pair with the best mean validation score. It begins
    with the largest p and increases C until the scores decrease. Each smaller p starts
    with the best C of the next larger p and its two neighbors, and continues to larger
    C while the scores rise. ``cv_results_`` contains nan for pairs that were skipped.
    The Gram matrices are computed once; each fold normalizes them by its own training
    samples, so its models are those of a `LpMKLClassifier` fitted on these samples.

    Parameters
    ----------
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Candidate values of p, each at least 1.

    Attributes
    ----------
    C_
    p_ : float
        Chosen p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for ``p_``, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``p_`` and C up to
        ``C_``. The strengths of the path are 1 / C; all but the last are solved to
        ``fit_info_["cv_tol"]``.
    objective_ : float or ndarray of shape (n_classes,)
        Objective of `LpMKLClassifier`: the penalty plus C times the sum of the losses.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations along ``path_``.

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

    Each fold solves the problem of `LpMKLRegressor` for pairs of C and p, with warm
    starts. The search chooses the pair with the best mean validation score. It begins
    with the largest p and increases C until the scores decrease. Each smaller p starts
    with the best C of the next larger p and its two neighbors, and continues to larger
    C while the scores rise. ``cv_results_`` contains nan for pairs that were skipped.
    The Gram matrices are computed once; each fold normalizes them by its own training
    samples, so its models are those of a `LpMKLRegressor` fitted on these samples.

    Parameters
    ----------
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Candidate values of p, each at least 1.

    Attributes
    ----------
    epsilon_
    C_
    p_ : float
        Chosen p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for ``p_``, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``p_`` and C up to
        ``C_``. The strengths of the path are 1 / C; all but the last are solved to
        ``fit_info_["cv_tol"]``.
    objective_ : float or ndarray of shape (n_targets,)
        Objective of `LpMKLRegressor`: the penalty plus C times the sum of the losses.
    n_iter_ : int or ndarray of shape (n_targets,)
        Total number of outer iterations along ``path_``.

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
