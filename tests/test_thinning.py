"""The default run has every value of every parameter of a test."""

from itertools import combinations, product
from types import SimpleNamespace

import pytest
from thinning import mark_combinations


class Item:
    """As much of a test of pytest's as decides whether it is slow."""

    def __init__(self, marks, **params):
        self.nodeid = f"test[{'-'.join(map(str, params.values()))}]"
        self.callspec = SimpleNamespace(params=params)
        self.marks = [pytest.mark.parametrize(names, []).mark for names in marks]
        self.slow = False

    def iter_markers(self, name):
        return iter(self.marks)

    def get_closest_marker(self, name):
        return self.slow or None

    def add_marker(self, mark):
        self.slow = True


def quick(items):
    mark_combinations(items)
    return [item.callspec.params for item in items if not item.slow]


def test_two_parameters_keep_every_value():
    items = [Item("ab", a=a, b=b) for a, b in product(range(4), "xyz")]
    found = quick(items)
    assert len(found) == 4
    assert {params["a"] for params in found} == {*range(4)}
    assert {params["b"] for params in found} == {*"xyz"}


def test_three_parameters_keep_every_pair():
    items = [Item("ab", a=a, b=b, c=c) for a, b, c in product(range(3), "xyz", "uv")]
    found = quick(items)  # c is that of a fixture
    assert len(found) < 18
    for one, other in combinations("abc", 2):
        pairs = {(params[one], params[other]) for params in found}
        assert len(pairs) == {"c": 6}.get(other, 9)


def test_names_of_one_mark_are_one_parameter():
    items = [Item(["a,b"], a=a, b=b) for a, b in product(range(3), "xy")]
    assert len(quick(items)) == 6


def test_what_is_slow_already_covers_nothing():
    items = [Item("ab", a=a, b=b) for a, b in product(range(3), "xyz")]
    for item in items:
        item.slow = item.callspec.params["a"] == 0
    assert {params["b"] for params in quick(items)} == {*"xyz"}
