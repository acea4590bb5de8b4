"""Split of the held-out deviance among the terms of a model."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, check_random_state

from multikernel._typing import Array
from multikernel._validation import Number, check_parameter, check_weights
from multikernel.certificates import best_intercepts
from multikernel.estimators.parameters import find_joint_loss, find_loss
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.targets import known_targets
from multikernel.inspection.pipelines import check_model, last_step
from multikernel.inspection.resampling import resampled_weights
from multikernel.inspection.split import VarianceSplit, given_offset, split_of
from multikernel.inspection.terms import contributions
from multikernel.losses import Loss, is_coupled, weighted
from multikernel.losses.base import is_smooth

OWNER = "deviance_split"

NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
"""Gauss-Legendre rule on the line from the constant to the model; twice as many nodes
change shares by 1e-9."""


def deviance_split(
    estimator: Any,
    X: Any,
    y: Any,
    by: str = "kernel",
    *,
    n_resamples: int = 1000,
    sample_weight: Any = None,
    groups: Any = None,
    offset: Any = None,
    random_state: Any = None,
) -> VarianceSplit:
    r"""Split the explained deviance of a fitted model by kernel, view or column.

    On the line :math:`f_t = c + t (f - c)` from the best constant c to the decision
    values f, each term lowers the loss according to its gradient. Term m has the share

    .. math:: -\frac{\sum_i w_i \int_0^1 \ell'(y_i, f_{t,i}) \, dt \; f_{m,i}}
        {\sum_i w_i \ell(y_i, c)},

    where terms have mean zero (the split of Aumann and Shapley [1]_). An offset is
    added to c and f. For the squared loss, this is `r2_score_split`. The shares sum to
    D² without the contribution of the mean prediction. D² is one minus the loss of the
    model divided by the loss of the constant.

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
        Number of resamples of the samples, for intervals. The constant is that of all
        samples.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.
    groups : array-like of shape (n_samples,), default=None
        A label for each sample, such as its patient; whole groups are resampled.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values, as in ``predict``.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.

    Returns
    -------
    split : VarianceSplit
        Its ``r2`` is D².

    Raises
    ------
    TypeError
        If the estimator is not a multiple kernel model.
    ValueError
        If data or parameters are invalid, the loss is piecewise linear, or all targets
        are equal.

    See Also
    --------
    variance_split : The same split of R².

    References
    ----------
    .. [1] Aumann, Shapley (1974). Values of Non-Atomic Games. Princeton University
       Press.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLClassifier
    >>> from multikernel.inspection import deviance_split
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 2))
    >>> y = X[:, 0] + 0.5 * random.normal(size=300) > 0
    >>> model = SpicyMKLClassifier({"signal": 0, "noise": 1}).fit(X[:150], y[:150])
    >>> split = deviance_split(model, X[150:], y[150:], by="view", random_state=0)
    >>> bool(split.shares[0] > 0.4), bool(abs(split.shares[1]) < 0.05)
    (True, True)
    """
    check_parameter(OWNER, "n_resamples", n_resamples, Number(2, integer=True))
    _, model = last_step(estimator)
    check_model(OWNER, model)
    warn_order(OWNER, X, groups=groups, offset=offset)
    check_consistent_length(X, y)
    y = known_targets(model, X, y, sample_weight)
    loss, targets = _loss_and_targets(model, y)
    contribution = contributions(estimator, X, by)
    offsets = given_offset(OWNER, model, offset, targets)
    terms = contribution.terms.reshape(*targets.shape, -1)
    weights = check_weights(sample_weight, len(targets))
    weights = np.ones(len(targets)) if weights is None else weights
    f = terms.sum(axis=2) + np.ravel(model.intercept_)
    falls, constant, after = _falls(loss, targets, terms, f, weights, offsets)
    before = np.tensordot(weights, constant, axes=1)
    if not np.all(before > 0.0):
        raise ValueError(f"{OWNER}: y is constant, so there is no deviance to split.")
    shares = np.tensordot(weights, falls, axes=1) / before[:, None]
    d2 = 1.0 - np.tensordot(weights, after, axes=1) / before
    random = check_random_state(random_state)
    drawn = [
        np.tensordot(w, falls, axes=1) / np.tensordot(w, constant, axes=1)[..., None]
        for w in resampled_weights(random, n_resamples, weights, groups)
    ]
    names = contribution.names
    return split_of(model, names, shares, d2, np.concatenate(drawn), "D²")


def _loss_and_targets(model: Any, y: Array) -> tuple[Loss, Array]:
    """Return the loss, and its targets, shape (n_samples, n_outputs)."""
    quantile = getattr(model, "quantile", 0.5)
    loss = find_loss(model.loss, getattr(model, "epsilon_", 1.0), quantile)
    if not is_smooth(loss) and not is_coupled(loss):
        raise ValueError(
            f"{OWNER} requires a smooth loss, such as 'squared_error', 'log_loss' or "
            f"'poisson', got {model.loss!r}: fit the model with such a loss."
        )
    classes = getattr(model, "classes_", None)
    if classes is None or y.ndim == 2:
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        return loss, targets if classes is None else 2.0 * targets - 1.0
    unknown = ~np.isin(y, classes)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        label = y[row : row + 1].tolist()[0]
        raise ValueError(
            f"{OWNER}: row {row} of y has the class {label!r}, which is not in the "
            "training data: remove such rows."
        )
    indicators = (y[:, None] == classes).astype(np.float64)
    if model._fitted().link == "joint":
        return find_joint_loss(loss) or loss, indicators
    return loss, 2.0 * (indicators if len(classes) > 2 else indicators[:, 1:]) - 1.0


def _falls(
    loss: Loss, y: Array, terms: Array, f: Array, weights: Array, offset: Array
) -> tuple[Array, Array, Array]:
    """Return the decrease of each sample's loss by each term, and both losses.

    Shapes are (n_samples, n_outputs, n_terms), and (n_samples, n_outputs) for the
    losses of the constant and the model. There is one output if the loss couples
    outputs. `f` does not include the offset.
    """
    together = is_coupled(loss)
    columns = y if together or y.shape[1] > 1 else y[:, 0]
    weighted_loss, offset = weighted(loss, weights), offset.reshape(columns.shape)
    constants, _ = best_intercepts(weighted_loss, columns, offset)
    start = np.array(np.broadcast_to(constants, y.shape)).reshape(columns.shape)
    start, end = start + offset, f.reshape(columns.shape) + offset
    slopes = np.zeros(columns.shape)
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        between = start + 0.5 * (1.0 + node) * (end - start)
        slopes += 0.5 * weight * loss.gradient(columns, between)
    centred = terms - np.average(terms, axis=0, weights=weights)
    falls = -slopes.reshape(*y.shape, 1) * centred
    if together:
        falls = falls.sum(axis=1, keepdims=True)
    before, after = (loss.value(columns, values) for values in (start, end))
    return falls, before.reshape(falls.shape[:2]), after.reshape(falls.shape[:2])
