"""Which combinations of a test's parameters run by default.

A test with several ``parametrize`` marks runs for their product. Neighbors in a product
execute the same lines. By default every value of two parameters runs, and every pair of
values of three or more. The other combinations are ``slow``.
"""

from itertools import combinations, groupby

import pytest


def mark_combinations(items):
    """Mark the combinations that add no value, or pair of values, as slow."""
    for _, same in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        quick = [item for item in same if not item.get_closest_marker("slow")]
        for item in _redundant({item: _values_of(item) for item in quick}):
            item.add_marker(pytest.mark.slow)


def _redundant(remaining):
    """Return the tests whose values, or pairs of values, other tests have too."""
    covered, n_parameters = set(), max(map(len, remaining.values()), default=0)
    strength = 2 if n_parameters > 2 else 1
    while remaining and n_parameters > 1:
        new = {
            item: set(combinations(values, strength)) - covered
            for item, values in remaining.items()
        }
        item = max(new, key=lambda item: len(new[item]))
        if not new[item]:
            return remaining
        covered |= new[item]
        del remaining[item]
    return ()


def _values_of(item):
    """Return the value of each parameter; names of one mark are one parameter."""
    params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    values = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        names = names.replace(",", " ").split() if isinstance(names, str) else names
        values.append((*names, *(id(params.pop(name)) for name in names)))
    return values + [(name, id(value)) for name, value in params.items()]
