"""Models inside pipelines and searches, and the data that reach them."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from multikernel._typing import Array, Indices
from multikernel._validation import check_parameter, listed, shown, type_shown
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.by_copy import LearnsByCopy
from multikernel.estimators.publish.columns import (
    NamesBehindSteps,
    column_names,
    columns_used,
    has_columns,
)
from multikernel.estimators.publish.summary import search_score
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.search.scores import scoring_choice


def last_step(estimator: BaseEstimator) -> tuple[BaseEstimator | None, BaseEstimator]:
    """Return the transformers of a pipeline (or None) and its final model."""
    # Searches, also nested ones, are replaced by their best estimator. A model fitted
    # without column names gets those of the transformers.
    *outer, model = _layers(estimator)
    steps = [
        layer[:-1]
        for layer in outer
        if not hasattr(layer, "best_estimator_") and len(layer.steps) > 1
    ]
    before = make_pipeline(*steps) if len(steps) > 1 else (steps or [None])[0]
    return before, _renamed(model, before)


def _renamed(model: BaseEstimator, before: BaseEstimator | None) -> BaseEstimator:
    """Return a model with the column names that the steps `before` it produce."""
    # The model is copied only if these names replace its own. Names that the model was
    # fitted with remain.
    state = getattr(model, "_state", None)
    if before is None or state is None or state.precomputed or state.model is None:
        return model
    if hasattr(model, "feature_names_in_"):
        return model
    names = NamesBehindSteps.of(state.names, before, model.n_features_in_)
    if list(names.columns) == column_names(model):
        return model
    renamed = copy.copy(model)
    renamed._state = replace(state, names=names)
    return renamed


def _layers(estimator: BaseEstimator) -> list[BaseEstimator]:
    """Return an estimator and, repeatedly, its best estimator or last step."""
    layers = [estimator]
    while True:
        steps = getattr(layers[-1], "steps", None)
        last_step_ = steps[-1][1] if isinstance(steps, list) and steps else None
        inner = getattr(layers[-1], "best_estimator_", last_step_)
        if inner is None:
            return layers
        layers.append(inner)


def model_of(
    owner: str, estimator: BaseEstimator
) -> tuple[BaseEstimator | None, BaseMKL]:
    """Return the transformers (or None) and the model; raise unless it is `BaseMKL`."""
    before, model = last_step(estimator)
    if not isinstance(model, BaseMKL):
        raise TypeError(
            f"{owner} requires a multiple kernel model of this library, or a pipeline "
            f"that ends in one, got {type_shown(model)}."
        )
    return before, model


def check_scoring_choice(
    owner: str, model: BaseEstimator, scoring: object, offset: object
) -> None:
    """Raise unless the model has the score, with the offset if there is one."""
    check_parameter(owner, "scoring", scoring, scoring_choice)
    if not hasattr(model, "score") and (scoring is None or offset is not None):
        raise TypeError(
            f"{owner}: {type(model).__name__} has no score: pass a callable scoring, "
            "without offset."
        )
    if offset is not None and scoring is not None:
        raise ValueError(
            f"{owner}: offset requires the estimator's own score, got "
            f"scoring={shown(scoring)}: remove scoring."
        )
    if isinstance(model, LearnsByCopy):
        model._refuse_offset(offset)


def data_at_model(before: BaseEstimator | None, X: object) -> object:
    """Return data as the model receives them, after the fitted transformers."""
    return X if before is None else before.transform(X)


Naming = Callable[[KernelNames], KernelNames]
"""Function that replaces column numbers in kernel names by names of columns."""


def refitted_steps(
    before: BaseEstimator | None, X: object, y: ArrayLike
) -> tuple[object, Naming]:
    """Return X transformed by refitted steps, and a function that renames kernels."""
    if before is None:
        return X, lambda names: names
    steps = clone(before)
    data = steps.fit_transform(X, y)
    if hasattr(data, "columns") or np.ndim(data) != 2:
        return data, lambda names: names
    return data, lambda names: NamesBehindSteps.of(names, steps, data.shape[1])


def kernel_columns(model: BaseMKL, kernel: int) -> Indices:
    """Return the columns of an active kernel, ascending; raise if it has no columns."""
    if not has_columns(model):
        raise ValueError(
            f"The kernels of {type(model).__name__} are precomputed matrices or nodes "
            "of a graph, which have no list of columns: use an estimator with a list "
            "of kernels on a table or, for permutation importance, pass groups as a "
            "mapping from names to columns."
        )
    if kernel not in model.active_kernels_:
        raise ValueError(
            f"Kernel {kernel} ({model.kernel_names_[kernel]}) is not active: choose "
            "one of active_kernels_."
        )
    sets = columns_used(model, kernel)
    return np.unique(np.concatenate([np.array(part, dtype=np.intp) for part in sets]))


def final_estimator(estimator: BaseEstimator) -> BaseMKL:
    """Return the fitted model of a pipeline or search; raise if it has no model."""
    model = innermost(estimator, "kernel_weights_")
    if hasattr(model, "kernel_weights_"):
        before, named = last_step(estimator)
        fitted: BaseMKL = named
        if not hasattr(named, "kernel_weights_"):
            fitted = _renamed(model, before)
        return fitted
    if hasattr(model, "cv_results_"):
        raise TypeError(
            f"{type(model).__name__} was fitted with refit=False and contains no "
            "model: fit it with refit=True."
        )
    raise TypeError(
        f"{type_shown(model)} is not a fitted model of multikernel: pass one, or a "
        "pipeline or search that ends in one."
    )


def output_heads(model: BaseMKL) -> list[str]:
    """Return the names of outputs for titles of plots; classes become "class a"."""
    names = list(model.output_names_)
    classes = [str(label) for label in getattr(model, "classes_", ())]
    return [f"class {name}" for name in names] if names == classes else names


def innermost(estimator: BaseEstimator, attribute: str) -> BaseEstimator:
    """Return the innermost estimator with an attribute, else the innermost one."""
    layers = _layers(estimator)
    matching = [model for model in layers if hasattr(model, attribute)]
    if not matching and hasattr(layers[-1], "fit"):
        check_is_fitted(layers[-1])
    return (matching or layers)[-1]


@dataclass(frozen=True, eq=False)
class SearchScores:
    """The candidates and scores of a search, from ``cv_results_``."""

    # The innermost of nested searches; without a search, the final model.
    model: BaseEstimator
    columns: dict[str, Array]  # values of the requested parameters, (n_candidates,)
    folds: Array  # scores, (n_candidates, n_folds)
    best: int  # chosen candidate; if targets chose several, the largest index

    @property
    def name(self) -> str:
        """Name of the score and the number of folds."""
        scoring = getattr(self.model, "scoring", None)
        metric = search_score(self.model).replace("r2", "R²").replace("d2", "D²")
        if isinstance(scoring, str):
            metric = scoring
        elif scoring is not None:
            metric = str(getattr(scoring, "__name__", type(scoring).__name__))
        readable = metric.replace("neg_", "negative ").replace("_", " ")
        return f"{readable}, {self.folds.shape[1]} folds"

    @classmethod
    def of(cls, estimator: BaseEstimator, names: Sequence[str]) -> "SearchScores":
        """Return the scores of a search, with the values of the parameters `names`."""
        model = innermost(estimator, "cv_results_")
        results = getattr(model, "cv_results_", {})
        columns = {}
        for key, values in results.items():
            name = key.removeprefix("param_").rpartition("__")[2]
            if key.startswith("param_") and name in names:
                columns[name] = np.asarray(values, dtype=np.float64)
        splits = (f"split{fold}_test_score" for fold in range(len(results)))
        scores = [results[name] for name in splits if name in results]
        folds = np.column_stack(scores) if scores else np.empty((0, 0))
        best = int(np.max(getattr(model, "best_index_", 0)))
        return cls(model, columns, folds, best)


def output_index(model: BaseMKL, output: object) -> int:
    """Return the index of an output, given by class or name; 0 if there is only one."""
    n_outputs = np.size(model.intercept_)
    if n_outputs == 1:
        return 0
    classes = getattr(model, "classes_", range(n_outputs))
    labels: list[object] = np.asarray(classes).tolist()
    names: list[object] = list(model.output_names_)
    for accepted in (labels, names):
        if output in accepted:
            return accepted.index(output)
    kind = "classes" if hasattr(model, "classes_") else "targets"
    other_names = "" if list(map(str, labels)) == names else f" (or {listed(names)})"
    raise ValueError(
        f"output={output!r} must be one of the {n_outputs} {kind}, because a plot "
        f"shows one: pass one of {listed(labels)}{other_names}."
    )
