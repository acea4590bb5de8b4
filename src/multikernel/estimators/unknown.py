"""Error messages for unknown parameters and attributes of estimators."""

import difflib
import inspect
from collections.abc import Collection, Mapping

ADVICE: Mapping[str, str] = {
    "coef_": (
        "its model is not linear in the columns. Use summary() for the share of each "
        "kernel, contributions(X) for the terms, or dual_coef_ for the dual variables."
    ),
    "feature_importances_": (
        "it weighs kernels, not columns. Use variance_shares_ or summary() for the "
        "share of each kernel or view, or group_permutation_importance for columns."
    ),
}
"""Advice for each attribute that only estimators of other libraries have."""

SYNONYMS: Mapping[str, tuple[str, ...]] = {
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
"""Parameters to suggest, by the name of a parameter of another method or library."""

SEEDS = ("random_state", "seed")
"""Names of a seed, which only estimators with random choices have."""


def refuse_unknown(estimator: type, arguments: Mapping[str, object]) -> None:
    """Raise a TypeError for the first argument that is no parameter of `estimator`."""
    parameters = inspect.signature(estimator).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for name in arguments:
        if name not in parameters:
            raise TypeError(unknown_parameter(estimator.__name__, name, parameters))


def unknown_parameter(owner: str, name: str, parameters: Collection[str]) -> str:
    """Return the error message for an unknown parameter, with suggestions."""
    similar = [other for other in SYNONYMS.get(name, ()) if other in parameters]
    similar = similar or difflib.get_close_matches(name, parameters, n=2)
    hint = f": did you mean {' or '.join(similar)}?" if similar else "."
    if name in SEEDS and not similar:
        hint = ": repeated fits give the same model without a seed."
    return (
        f"{owner} has no parameter {name!r}{hint} Its parameters are "
        f"{', '.join(parameters)}."
    )
