"""Models inside pipelines: the data that reach them, and back."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from multikernel._typing import Array, Indices
from multikernel.estimators.base import BaseMKL
from multikernel.kernels.columns import select_columns


def last_step(estimator: Any) -> tuple[Any, Any]:
    """Return what comes before the model of a pipeline, or None, and the model.

    The best estimator of a search stands for it, and either may hold the other.
    """
    before: list[Any] = []
    while True:
        estimator = getattr(estimator, "best_estimator_", estimator)
        steps = getattr(estimator, "steps", None)
        if not isinstance(steps, list):
            break
        before += [estimator[:-1]] if len(steps) > 1 else []
        estimator = estimator[-1]
    if len(before) < 2:
        return (before[0] if before else None), estimator
    return make_pipeline(*before), estimator


def check_model(owner: str, model: Any) -> None:
    """Raise unless the last step is a multiple kernel model."""
    if not isinstance(model, BaseMKL):
        raise TypeError(
            f"{owner} takes a multiple kernel model of this library, or a pipeline "
            f"that ends in one, got {type(model).__name__}."
        )


def data_at_model(before: Any, X: Any) -> Any:
    """Return data as they reach the model behind some fitted steps."""
    return X if before is None else before.transform(X)


def refitted_steps(before: Any, X: Any, y: Any) -> Any:
    """Return data behind some steps that are fitted to them; those given stay."""
    return X if before is None else clone(before).fit_transform(X, y)


def in_given_units(before: Any, X: Array) -> Array:
    """Return data of a model in the units of its pipeline, where there is a way back.

    They stay as they are where steps cannot be inverted, or change the columns.
    """
    if not hasattr(before, "inverse_transform"):
        return X
    given = np.asarray(before.inverse_transform(X), dtype=np.float64)
    return given if given.shape == X.shape else X


def held_columns(model: Any) -> Indices:
    """Return the columns of the data in the order in which a model holds them.

    Positions in the data, those of sequences last, each once.
    """
    sequences = np.asarray(vars(model).get("sequence_features_", ()), dtype=np.intp)
    everything = np.arange(model.n_features_in_)
    return np.concatenate([np.setdiff1d(everything, sequences), sequences])


def kernel_columns(model: Any, kernel: int) -> Indices:
    """Return the columns that an active kernel of a fitted model reads, ascending.

    A kernel that is not in use, whose matrix was given, or that is a node of a graph is
    refused.
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
