"""Split of the held-out deviance among the terms of a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from multikernel._typing import Array
from multikernel.certificates import best_intercepts
from multikernel.certificates.rounding import largest_losses
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.by_copy import LearnsByCopy
from multikernel.estimators.one_class import OneClassMKL
from multikernel.estimators.parameters import find_joint_loss, find_loss
from multikernel.inspection.pipelines import model_of
from multikernel.inspection.split import Draws, HeldOut, VarianceSplit, held_out
from multikernel.linalg import EPS
from multikernel.losses import Loss, is_coupled, weighted
from multikernel.losses.answers import raise_if_unsuitable
from multikernel.losses.base import is_smooth

OWNER = "deviance_split"

# With twice as many nodes, shares differ by at most 1e-9.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
"""Gauss-Legendre rule that integrates from the constant model to the fitted model."""


def deviance_split(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    by: str = "kernel",
    *,
    n_resamples: int = 1000,
    sample_weight: ArrayLike | None = None,
    groups: object = None,
    offset: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> VarianceSplit:
    r"""Split the explained deviance of a fitted model by kernel, view or column.

    The split integrates the gradient of the loss :math:`\ell` along the line
    :math:`f_t = c + t (f - c)` from the best constant c to the decision values f. Term
    m, centered to mean zero, has the share (of Aumann and Shapley [1]_)

    .. math:: -\frac{\sum_i w_i \int_0^1 \ell'(y_i, f_{t,i}) \, dt \; f_{m,i}}
        {\sum_i w_i \ell(y_i, c)}

    with sample weights :math:`w_i`. For the squared loss, this is `variance_split`. D²
    is one minus the loss of the model divided by the loss of the constant. The shares
    sum to D² except for the effect of the mean of f, which may differ from c.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or regressor of this library with a smooth loss, or a
        pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Data that the model has not seen.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets or classes. With more than two classes, each class against the rest is
        an output, unless the model has a shared selection.
    by : {"kernel", "view", "column"}, default="kernel"
        Unit of a share, as in `variance_split`.
    n_resamples : int, default=1000
        Number of resamples for intervals; all use the constant c of all samples.
    sample_weight, groups, offset : array-like, default=None
        As in `variance_split`.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.

    Returns
    -------
    split : VarianceSplit
        Its ``r2`` is D².

    Raises
    ------
    ValueError
        If the loss is piecewise linear, all targets are equal, a class of the model is
        not in `y`, or the model is a survival or ordinal model.

    References
    ----------
    .. [1] Aumann, Shapley (1974). Values of Non-Atomic Games. Princeton.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLClassifier
    >>> from multikernel.inspection import deviance_split
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 300, 2))
    >>> y = X[:, 0] + 0.5 * noise[:, 0] > 0
    >>> model = SpicyMKLClassifier({"signal": 0, "noise": 1}).fit(X[:150], y[:150])
    >>> split = deviance_split(model, X[150:], y[150:], by="view", random_state=0)
    >>> bool(split.shares[0] > 0.4), bool(abs(split.shares[1]) < 0.05)
    (True, True)
    """
    _, model = model_of(OWNER, estimator)
    if isinstance(model, LearnsByCopy | OneClassMKL):
        raise ValueError(
            f"{OWNER} does not support survival, ordinal and one-class models such as "
            f"{type(model).__name__}: use group_permutation_importance, for one-class "
            "models with a callable scoring."
        )
    draws = Draws(n_resamples, sample_weight, groups, random_state)
    loss = _smooth_loss(model)
    data = held_out(OWNER, estimator, X, y, by, offset, draws)
    loss, targets = _joint_loss_and_targets(loss, data.model, data.y)
    decreases, constant, after, rounding = _decreases(loss, targets, data)

    def weighted_sum(values: Array, weights: Array = data.weights) -> Array:
        return np.tensordot(weights, values, axes=1)

    before = weighted_sum(constant)
    data.refuse_constant(OWNER, ~(before > weighted_sum(rounding)))
    shares = weighted_sum(decreases) / before[:, None]
    resampled = [
        weighted_sum(decreases, w) / weighted_sum(constant, w)[..., None]
        for w in draws.of(data.weights)
    ]
    return data.split(shares, 1.0 - weighted_sum(after) / before, resampled, "D²")


def _smooth_loss(model: BaseMKL) -> Loss:
    """Return the loss of a fitted model; raise if it is neither smooth nor joint."""
    quantile = getattr(model, "quantile", 0.5)
    loss = find_loss(model.loss, getattr(model, "epsilon_", 1.0), quantile)
    if not is_smooth(loss) and not is_coupled(loss):
        raise ValueError(
            f"{OWNER} requires a smooth loss, such as 'squared_error', 'log_loss' or "
            f"'poisson', got {model.loss or type(model).__name__!r}: fit a model with "
            "such a loss."
        )
    return loss


def _joint_loss_and_targets(loss: Loss, model: BaseMKL, y: Array) -> tuple[Loss, Array]:
    """Return a model's loss, and validated targets of shape (n_samples, n_outputs)."""
    classes = getattr(model, "classes_", None)
    if classes is None or y.ndim == 2:
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        raise_if_unsuitable(OWNER, loss, targets)
        return loss, targets if classes is None else 2.0 * targets - 1.0
    is_unknown = ~np.isin(y, classes)
    if is_unknown.any():
        row = int(np.flatnonzero(is_unknown)[0])
        label = y[row : row + 1].tolist()[0]
        raise ValueError(
            f"{OWNER}: row {row} of y has the class {label!r}, which is not in the "
            "training data of the model: remove such rows from X and y."
        )
    absent = classes[~np.isin(classes, y)].tolist()
    if absent:
        raise ValueError(
            f"{OWNER}: no row of y has the class {absent[0]!r}, so the best constant "
            "prediction, with which the model is compared, is not finite: pass samples "
            "of all classes of the model."
        )
    indicators = (y[:, None] == classes).astype(np.float64)
    if model._fitted().link == "joint":
        return find_joint_loss(loss) or loss, indicators
    return loss, 2.0 * (indicators if len(classes) > 2 else indicators[:, 1:]) - 1.0


def _decreases(
    loss: Loss, y: Array, data: HeldOut
) -> tuple[Array, Array, Array, Array]:
    """Return decreases of each sample's loss by term, and three arrays of losses."""
    # The results are the decreases from the constant to the fitted model, the losses of
    # the constant model, the losses of the fitted model, and bounds on the rounding
    # errors of the constant model's losses. A term lowers the loss by minus its
    # centered values times the gradient, integrated on the line from the constant to
    # the fitted model. Shapes are (n_samples, n_outputs[, n_terms]), with one output if
    # the loss couples outputs.
    is_joint = is_coupled(loss)
    columns = y if is_joint or y.shape[1] > 1 else y[:, 0]
    offset = data.offset.reshape(columns.shape)
    has_weight = data.weights > 0.0
    fitted = weighted(loss, data.weights[has_weight])
    constants, _ = best_intercepts(fitted, columns[has_weight], offset[has_weight])
    start = np.array(np.broadcast_to(constants, y.shape)).reshape(columns.shape)
    start, end = start + offset, data.f.reshape(columns.shape) + offset
    slopes = np.zeros(columns.shape)
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        point = start + 0.5 * (1.0 + node) * (end - start)
        slopes += 0.5 * weight * loss.gradient(columns, point)
    centered = data.terms - np.average(data.terms, axis=0, weights=data.weights)
    drops = -slopes.reshape(*y.shape, 1) * centered
    if is_joint:
        drops = drops.sum(axis=1, keepdims=True)
    before, after = (loss.value(columns, values) for values in (start, end))
    # The bounds are the changes of the losses if `start` has a few wrong last digits.
    rounding = largest_losses(loss, columns, start, 8.0 * EPS * np.abs(start)) - before
    shape = drops.shape[:2]
    return drops, before.reshape(shape), after.reshape(shape), rounding.reshape(shape)
