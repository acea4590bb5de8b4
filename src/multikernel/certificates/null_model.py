"""The model without kernels: the best constant, and where a path starts."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.certificates.forms import dual_norms
from multikernel.losses.base import Loss
from multikernel.problem import Problem


@dataclass(frozen=True, eq=False)
class ConstantModel:
    """The best model without kernels.

    Parameters
    ----------
    intercept : ndarray of shape (n_outputs,)
        The best constant, zero where the problem has no intercept.
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual point that is optimal for the constant model: minus a subgradient of
        the loss there, which sums to zero with an intercept.
    """

    intercept: Array
    dual: Array


def constant_model(problem: Problem) -> ConstantModel:
    """Return the best constant model and its dual point.

    Parameters
    ----------
    problem : Problem
        The kernels are not used.

    Returns
    -------
    model : ConstantModel

    Raises
    ------
    ValueError
        If the best constant is infinite: one class only.
    """
    y, loss = problem.y, problem.loss
    if not problem.fit_intercept:
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        return ConstantModel(np.zeros(n_outputs), -loss.gradient(y, np.zeros_like(y)))
    if y.ndim == 1:
        b, dual = best_intercept(loss, y, np.zeros_like(y))
        return ConstantModel(np.array([b]), dual)
    zero = np.zeros(y.shape[0])
    fits = [best_intercept(loss, y[:, k], zero) for k in range(y.shape[1])]
    return ConstantModel(
        np.array([b for b, _ in fits]), np.stack([dual for _, dual in fits], axis=1)
    )


def best_intercept(loss: Loss, y: Array, f: Array) -> tuple[float, Array]:
    """Return the best constant to add to decision values, and a dual point there.

    The summed loss is minimised by bisection on its slope. At a kink the two one-sided
    subgradients are mixed so that their sum is zero: both are subgradients at
    (numerically) the same point, so the mixture is one.

    Parameters
    ----------
    loss : Loss
        The loss.
    y, f : ndarray of shape (n_samples,)
        Targets, and decision values without intercept.

    Returns
    -------
    b : float
        The best intercept.
    dual : ndarray of shape (n_samples,)
        Minus a subgradient of the loss at f + b; it sums to zero.
    """

    def slope(b: float) -> tuple[float, Array]:
        gradient = loss.gradient(y, f + b)
        return float(gradient.sum()), gradient

    reach = 1.0 + float(np.abs(y).max() + np.abs(f).max())
    left, right = -reach, reach
    while slope(left)[0] > 0.0:
        left = _widen(left, reach)
    while slope(right)[0] < 0.0:
        right = _widen(right, reach)
    precision = 4.0 * np.finfo(float).eps * (right - left)
    while right - left > precision:
        middle = 0.5 * (left + right)
        left, right = (left, middle) if slope(middle)[0] >= 0.0 else (middle, right)
    (low, g_low), (high, g_high) = slope(left), slope(right)
    share = 0.5 if high <= low else float(np.clip(-low / (high - low), 0.0, 1.0))
    # In this form a mixture of equal numbers is that number to the last digit, so that
    # no entry leaves the conjugate's domain by rounding.
    gradient = g_low + share * (g_high - g_low)
    return left + share * (right - left), -gradient


def _widen(b: float, reach: float) -> float:
    """Double a bracket end, and say what is wrong when it runs away."""
    # Constants of regression are within reach at once; those of the logistic loss are
    # log-odds, and weights would have to differ by exp(256) to put them beyond.
    if abs(b) > 128.0 * reach:
        raise ValueError(
            "The best constant model is infinite: the targets hold one class only."
        )
    return 2.0 * b


def alpha_max(problem: Problem) -> float:
    r"""Return the smallest regularisation at which every kernel is out.

    .. math:: \alpha_{\max} = \max_m \|\rho_0\|_{K_m}

    in the summed scale of `Problem` (an estimator's alpha is this over n_samples),
    with :math:`\rho_0` the dual point of the best constant model. For losses with
    kinks there, such as the hinge, it is an upper bound. For an elastic net it is the
    alpha at which the block l1 part alone removes every kernel, so the value is
    divided by ``l1_ratio``; it is infinite where that is zero.

    Parameters
    ----------
    problem : Problem
        Its regulariser is used for its shape only, not for its strength.

    Returns
    -------
    alpha : float
    """
    largest = float(dual_norms(problem.gram, constant_model(problem).dual).max())
    l1_ratio = float(getattr(problem.regularizer, "l1_ratio", 1.0))
    return largest / l1_ratio if l1_ratio > 0.0 else np.inf
