"""Regularization paths as arrays, and a function that computes one for a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multikernel._typing import Array, Indices
from multikernel._validation import CALLBACK, Number, check_parameter, check_shapes
from multikernel.certificates import largest_alphas
from multikernel.estimators.base import BaseMKL, checked_method
from multikernel.estimators.by_copy import LearnsByCopy
from multikernel.estimators.fit import read_input
from multikernel.estimators.grams.recipe import problems_of
from multikernel.estimators.grams.solving import follow_outputs
from multikernel.estimators.progress import make_watch
from multikernel.estimators.publish.fitted import warn_refit_without_offset
from multikernel.problem import Callback, Problem, Solution


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Solutions for a sequence of descending strengths, on all training samples.

    `kernels` contains the ascending indices of the kernels that are active at any of
    the strengths `alphas`. `norms` and `kernel_weights` of these kernels have shape
    (n_outputs, n_alphas, n_entered), `objectives` and relative `duality_gaps` have
    shape (n_outputs, n_alphas). Outputs with a shared selection count as one output,
    and so do two classes. Gaps are nan if the solves used only a short list of the
    kernels, as in searches over all interactions.
    """

    alphas: Array
    kernels: Indices
    norms: Array
    kernel_weights: Array
    objectives: Array
    duality_gaps: Array

    def __post_init__(self) -> None:
        shape = ("n_outputs", "n_alphas", "n_entered")
        check_shapes(
            "RegularizationPath",
            alphas=(self.alphas, shape[1:2]),
            kernels=(self.kernels, shape[2:]),
            norms=(self.norms, shape),
            kernel_weights=(self.kernel_weights, shape),
            objectives=(self.objectives, shape[:2]),
            duality_gaps=(self.duality_gaps, shape[:2]),
        )


def strength_grid(
    problems: Sequence[Problem], n_alphas: int, alpha_min_ratio: float
) -> Array:
    """Return decreasing factors of the strengths; at the first no kernel is active."""
    # The factors multiply the alpha of each problem's regularizer. The first one is the
    # smallest at which no problem has an active kernel.
    alphas = [problem.regularizer.alpha for problem in problems]
    largest = float(np.max(largest_alphas(problems) / alphas))
    if not np.isfinite(largest):
        raise ValueError(
            "With l1_ratio=0 all kernels are active at every alpha, so alpha_max, the "
            "first alpha of a path, is not defined: pass a positive l1_ratio or, in a "
            "search such as SpicyMKLRegressorCV, pass alphas."
        )
    if largest <= 0.0:
        # Targets or all kernels are constant, so no kernel is active at any strength.
        largest = 1.0
    return np.asarray(largest * np.geomspace(1.0, float(alpha_min_ratio), n_alphas))


def path_arrays(
    alphas: Array, paths: Sequence[Sequence[Solution]], scale: float | Array
) -> RegularizationPath:
    """Return the paths of all outputs, one solution per strength, as arrays."""
    active = [solution.active for path in paths for solution in path]
    kernels = np.unique(np.concatenate(active)).astype(np.intp)
    return RegularizationPath(
        alphas,
        kernels,
        np.array([[s.norms[kernels] for s in path] for path in paths]),
        np.array([[s.kernel_weights[kernels] for s in path] for path in paths]),
        # `scale`, a number or of shape (n_outputs, n_alphas), converts objectives of
        # solvers to objectives of the estimator.
        scale * np.array([[s.objective for s in path] for path in paths]),
        np.array([[s.duality_gap for s in path] for path in paths]),
    )


@dataclass(frozen=True, eq=False)
class NamedPath:
    """A regularization path with the names of all kernels of the dictionary."""

    path: RegularizationPath
    kernel_names: list[str]

    def norms(self) -> Array:
        """Return the norm of each kernel over all outputs, (n_alphas, n_kernels)."""
        entered = np.sqrt((self.path.norms**2).sum(axis=0))
        full = np.zeros((len(self.path.alphas), len(self.kernel_names)))
        full[:, self.path.kernels] = entered
        return full


def regularization_path(
    estimator: BaseMKL,
    X: object,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    n_alphas: int = 50,
    alpha_min_ratio: float = 1e-2,
    callback: Callback | None = None,
) -> NamedPath:
    """Return an estimator's solutions for decreasing strengths of the penalty.

    The first strength is the smallest at which no kernel is active. The Gram matrices
    are computed once, and every solve starts from the previous solution.

    Parameters
    ----------
    estimator : estimator
        A model with a parameter ``alpha``, whose value is ignored. The model is not
        changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Training data, as in ``fit``.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets, as in ``fit``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, as in ``fit``.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values, as in ``fit``.
    n_alphas : int, default=50
        Number of strengths, at least 2.
    alpha_min_ratio : float, default=1e-2
        Ratio of the last strength to the first, in (0, 1).
    callback : callable, default=None
        Called with a `Progress` per outer iteration; if it returns True, the path ends.

    Returns
    -------
    path : NamedPath

    Raises
    ------
    ValueError
        If a parameter or the data are invalid.

    See Also
    --------
    SpicyMKLClassifierCV : Chooses among the strengths by cross-validation.

    Examples
    --------
    >>> from multikernel.datasets import make_additive_regression
    >>> from multikernel.estimators import SpicyMKLRegressor, regularization_path
    >>> from multikernel.kernels import GaussianKernel, ParameterGrid
    >>> X, y = make_additive_regression(60, random_state=0)
    >>> kernels = ParameterGrid([GaussianKernel(0.5)], range(10))
    >>> found = regularization_path(SpicyMKLRegressor(kernels), X, y, n_alphas=5)
    >>> found.norms().shape
    (5, 10)
    >>> (found.norms() > 0).sum(axis=1)[0]
    np.int64(0)
    """
    at_least_two, ratio = Number(2, integer=True), Number(0, 1, above=True, below=True)
    check_parameter("regularization_path", "n_alphas", n_alphas, at_least_two)
    check_parameter("regularization_path", "alpha_min_ratio", alpha_min_ratio, ratio)
    check_parameter("regularization_path", "callback", callback, CALLBACK)
    method = _path_method(estimator).with_unit_strength()
    warn_refit_without_offset("regularization_path", estimator, offset)
    options = {"sample_weight": sample_weight, "offset": offset}
    samples = read_input(estimator, method.source, X, y, **options)
    training = method.source.prepare(samples)
    with training.naming_errors():
        recipe = method.recipe(training)
        problems, _ = problems_of(recipe, training)
        alphas = strength_grid(problems, n_alphas, alpha_min_ratio)
        penalties = [problem.regularizer for problem in problems]
        recipes = [
            replace(recipe, penalties=[p.with_alpha(a * p.alpha) for p in penalties])
            for a in alphas.tolist()
        ]
        watch = make_watch(estimator, callback)
        watch.expect(len(recipes) * len(problems))
        fits = list(follow_outputs(recipes, training, watch))
    paths = list(zip(*(fit.solutions for fit in fits), strict=True))
    path = path_arrays(alphas[: len(fits)], paths, recipe.objective_scale)
    return NamedPath(path, training.names())


def _path_method(estimator: BaseMKL) -> Any:
    """Return the method of an estimator; raise if it has no path over strengths."""
    method = checked_method("regularization_path", estimator)
    owner = type(estimator).__name__
    if isinstance(estimator, LearnsByCopy):
        raise ValueError(
            "regularization_path does not support survival and ordinal models such as "
            f"{owner}: fit {owner.removesuffix('CV')}CV, and read the path from its "
            "attribute path_."
        )
    if not hasattr(method, "with_unit_strength"):
        raise ValueError(
            f"{owner} has no path over alpha: pass SpicyMKLClassifier, "
            "SpicyMKLRegressor, MKLClassifier or MKLRegressor. Fitted models of other "
            "methods have path_, hull_path_ or selection_order_."
        )
    return method
