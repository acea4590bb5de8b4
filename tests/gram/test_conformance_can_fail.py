"""The suite for storages finds what is wrong in any one of its methods."""

import inspect
from dataclasses import dataclass

import numpy as np
import pytest

from multikernel.gram import (
    DenseMatrix,
    DenseStack,
    GramMatrix,
    GramStack,
)
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.gram.matrix import ImageProducts
from multikernel.gram.refine import refined
from multikernel.linalg.shifted import DiagonalRoot
from multikernel.linalg.tall import GroupedFactor, TallArray
from multikernel.testing import check_gram_stack

Z = np.random.default_rng(0).normal(size=(5, 7, 7))
GRAMS = Z @ Z.transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class Plain(GramStack):
    """Arrays with the four primitives alone, so that defaults are in force."""

    array: np.ndarray

    @property
    def shape(self):
        return self.array.shape

    def matvec(self, v):
        return self.array @ v

    def combine(self, weights):
        return DenseMatrix(np.tensordot(weights, self.array, axes=1))

    def columns(self, indices):
        return self.array[:, :, indices]

    def take(self, kernels):
        return type(self)(self.array[kernels])


FUNCTIONS = {"low_rank_form": low_rank_form, "refined": refined}
"""The functions of a stack that storages may register a version of their own of."""


def other(found):
    """Return something like what a method found, but wrong."""
    if isinstance(found, np.ndarray):
        return found + 1e-3 * (1.0 + np.abs(found).max(initial=0.0))
    if isinstance(found, tuple):
        return tuple(other(each) for each in found)
    if isinstance(found, ImageProducts):
        return ImageProducts(found.coefs, other(found.images), found.diagonals)
    if isinstance(found, GramStack):
        return Plain(other(found.columns(np.arange(found.shape[1]))))
    if isinstance(found, GramMatrix):
        return DenseMatrix(other(found.columns(np.arange(found.shape[1]))))
    return lambda *arguments: other(found(*arguments))


METHODS = [
    "matvec",
    "combine",
    "columns",
    "take",
    "once",
    "restrict",
    "entries",
    "quadratic_forms",
    "block_matvec",
    "combined_rows",
    "diagonals",
    "traces",
]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("base", [Plain, DenseStack])
def test_a_wrong_method_is_found(base, name):
    def wrong(self, *arguments):
        return other(getattr(super(kind, self), name)(*arguments))

    kind = type("Wrong", (base,), {name: wrong})
    check_gram_stack(base(GRAMS), GRAMS)
    with pytest.raises(AssertionError):
        check_gram_stack(kind(GRAMS), GRAMS)


def wrong_method(name):
    default = getattr(GramStack, name)
    return lambda *arguments: other(default(*arguments))


WRONG = {
    name: wrong_method(name)
    for name in ("resident_products", "term_products", "term_covariances")
} | {
    "full_forms": lambda stack, kernels, v: stack.quadratic_forms(v)[kernels] - 1,
    "largest_forms": lambda self, v, level, most: (
        np.arange(2),
        self.quadratic_forms(v)[:2],
        0.0,
    ),
    "rough_forms": lambda self, v: (self.quadratic_forms(v) + 1.0, np.full(5, 0.9)),
    "residual_traces": lambda self, shares: np.zeros(4),
    "has_features": lambda self: np.zeros(4, dtype=bool),
    "root": lambda self, weights, shift: DiagonalRoot(0.9 / np.sqrt(shift)),
    "pass_numbers": lambda self: 0.0,
    "shares_work": lambda self: np.ones(1),
    "in_parts": lambda self: [self, self],
    "zero_kernels": lambda self: np.arange(1),
    "own_expansions": lambda self, coefs: coefs[:, :3],
    "tall_form": lambda self: (TallArray(np.ones((7, 5))), np.arange(6)),
    "own_factors": lambda self, kernels: [GroupedFactor(np.eye(7)) for _ in kernels],
    "low_rank_form": lambda self: Plain(other(GRAMS)),
    "refined": lambda self, refinement: Far(GRAMS),
}
"""Wrong versions of methods and functions."""

WRONG_METHODS = {
    "residual_bounds": lambda self, v: np.full(5, -1.0),
    "rounded_traces": lambda self: np.zeros(5),
    "held_numbers": lambda self: np.zeros(5),
}


class Far(Plain):
    def residual_bounds(self, v):
        return np.ones(5)


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_answer_is_found(name):
    kind = type("Wrong", (Plain,), {})
    check_gram_stack(kind(GRAMS), GRAMS)
    if name in FUNCTIONS:
        FUNCTIONS[name].register(kind, WRONG[name])
    else:
        setattr(kind, name, WRONG[name])
    with pytest.raises(AssertionError):
        check_gram_stack(kind(GRAMS), GRAMS)


@pytest.mark.parametrize("name", sorted(WRONG_METHODS))
def test_wrong_numbers_of_kernels_are_found(name):
    kind = type("Wrong", (Plain,), {name: WRONG_METHODS[name]})
    with pytest.raises(AssertionError):
        check_gram_stack(kind(GRAMS), GRAMS)


def test_every_method_of_the_protocol_is_held_to_something():
    members = {
        name
        for name, member in vars(GramStack).items()
        if not name.startswith("_") and inspect.isfunction(member)
    }
    # Only stacks with a meter count.
    assert members - {"count"} <= {*METHODS, *WRONG_METHODS, *WRONG}
