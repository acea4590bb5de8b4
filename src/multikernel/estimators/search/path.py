"""A regularisation path as arrays, over the kernels that ever enter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import check_shapes
from multikernel.certificates import alpha_max
from multikernel.problem import Problem, Solution


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Solutions for a sequence of strengths on all training samples.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    kernels : ndarray of shape (n_entered,)
        Kernels that enter anywhere on the path, ascending.
    norms : ndarray of shape (n_outputs, n_alphas, n_entered)
        Their block norms; one for each problem: one where outputs share a selection
        and for two classes, otherwise one per class, label or target.
    kernel_weights : ndarray of shape (n_outputs, n_alphas, n_entered)
        Their weights.
    objectives : ndarray of shape (n_outputs, n_alphas)
        Objectives in the scale of the estimator.
    duality_gaps : ndarray of shape (n_outputs, n_alphas)
        Relative duality gaps.
    """

    alphas: Array
    kernels: Indices
    norms: Array
    kernel_weights: Array
    objectives: Array
    duality_gaps: Array

    def __post_init__(self) -> None:
        each = ("n_outputs", "n_alphas", "n_entered")
        check_shapes(
            "RegularizationPath",
            alphas=(self.alphas, each[1:2]),
            kernels=(self.kernels, each[2:]),
            norms=(self.norms, each),
            kernel_weights=(self.kernel_weights, each),
            objectives=(self.objectives, each[:2]),
            duality_gaps=(self.duality_gaps, each[:2]),
        )


def strength_grid(
    problems: Sequence[Problem], n_alphas: int, alpha_min_ratio: float
) -> Array:
    """Return strengths downwards from the smallest one at which no kernel enters.

    Parameters
    ----------
    problems : sequence of Problem
        The problems of all outputs.
    n_alphas : int
        Number of strengths.
    alpha_min_ratio : float
        The last strength over the first.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        In units of the strengths that the problems have, evenly spaced in the
        logarithm.

    Raises
    ------
    ValueError
        If no kernel ever enters, or every kernel always does.
    """
    largest = max(alpha_max(each) / each.regularizer.alpha for each in problems)
    if not np.isfinite(largest):
        raise ValueError(
            "With l1_ratio=0 every kernel stays in at any alpha, so there is no "
            "largest one to start from: give alphas, or a positive l1_ratio."
        )
    if largest <= 0.0:
        raise ValueError(
            "No kernel can enter at any alpha: the targets are constant, or every "
            "kernel is zero on the training data."
        )
    return np.asarray(largest * np.geomspace(1.0, float(alpha_min_ratio), n_alphas))


def path_arrays(
    alphas: Array, paths: Sequence[Sequence[Solution]], scale: float | Array
) -> RegularizationPath:
    """Return the paths of all outputs as arrays.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths in the scale of the estimator.
    paths : sequence of sequence of Solution
        One path per output, with one solution per strength.
    scale : float or ndarray of shape (n_outputs, n_alphas)
        What turns objectives of problems into those of the estimator.

    Returns
    -------
    path : RegularizationPath
    """
    active = [solution.active for path in paths for solution in path]
    kernels = np.unique(np.concatenate(active)).astype(np.intp)
    return RegularizationPath(
        alphas,
        kernels,
        np.array([[s.norms[kernels] for s in path] for path in paths]),
        np.array([[s.kernel_weights[kernels] for s in path] for path in paths]),
        scale * np.array([[s.objective for s in path] for path in paths]),
        np.array([[s.duality_gap for s in path] for path in paths]),
    )
