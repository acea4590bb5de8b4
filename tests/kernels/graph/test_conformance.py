"""The conformance suite on every graph, and on graphs that are wrong in one place."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
from multikernel.kernels.graph import (
    AnovaGrid,
    DictionaryGraph,
    DirectedGrid,
    EmpiricalGrid,
    HermiteGrid,
    PolynomialGrid,
)
from multikernel.testing import check_kernel_graph

TREE = DictionaryGraph(
    {
        "both": GaussianKernel(2.0),
        "first": ColumnKernel(LinearKernel(), 0),
        "second": ColumnKernel(LinearKernel(), 1),
    },
    [("both", "first"), ("both", "second"), ("first", "second")],
    {"both": 0.5, "first": 1.0, "second": 2.0},
)
GRAPHS = (
    PolynomialGrid(3),
    PolynomialGrid(2, weight_base=0.5, root_weight=2.0),
    PolynomialGrid(2, extrapolation="continue"),
    HermiteGrid(3),
    EmpiricalGrid(n_components=3),
    AnovaGrid(),
    TREE,
)


def samples(n=12, d=3):
    return np.random.default_rng(0).standard_normal((n, d))


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_graphs_conform(graph):
    check_kernel_graph(graph, samples(), n_nodes=40)


def test_a_huge_graph_is_visited_in_part():
    check_kernel_graph(PolynomialGrid(4), samples(8, 30), n_nodes=50)


@dataclass(frozen=True)
class Tampered:
    """A graph whose bound form, or that on samples, answers one question wrongly."""

    method: str
    answer: object
    on_samples: bool = False

    def bind(self, X):
        return Wrapped(TREE.bind(X), self)


class Wrapped:
    def __init__(self, inner, wrong, on_samples=False):
        self.inner, self.wrong, self.on_samples = inner, wrong, on_samples

    def __getattr__(self, name):
        found = getattr(self.inner, name)
        if name == "sample" and self.wrong.on_samples:
            return lambda X: Wrapped(found(X), self.wrong, on_samples=True)
        if name == self.wrong.method and self.on_samples == self.wrong.on_samples:
            return lambda *given: self.wrong.answer(found, *given)
        return found


WRONG = {
    "parents of 'first' must contain": ("parents", lambda f, v: []),
    "children of 'first' must contain": (
        "children",
        lambda f, v: [] if v == "first" else f(v),
    ),
    "must either be a root": ("roots", lambda f: ["both", "first"]),
    "at least one node": ("roots", lambda f: []),
    "repeat a node": ("children", lambda f, v: f(v) * 2),
    "must be positive": ("weight", lambda f, v: 0.0),
    "tuple in decreasing order": ("degrees", lambda f, v: (1, 2)),
    "two nodes have the same": ("name", lambda f, v, *columns: "one"),
    "on new samples": (
        "sample",
        lambda f, X: f(X) if len(X) == len(samples()) else Negative(f(X)),
    ),
    "width of": ("width", lambda f, v: f(v) + 1),
}
WRONG_SAMPLES = {
    "form and features of 'both' disagree": (
        "features",
        lambda f, *given: 0.9 * f(*given),
    ),
    "disagree: the quadratic form": ("form", lambda f, *given: 1.1 * f(*given)),
    "but the visited nodes": (
        "descendant_forms",
        lambda f, *given: tuple(0.9 * part for part in f(*given)),
    ),
    "the noise of": (
        "descendant_forms",
        lambda f, *given: (f(*given)[0], -f(*given)[1]),
    ),
    "after take": ("take", lambda f, rows: f(rows[::-1])),
}


class Negative:
    """Samples whose features have the wrong sign."""

    def __init__(self, inner):
        self.inner = inner

    def features(self, *given):
        return -self.inner.features(*given)


@pytest.mark.parametrize("sentence", WRONG)
def test_wrong_graphs_are_caught(sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_kernel_graph(Tampered(*WRONG[sentence]), samples())


@pytest.mark.parametrize("sentence", WRONG_SAMPLES)
def test_wrong_samples_are_caught(sentence):
    wrong = Tampered(*WRONG_SAMPLES[sentence], on_samples=True)
    with pytest.raises(AssertionError, match=sentence):
        check_kernel_graph(wrong, samples())


def test_what_is_no_graph_is_said_so():
    with pytest.raises(AssertionError, match="is not a KernelGraph"):
        check_kernel_graph(object(), samples())


def test_cycles_are_caught():
    edges = np.array([[0, 1], [1, 2], [2, 1]])
    bound = replace(TREE.bind(samples()), edges=edges)

    class Cyclic:
        def bind(self, X):
            return bound

    with pytest.raises(AssertionError, match="ancestor of its own parent"):
        check_kernel_graph(Cyclic(), samples())


def test_a_grid_without_levels_cannot_be_made():
    with pytest.raises(TypeError, match="_levels"):
        DirectedGrid()
