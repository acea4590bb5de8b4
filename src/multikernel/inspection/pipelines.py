"""Models inside pipelines: the data that reach them, and back."""

from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels.columns import select_columns


def last_step(estimator: Any) -> tuple[Any, Any]:
    """Return what comes before the model of a pipeline, and the model.

    Parameters
    ----------
    estimator : estimator
        A model, or a pipeline that ends in one; the best estimator of a search stands
        for it.

    Returns
    -------
    before : Pipeline or None
        All earlier steps.
    model : estimator
        The last one.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    steps = getattr(estimator, "steps", None)
    if not isinstance(steps, list):
        return None, estimator
    return (estimator[:-1] if len(steps) > 1 else None), estimator[-1]


def reaching(before: Any, X: Any) -> Any:
    """Return data as they reach the model.

    Parameters
    ----------
    before : Pipeline or None
        The steps before it, fitted.
    X : array-like or data frame of shape (n_samples, n_features)
        What the pipeline is given.

    Returns
    -------
    X : array-like of shape (n_samples, n_columns)
    """
    return X if before is None else before.transform(X)


def as_given(before: Any, X: Array) -> Array:
    """Return data of a model in the units of its pipeline, where there is a way back.

    Parameters
    ----------
    before : Pipeline or None
        The steps before it, fitted.
    X : ndarray of shape (n_samples, n_columns)
        Data of the model.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns)
        As they are where steps cannot be inverted, or change the columns.
    """
    if not hasattr(before, "inverse_transform"):
        return X
    given = np.asarray(before.inverse_transform(X), dtype=np.float64)
    return given if given.shape == X.shape else X


def held_columns(model: Any) -> Indices:
    """Return the columns of the data in the order in which a model holds them.

    Parameters
    ----------
    model : estimator
        A fitted multiple kernel model on columns.

    Returns
    -------
    columns : ndarray of int
        Positions in the data, those of sequences last, each once.
    """
    sequences = np.asarray(vars(model).get("sequence_features_", ()), dtype=np.intp)
    everything = np.arange(model.n_features_in_)
    return np.concatenate([np.setdiff1d(everything, sequences), sequences])


def kernel_columns(model: Any, kernel: int) -> Indices:
    """Return the columns that an active kernel of a fitted model reads.

    Parameters
    ----------
    model : estimator
        A fitted multiple kernel model on columns.
    kernel : int
        The kernel.

    Returns
    -------
    columns : ndarray of int
        Positions in the data, ascending.

    Raises
    ------
    ValueError
        If the kernel is not in use, its matrix was given, or it is a node of a graph.
    """
    if model._state.precomputed:
        raise ValueError(
            f"{type(model).__name__} was fitted with precomputed matrices, which have "
            "no columns."
        )
    places = np.flatnonzero(model.active_kernels_ == kernel)
    if not places.size:
        raise ValueError(
            f"Kernel {kernel} ({model.kernel_names_[kernel]}) is not in use: choose "
            "among active_kernels_."
        )
    grams = getattr(model._state.model, "grams", None)
    if grams is None:
        raise ValueError(
            f"The kernels of {type(model).__name__} are nodes of a graph, which have "
            "no list of columns: give groups as a mapping from names to columns."
        )
    held, columns = held_columns(model), grams.columns_of(int(places[0]))
    if columns is not None:
        held = select_columns(held[None].astype(float), columns)[0].astype(np.intp)
    return np.unique(held)
