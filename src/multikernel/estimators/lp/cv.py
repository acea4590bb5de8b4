"""lp-norm MKL, with C and p chosen by cross-validation along paths of C."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.method import convergence_gap, solved_candidate
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.solving import (
    fits_of_path,
    follow_outputs,
    until_stopped,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.lp.estimators import LpParameters
from multikernel.estimators.lp.method import MarginMethod, lp_method, margin_unit
from multikernel.estimators.method import Candidates, Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.choice import has_peaked
from multikernel.estimators.search.path import path_arrays
from multikernel.estimators.search.search import Search, SearchCV, loosen_tol
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.losses import Loss
from multikernel.problem import Solution

# In 16 of 222 searches the best C was at an end of this grid, in 49 with the grid of
# Kloft et al. (2009), see ``benchmarks/defaults`` (grids).
C_MULTIPLES = (1 / 32, 1 / 8, 1 / 2, 2.0, 8.0, 32.0, 128.0)
"""Default values of C in multiples of `margin_unit`."""

DEFAULT_PS = (1.0, 4 / 3, 2.0, 4.0, float("inf"))


def margin_grid(
    Cs: Sequence[float] | Array | None,
    method: MarginMethod,
    training: Training,
    weight_sums: Array,
) -> Array:
    """Return candidate values of C, one ascending column per entry of `weight_sums`."""
    # A column has the values of C for one p (or theta). The entry of `weight_sums` is
    # the sum of the kernel weights for this p, which the default values depend on.
    if Cs is not None:
        return np.tile(grid_of(Cs)[:, None], weight_sums.size)
    loss = MarginMethod.recipe(method, training).losses[0]
    units = [margin_unit(loss, training, size) for size in weight_sums.tolist()]
    return np.outer(C_MULTIPLES, units)


@dataclass(frozen=True, eq=False)
class MarginCandidates(Candidates):
    """Candidates of a search: all pairs of C and p (or theta), which varies fastest."""

    Cs: Array  # shape (n_Cs, n_ps), ascending in every column
    ps: Array | Indices  # ascending
    name: str = "p"  # name of the parameter in `ps`; "" if the estimator has none
    start: int = 0  # position of the first pair among all candidates
    with_path: bool = True  # whether `refit` computes the path over C

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return each candidate's C, and p or theta; `max_kernels` is ignored."""
        columns = {"C": self.Cs.ravel()}
        if self.name:
            columns[self.name] = np.tile(self.ps, len(self.Cs))
        return columns

    def open_grids(self, best_params: Mapping[str, float]) -> Mapping[str, Array]:
        """Return the grid of C for the chosen p; a wider grid may be better."""
        column = np.searchsorted(self.ps, best_params[self.name]) if self.name else 0
        return {"C": self.Cs[:, column]}

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models of pairs (C, p), each with a warm start from a neighbor."""
        n_ps, candidates = self.ps.size, self.prepared(training)
        best: int | None = None
        start: Sequence[Solution | None] = ()
        # With the largest p, where every kernel has a weight, C increases until scores
        # fall. The best C changes little from one p to the next, so each other p tries
        # the best C of the previous p and its neighbors, and larger values of C while
        # scores rise. If Cs is the same for all p, a smaller p has a smaller combined
        # kernel, so its best C is larger.
        for j in range(n_ps)[::-1]:
            recipes = candidates.recipes(training, j)
            # Positions of the pairs with this p, with C ascending.
            chain = range(self.start + j, self.start + n_ps * len(recipes), n_ps)
            first_C, latest_best = max(0, (best or 0) - 1), best
            # For every p, the first C starts from a model with the next larger p, and
            # each other C from the model with the previous C. On 155 samples and 70
            # kernels this takes 2 steps per solve. A start from the same C and the next
            # larger p takes 5: beyond some C the data are separated, and the optimum
            # changes only with p.
            fits = follow_outputs(recipes[first_C:], training, watch, start)
            previous: Sequence[Solution | None] = ()
            for i, fit in enumerate(until_stopped(fits), first_C):
                training = fit.training
                gaps = np.array([convergence_gap(s) for s in fit.solutions])
                yield replace(solved_candidate(chain[i], fit), gaps=gaps, chain=chain)
                mean_scores = means()
                latest_best = _best_in_chain(mean_scores, chain)
                if i in (first_C, latest_best):
                    # The next p starts from this p's model at the C before `i`.
                    start = previous or fit.solutions
                previous = fit.solutions
                is_past = best is not None and i > max(best, latest_best or 0)
                if is_past or (best is None and has_peaked(mean_scores, chain)):
                    break
            if watch.stopped:
                return
            best = latest_best

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, object]:
        """Return the fitted attributes of candidate `best`, with its path over C."""
        # p varies fastest among the candidates: C has the index i, and p the index j.
        i, j = divmod(best, self.ps.size)
        candidates = self.prepared(training)
        recipes = candidates.recipes(training, j)
        # Only the last fit needs the estimator's tol; others use the tol of folds.
        loose = candidates.with_tol(loosen_tol(self.method.tol))
        first = 0 if self.with_path else i
        path_recipes = loose.recipes(training, j)[first : i + 1]
        path = fits_of_path(path_recipes, recipes[i], training, watch)
        path[-1] = self.method.finish(path[-1], stopped=watch.stopped)
        attributes: dict[str, object] = self.method.publish(path[-1])
        steps = [
            [replace(s, duality_gap=convergence_gap(s)) for s in fit.solutions]
            for fit in path
        ]
        paths = list(zip(*steps, strict=True))
        steps_done = slice(i + 1 - len(path), i + 1)
        scales = np.transpose([r.objective_scale for r in recipes[steps_done]])
        attributes["n_iter_"] = iterations(paths)
        # The strengths of the path are 1 / C.
        attributes["path_"] = path_arrays(1.0 / self.Cs[steps_done, j], paths, scales)
        attributes["Cs_"] = self.Cs[:, j]
        if self.name:
            attributes[f"{self.name}s_"] = self.ps
        return attributes

    def prepared(self, training: Training) -> Self:
        """Return candidates that store what their recipes need of the samples."""
        return self

    def recipes(self, training: Training, j: int) -> Sequence[Recipe]:
        """Return the losses, penalties and solver for each C and the `j`-th p."""
        method = replace(self.method, p=float(self.ps[j]))
        return [replace(method, C=C).recipe(training) for C in self.Cs[:, j].tolist()]


def _best_in_chain(means: Array, chain: Sequence[int]) -> int | None:
    """Return the position in `chain` of the best mean score; None if all are nan."""
    # `means` are the mean scores of all candidates. `chain` contains the indices of the
    # candidates with one p, in ascending order of C.
    chain_means = means[np.asarray(chain)]
    return int(np.nanargmax(chain_means)) if np.isfinite(chain_means).any() else None


def margin_search(
    model: BaseMKL, method: MarginMethod, ps: Sequence[float], name: str = "p"
) -> Search:
    """Return the search of an estimator over C and, unless `name` is empty, over p."""
    # The C and p of `method` are ignored.
    exponents = np.unique(np.asarray(ps, dtype=np.float64))

    def candidates(data: Training) -> MarginCandidates:
        n_kernels = data.stack.shape[0]
        methods = [replace(method, p=p) for p in exponents.tolist()]
        sums = np.array([m.weight_sum(n_kernels) for m in methods])
        Cs = margin_grid(model.Cs, method, data, sums)
        return MarginCandidates(method, Cs, exponents, name)

    return Search(model, method, candidates)


@dataclass(eq=False, repr=False, kw_only=True)
class MarginSearchCV(SearchCV):
    """Base class of searches that choose C and p by cross-validation."""

    Cs: Sequence[float] | None = None
    ps: Sequence[float] = DEFAULT_PS

    def _method(self) -> Method:
        return margin_search(self, lp_method(self, self.ps), self.ps)


@dataclass(eq=False, repr=False)
class LpMKLClassifierCV(LpParameters, MarginSearchCV, ClassifierMKL):
    """Classification by lp-norm MKL with C and p chosen by cross-validation.

    Each fold solves the problem of `LpMKLClassifier` for pairs of C and p, with kernels
    normalized by its own training samples. For the largest p, C increases until the
    scores decrease. Each smaller p tries the best C of the next larger p, its two
    neighbors, and larger C while scores rise. ``cv_results_`` has nan for other pairs.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss. "squared_error" has targets -1 and 1; `predict_proba` needs "log_loss".
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights by class; "balanced" gives classes equal totals.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn, or one (train, test) pair; None means five folds. An
        int or None keeps each group together if ``fit`` receives ``groups``.
    scoring : str, callable (model, X, y[, sample_weight]) or None, default=None
        Score of validation samples that the search maximizes; None means accuracy.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel threads: None means 1, and -1 all cores.
    refit : bool or "one_standard_error", default=True
        Whether to fit the chosen model on all samples. "one_standard_error" chooses the
        candidate with fewest kernels within a standard error of the best mean score.
    max_search_rows : int, "auto" or None, default="auto"
        Maximum number of rows for scoring; None uses all. Above 4000 rows, "auto"
        doubles a sample of 2000 until choices are reliable (user guide, "Large data").
    random_state : int, RandomState or None, default=None
        Seed of the rows that ``max_search_rows`` draws for scoring; None means 0.
    Cs : sequence of float or None, default=None
        Candidate values of C, positive. None means c / (M^(1 - 1/p) v) for M kernels of
        mean variance v, with c = 1/32, 1/8, ..., 128 ("log_loss": 1/8, 1/2, ..., 512).
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Candidate values of p, each at least 1.
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    selection : {"shared", "separate"}, default="separate"
        With several labels or more than two classes, "separate" fits each with its own
        kernels. "shared" fits all with the same kernels: in the penalty, ‖f_m‖ is the
        root of the sum of squares of ``block_norms_[:, m]``, and for classes,
        "log_loss" is the multinomial loss, "hinge" the Crammer-Singer loss. "shared" is
        often more accurate if classes depend on the same columns.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
    storage : str, LowRank or Device, default="auto"
        Storage of Gram matrices: "auto" (expected to be fastest), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object; see `multikernel.gram.build_stack`.
    max_bytes : int or None, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.

    Attributes
    ----------
    C_ : float
        Value of C in this fit.
    p_ : float
        Chosen p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for ``p_``, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Fits on all samples with ``p_``, for the candidate values of C up to the chosen
        one; the alphas of the path are 1 / C. All fits but the last are solved to the
        relative duality gap ``fit_info_["cv_tol"]``.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the log loss if the model minimizes one, else its loss).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        p-norm one, or all zero if no kernel entered; a row per separate selection.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel. More than two
        classes, or several labels, have one row each.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one class, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point a that proves ``duality_gap_``. At the optimum f_m =
        ``kernel_weights_[m]`` K_m a, with the normalized Gram matrices K_m.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations along ``path_``.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration; ``output`` is the class index, see `Progress`.
    status_, status_message_ : str
        Worst `Status` of all classes, such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels),
        "cv_tol" (duality gap at which folds stop), "search_rows" (scored rows) and
        "predicted_alike" (the class, if all validation samples get the same, or "").
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    LpMKLClassifier : The model for one C and one p.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LpMKLClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> model = LpMKLClassifierCV(Cs=[0.1, 1.0, 10.0, 100.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.p_ in model.ps_
    (True, True)
    """


@dataclass(eq=False, repr=False, kw_only=True)
class LpMKLRegressorCV(LpParameters, MarginSearchCV, RegressorMKL):
    """Regression by lp-norm MKL with C and p chosen by cross-validation.

    Each fold solves the problem of `LpMKLRegressor` for pairs of C and p, with kernels
    normalized by its own training samples. For the largest p, C increases until the
    scores decrease. Each smaller p tries the best C of the next larger p, its two
    neighbors, and larger C while scores rise. ``cv_results_`` has nan for other pairs.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error", "epsilon_insensitive", "quantile", "huber", "poisson" (counts),
        "gamma" (positive amounts) or a loss object.
    epsilon : float or None, default=None
        Error in standard deviations of y: "epsilon_insensitive" ignores smaller errors
        (None means 0.1), "huber" is linear beyond it (None means 0.7).
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn, or one (train, test) pair; None means five folds. An
        int or None keeps each group together if ``fit`` receives ``groups``.
    scoring : str, callable (model, X, y[, sample_weight]) or None, default=None
        Score of validation samples that the search maximizes; None means R^2.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel threads: None means 1, and -1 all cores.
    refit : bool or "one_standard_error", default=True
        Whether to fit the chosen model on all samples. "one_standard_error" chooses the
        candidate with fewest kernels within a standard error of the best mean score.
    max_search_rows : int, "auto" or None, default="auto"
        Maximum number of rows for scoring; None uses all. Above 4000 rows, "auto"
        doubles a sample of 2000 until choices are reliable (user guide, "Large data").
    random_state : int, RandomState or None, default=None
        Seed of the rows that ``max_search_rows`` draws for scoring; None means 0.
    Cs : sequence of float or None, default=None
        Candidate values of C, positive. None means c / (M^(1 - 1/p) v) for M kernels of
        mean variance v, with c = 1/32, 1/8, ..., 128.
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Candidate values of p, each at least 1.
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    selection : {"shared", "separate"}, default="shared"
        "shared" gives all targets the same kernels: in the penalty, ‖f_m‖ is the root
        of the sum of squares of ``block_norms_[:, m]``. "separate" fits each alone.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
    storage : str, LowRank or Device, default="auto"
        Storage of Gram matrices: "auto" (expected to be fastest), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object; see `multikernel.gram.build_stack`.
    max_bytes : int or None, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    quantile : float, default=0.5
        Level of the quantile, between 0 and 1; only for "quantile".
    intervals : bool, default=False
        Whether to store fold models for `predict_interval`. This can double the time.

    Attributes
    ----------
    epsilon_ : float or ndarray of shape (n_targets,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    C_ : float or ndarray of shape (n_targets,)
        Value of C in the units of y; an array if ``selection="separate"``.
    p_ : float
        Chosen p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for ``p_``, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Fits on all samples with ``p_``, for the candidate values of C up to the chosen
        one; the alphas of the path are 1 / C. All fits but the last are solved to the
        relative duality gap ``fit_info_["cv_tol"]``.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        p-norm one, or all zero if no kernel entered; a row per separate selection.
    block_norms_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one target, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Feasible dual point a that proves ``duality_gap_``. At the optimum f_m =
        ``kernel_weights_[m]`` K_m a, with the normalized Gram matrices K_m.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_targets,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_targets,)
        Total number of outer iterations along ``path_``.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration; ``output``: index of the target, see `Progress`.
    status_, status_message_ : str
        Worst `Status` of all targets, such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels),
        "cv_tol" (duality gap at which folds stop) and "search_rows" (scored rows).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    LpMKLRegressor : The model for one C and one p.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LpMKLRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> model = LpMKLRegressorCV(Cs=[0.1, 1.0, 10.0, 100.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.p_ in model.ps_
    (True, True)
    """

    loss: str | Loss = "epsilon_insensitive"
    quantile: float = 0.5
    selection: str = "shared"
    intervals: bool = False
