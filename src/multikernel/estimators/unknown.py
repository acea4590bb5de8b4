"""Error messages for unknown parameters and attributes of estimators."""

import difflib
import inspect
from collections.abc import Collection, Mapping
from typing import Any

ELSEWHERE: Mapping[str, str] = {
    "coef_": (
        "its model is not linear in the columns. Use summary() for the share of each "
        "kernel, contributions(X) for the terms, or dual_coef_ for the dual variables."
    ),
    "feature_importances_": (
        "it weighs kernels, not columns. Use variance_shares_ or summary() for the "
        "share of each kernel or view, or group_permutation_importance for columns."
    ),
}
"""Alternatives to attributes of linear models and of forests."""

SAME: Mapping[str, tuple[str, ...]] = {
    "C": ("alpha",),
    "alpha": ("C",),
    "Cs": ("alphas",),
    "alphas": ("Cs",),
    "lambda_": ("alpha", "C"),
    "reg_lambda": ("alpha", "C"),
    "kernel": ("kernels",),
    "gamma": ("kernels",),
    "sigma": ("kernels",),
    "degree": ("kernels",),
    "n_kernels": ("max_kernels",),
    "eps": ("tol",),
    "n_iter": ("max_iter",),
    "norm": ("p",),
    "metric": ("scoring", "kernels"),
    "seed": ("random_state",),
    "n_folds": ("cv",),
}
"""Alternatives to parameter names of other libraries, or of other methods."""


def refuse_unknown(kind: type, given: Mapping[str, Any]) -> None:
    """Raise a TypeError for the first argument that a class does not support."""
    parameters = inspect.signature(kind).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for name in given:
        if name not in parameters:
            raise TypeError(unknown_parameter(kind.__name__, name, parameters))


def unknown_parameter(owner: str, name: str, parameters: Collection[str]) -> str:
    """Return the error message for an unknown parameter, with suggestions."""
    near = [other for other in SAME.get(name, ()) if other in parameters]
    near = near or difflib.get_close_matches(name, parameters, n=2)
    meant = f": did you mean {' or '.join(near)}?" if near else "."
    return f"{owner} has no parameter {name!r}{meant} It has {', '.join(parameters)}."
