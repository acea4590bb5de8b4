"""Support vector machines and other kernel machines on a sum with fixed weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import NON_NEGATIVE, Check, shown
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.recipe import GramFit
from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.lp.method import MARGIN_CHECKS, MarginMethod
from multikernel.estimators.parameters import SequenceOf, loss_of
from multikernel.gram import GramStack
from multikernel.solvers import FixedWeights, alignment_weights, easy_weights
from multikernel.solvers.fixed_weights import WeightRule
from multikernel.solvers.lp_choice import lp_solver

RULES: Mapping[str, WeightRule] = {
    "alignment": alignment_weights,
    "easy": easy_weights,
}
"""The rules for kernel weights by name; searches also accept "single"."""


@dataclass(frozen=True)
class WeightsChoice:
    """The check of a ``kernel_weights`` parameter; `names` are the accepted names."""

    names: tuple[str, ...]

    def __call__(self, value: object) -> str | None:
        """Return None if `value` is valid, otherwise the accepted values."""
        if value in self.names if isinstance(value, str) else callable(value):
            return None
        labels = list(getattr(value, "index", [])) if hasattr(value, "iloc") else []
        if labels != [*range(len(labels))]:
            return (
                "an array in the order of the kernels (labels of a Series are not "
                "matched with kernels: pass its to_numpy() in this order)"
            )
        sequence = "numbers of at least 0, one for each kernel and not all of them 0"
        expected = SequenceOf(NON_NEGATIVE, sequence)(value)
        if expected is None and np.asarray(value, dtype=np.float64).any():
            return None
        return f"one of {', '.join(map(repr, self.names))}, a function, or {sequence}"


def parameter_choice(value: object) -> str | None:
    """Return None for valid ``weight_params``, otherwise the accepted values."""
    if value is None or (
        isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    ):
        return None
    return "None or a dict from names of parameters of the rule to values"


def weight_checks(*names: str) -> Mapping[str, Check]:
    """Return the checks of an estimator whose ``kernel_weights`` accepts `names`."""
    return {
        **MARGIN_CHECKS,
        "kernel_weights": WeightsChoice(names),
        "weight_params": parameter_choice,
    }


@dataclass(frozen=True, eq=False)
class WeightedSumMethod(MarginMethod):
    """A method that fits a kernel machine on a sum of kernels with fixed weights."""

    # The inherited `solver` is a `FixedWeights`, and `p` is infinity.
    total: float = 1.0  # the sum of the kernel weights, if they are given
    by_rule: bool = False  # whether a rule computes the weights from the data

    def weight_sum(self, n_kernels: int) -> float:
        """Return the sum of the kernel weights."""
        return self.total

    def publish(self, fit: GramFit) -> dict[str, object]:
        """Return the attributes; for weights from a rule, ``duality_gap_`` is nan."""
        # Fixed weights make a convex problem, whose gap says nothing about the weights.
        attributes = super().publish(fit)
        if self.by_rule:
            gap: Any = attributes["duality_gap_"]
            attributes["machine_gap_"] = gap
            attributes["duality_gap_"] = np.nan if np.ndim(gap) == 0 else gap * np.nan
        return attributes


def given_weights(
    gram: GramStack, y: Array, sample_weight: Array, *, weights: Array
) -> Array:
    """Weight rule that returns the given `weights` and ignores other arguments."""
    return weights


def check_names(owner: str, rule: WeightRule, settings: Mapping[str, object]) -> None:
    """Raise if a weight rule is not callable as required, or rejects `settings`."""
    try:
        parameters = signature(rule)
        parameters.bind_partial(None, None, None)
    except (TypeError, ValueError) as error:  # Some built-in types have no signature.
        raise ValueError(
            f"{owner}: a function passed as kernel_weights must be callable as "
            "rule(gram, y, sample_weight), but the signature of "
            f"{shown(rule)} does not allow this: define a function with these three "
            "arguments."
        ) from error
    try:
        parameters.bind(None, None, None, **settings)
    except TypeError as error:
        raise ValueError(
            f"{owner}: weight_params={shown(settings)} does not match the rule in "
            f"kernel_weights ({error}): pass a value for each required argument of the "
            "rule after the first three, and no arguments that the rule does not have."
        ) from error


def weighted_method(model: BaseMKL, C: float | None = 1.0) -> MarginMethod:
    """Return the method of an estimator with fixed weights; a search replaces C."""
    choice, settings = model.kernel_weights, dict(model.weight_params or {})
    rule = RULES.get(choice) if isinstance(choice, str) else choice
    machine, loss = lp_solver("auto", model.tol, model.max_iter), loss_of(model)
    if callable(rule):
        check_names(type(model).__name__, rule, settings)
        # Low-rank factors have the maximum rank from the start. To refine them during
        # the fit would change the kernels after the rule has computed their weights.
        source = gram_source(model, refines=False)
        solver = FixedWeights(partial(rule, **settings), machine)
        return WeightedSumMethod(source, loss, C, np.inf, solver, by_rule=True)
    if settings:
        raise ValueError(
            f"{type(model).__name__}: weight_params are parameters of a rule, such as "
            f"'alignment', but kernel_weights={shown(choice)} is not a rule: remove "
            "weight_params."
        )
    takes_columns = isinstance(choice, str)
    source = gram_source(model, uses_all=True, takes_columns=takes_columns)
    if isinstance(choice, str):
        return MarginMethod(source, loss, C, np.inf, machine)
    weights = np.asarray(choice, dtype=np.float64)
    solver = FixedWeights(partial(given_weights, weights=weights), machine)
    total = float(weights.sum())
    return WeightedSumMethod(source, loss, C, np.inf, solver, total=total)
