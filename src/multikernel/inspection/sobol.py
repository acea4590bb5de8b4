"""Sobol indices of a fitted model over the columns of given data."""

from typing import Any

from multikernel._validation import check_weights
from multikernel.estimators.publish.columns import column_names
from multikernel.estimators.publish.sobol import SobolIndices as SobolIndices, sobol_of
from multikernel.inspection.pipelines import check_model, data_at_model, last_step


def sobol_indices(estimator: Any, X: Any, *, sample_weight: Any = None) -> SobolIndices:
    r"""Return the variance shares of columns and interactions (Sobol indices).

    Columns are drawn independently, each from its own values in `X`. A model on single
    columns and pairs is then a sum of orthogonal functions [1]_,

    .. math:: f = f_0 + \sum_i f_i(x_i) + \sum_{i < j} f_{ij}(x_i, x_j), \qquad
        S_i = \frac{\operatorname{Var}(f_i)}{\operatorname{Var}(f)}, \quad
        S_{ij} = \frac{\operatorname{Var}(f_{ij})}{\operatorname{Var}(f)}.

    The first-order index of column i is :math:`S_i`, its total index :math:`T_i = S_i +
    \sum_j S_{ij}` [2]_. They describe the model, not the targets, and only for
    independent columns. For correlated columns use `variance_split`.

    Parameters
    ----------
    estimator : estimator
        A fitted multiple kernel model, or a pipeline or search that ends in one.
    X : array-like or data frame of shape (n_samples, n_features)
        Data from which columns are drawn, such as the training samples.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    indices : SobolIndices

    Raises
    ------
    TypeError
        If the estimator is not a multiple kernel model.
    ValueError
        If the kernels are precomputed matrices or nodes of a graph.

    See Also
    --------
    variance_split : Shares of held-out variance, without assuming independence.

    Notes
    -----
    If active kernels are on disjoint sets of columns, or products of two such kernels
    (`Interactions`), variances are sums over a grid. A column with more than 64 values
    is represented by 64 values with the same mean and variance. A view is one group,
    represented by at most 256 rows. If kernels share columns in other ways, such as a
    kernel on all columns, indices of single columns are estimated from 4096 random
    draws with a fixed seed. The standard error is 0.01, and 5 % of the index for total
    indices. Then first-order indices may be negative, interactions have no index, and
    ``estimated`` is True.

    References
    ----------
    .. [1] Sobol, I. M. (1993). Sensitivity estimates for nonlinear mathematical models.
       Mathematical Modelling and Computational Experiments 1, 407-414.
    .. [2] Homma, T. and Saltelli, A. (1996). Importance measures in global sensitivity
       analysis of nonlinear models. Reliability Engineering and System Safety 52, 1-17.
       https://doi.org/10.1016/0951-8320(96)00002-6

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.inspection import sobol_indices
    >>> from multikernel.kernels import GaussianKernel, Interactions, per_column
    >>> X = np.random.default_rng(0).normal(size=(150, 3))
    >>> kernels = Interactions(per_column(GaussianKernel(2.0), 3))
    >>> model = SpicyMKLRegressor(kernels, alpha=0.05).fit(X, X[:, 0] * X[:, 1])
    >>> indices = sobol_indices(model, X)
    >>> indices.interaction_names[indices.interactions.argmax()]
    'x0 × x1'
    >>> bool(np.isclose(indices.first_order.sum() + indices.interactions.sum(), 1.0))
    True
    """
    before, model = last_step(estimator)
    check_model("sobol_indices", model)
    _, data = model._model_and_data(data_at_model(before, X))
    weights = check_weights(sample_weight, len(data))
    return sobol_of(model, data, weights, column_names(model))
