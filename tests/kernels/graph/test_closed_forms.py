"""Closed forms of graphs of kernels against enumeration."""

import numpy as np
import pytest
from reference.hull import reachable

from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
from multikernel.kernels.graph import (
    AnovaGrid,
    DictionaryGraph,
    EmpiricalGrid,
    HermiteGrid,
    PolynomialGrid,
    descendants,
    grid_pairs,
    hull,
)

DIAMOND = DictionaryGraph(
    {
        "top": GaussianKernel(2.0),
        "left": GaussianKernel(1.0),
        "right": ColumnKernel(LinearKernel(), [0]),
        "bottom": LinearKernel(),
    },
    [("top", "left"), ("top", "right"), ("left", "bottom"), ("right", "bottom")],
    {"top": 0.5, "left": 1.0, "right": 2.0, "bottom": 3.0},
)
GRAPHS = (
    PolynomialGrid(3, weight_base=2.0),
    PolynomialGrid(1, weight_base=0.5, root_weight=3.0),
    HermiteGrid(3, bandwidth=0.3),
    HermiteGrid(4, weight_base=2.0),
    EmpiricalGrid(n_components=3),
    AnovaGrid(weight_base=1.5),
    DIAMOND,
)


@pytest.fixture(name="X")
def samples():
    return np.random.default_rng(0).standard_normal((30, 3))


def kernel(graph, X, node):
    """Return the matrix of a node, from its features."""
    Z = graph.sample(X).features(node)
    return Z @ Z.T


def enumerated(graph, X, t):
    """Return the weighted sum of the kernels of all descendants of a node."""
    below = set(reachable(graph, [t]))
    total = np.zeros((len(X), len(X)))
    for w in below:
        above = set(reachable_up(graph, w)) & below
        total += kernel(graph, X, w) / sum(graph.weight(v) for v in above) ** 2
    return total


def reachable_up(graph, node):
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(graph.parents(one))
    return found


@pytest.mark.parametrize("spec", GRAPHS, ids=repr)
def test_descendant_sums_of_all_nodes_at_once(spec, X):
    graph = spec.bind(X)
    samples, a = graph.sample(X), np.random.default_rng(1).standard_normal(len(X))
    roots = graph.roots()
    nodes = [v for v in reachable(graph, roots) if v not in roots]
    assert len(nodes) > 2
    forms, noise = samples.descendant_forms(nodes, a)
    for node, form, expected in zip(nodes, forms, noise, strict=True):
        K = enumerated(graph, X, node)
        # Raised for the rounding of single precision, and never below.
        exact = a @ K @ a
        assert exact * (1.0 - 1e-9) <= form <= exact + 3e-5 * (exact + expected)
        np.testing.assert_allclose(expected, a**2 @ np.diag(K), rtol=1e-5)


def squared_distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def linear(X):
    return X @ X.T


SUMS = (
    (PolynomialGrid(3), lambda X: np.prod(1.0 + X[:, None] * X[None], axis=2) ** 3),
    (HermiteGrid(3, bandwidth=0.3), lambda X: np.exp(-0.3 * squared_distances(X))),
    (EmpiricalGrid(), lambda X: np.exp(-0.05 * squared_distances(X))),
    (
        AnovaGrid(GaussianKernel(1.0)),
        lambda X: np.prod(1.0 + np.exp(-0.5 * (X[:, None] - X[None]) ** 2), axis=2),
    ),
    (
        DIAMOND,
        lambda X: (
            np.exp(-squared_distances(X) / 8.0)
            + np.exp(-squared_distances(X) / 2.0)
            + linear(X[:, :1])
            + linear(X)
        ),
    ),
)


@pytest.mark.parametrize(("spec", "exact"), SUMS, ids=lambda case: repr(case)[:20])
def test_the_kernels_of_all_nodes_sum_to_the_kernel_of_the_formula(spec, exact, X):
    graph = spec.bind(X)
    total = sum(kernel(graph, X, node) for node in reachable(graph, graph.roots()))
    np.testing.assert_allclose(total, exact(X), rtol=1e-9, atol=1e-9)


def test_products_of_blocks_are_known_by_landmarks():
    # 25 ^ 3 features, which 30 samples do with 30.
    rng = np.random.default_rng(0)
    X, new, a = (
        rng.standard_normal((30, 3)),
        rng.standard_normal((7, 3)),
        rng.random(30),
    )
    graph = AnovaGrid(GaussianKernel(0.5)).bind(X)
    node = ((0, 1), (1, 1), (2, 1))
    samples = graph.sample(X)
    assert graph.width(node) > 5000
    basis = samples.basis(node)
    K, across = kernel(graph, X, node), graph.sample(new)
    Z, others = samples.features(node, basis), across.features(node, basis)
    assert Z.shape[1] <= 30
    left = K - Z @ Z.T
    assert (np.diag(left) <= samples.residual(node, basis) + 1e-12).all()
    assert np.abs(left).max() <= 1e-10
    exact = across.features(node) @ samples.features(node).T
    np.testing.assert_allclose(others @ Z.T, exact, atol=1e-8)
    np.testing.assert_allclose(samples.form(node, a), a @ K @ a, rtol=1e-12)


def test_weights_of_grids():
    grid = PolynomialGrid(4, weight_base=4.0, root_weight=0.1).bind(np.zeros((1, 40)))
    assert grid.weight(()) == 0.1
    assert grid.weight(((3, 2), (7, 1))) == 64.0
    assert grid.n_nodes == 5**40


@pytest.mark.parametrize("spec", GRAPHS, ids=repr)
def test_hulls_and_descendants(spec, X):
    graph = spec.bind(X)
    for node in reachable(graph, graph.roots()):
        assert hull(graph, [node]) == reachable_up(graph, node)
        assert set(descendants(graph, node)) == set(reachable(graph, [node]))


def test_names_say_what_a_node_is(X):
    grid = PolynomialGrid(4).bind(X)
    node = ((0, 2), (2, 1))
    assert grid.name(node) == "x1^2 * x3"
    assert grid.name(node, ["age", "bmi", "bp"]) == "age^2 * bp"
    assert grid.name(()) == "1"
    hermite = HermiteGrid(3).bind(X)
    assert hermite.name(((0, 1), (1, 2))) == "x1[1] * x2[rest]"
    assert AnovaGrid().bind(X).name(((1, 1), (2, 1))) == "x2 * x3"


def test_hermite_functions_converge_to_the_gaussian(X):
    exact = np.exp(-0.2 * (X[:, None, 0] - X[None, :, 0]) ** 2)
    errors = []
    for n_components in (2, 4, 8, 16):
        grid = HermiteGrid(n_components, bandwidth=0.2).bind(X[:, :1])
        kept = grid.levels[0].columns(X[:, 0])[:, : n_components - 1]
        errors.append(np.abs(kept @ kept.T - exact).max())
        Z = grid.levels[0].columns(X[:, 0])
        np.testing.assert_allclose(Z @ Z.T, exact, atol=1e-11)
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1e-2
    assert errors[-1] < 1e-5


def descendant_kernel(graph, X, node):
    """Return the descendant sum of a node as a product over inputs."""
    total, levels = 1.0, dict(node)
    for i, z in enumerate(graph.sample(X).columns):
        start = levels.get(i, 0)
        part = z[:, graph.starts[i][start] :]
        total = total * ((part * graph.shares(i, start)) @ part.T)
    return total


def test_outliers_do_not_overflow_the_sums():
    X = np.random.default_rng(0).standard_normal((60, 30))
    X[0] = 60.0
    X[1] = -40.0
    graph = PolynomialGrid(4).bind(X)
    samples, a = graph.sample(X), np.full(60, 1e-3)
    a[:2] = 1e-130, 1e-110
    nodes = [((0, 1),), ((1, 2), (3, 1))]
    forms, noise = samples.descendant_forms(nodes, a)
    for node, form, expected in zip(nodes, forms, noise, strict=True):
        K = descendant_kernel(graph, X, node)
        np.testing.assert_allclose(form, a @ K @ a, rtol=1e-3)
        np.testing.assert_allclose(expected, a**2 @ np.diag(K), rtol=1e-3)


def test_monomials_may_stay_constant_beyond_what_was_seen(X):
    new = np.random.default_rng(5).uniform(-30.0, 30.0, (40, X.shape[1]))
    held = np.clip(new, X.min(axis=0), X.max(axis=0))
    assert (held != new).any()
    nodes = [(), ((0, 1),), ((1, 3),), ((0, 2), (2, 1))]
    free = PolynomialGrid(3, extrapolation="continue").bind(X)
    constant = PolynomialGrid(3).bind(X)
    for node in nodes:
        for here, there in ((new, held), (X, X)):
            np.testing.assert_array_equal(
                constant.sample(here).features(node), free.sample(there).features(node)
            )


def test_sums_are_right_where_factors_vanish():
    # Weights that grow slowly let a negative product cancel the constant.
    X = np.linspace(-3.0, 3.0, 40)[:, None] * np.ones((1, 3))
    graph = PolynomialGrid(3, weight_base=0.2).bind(X)
    levels, shares = graph.levels[0].columns(X[:, 0]), graph.shares(0, 0)
    factor = (levels * shares) @ levels.T
    assert factor.min() < 0.0 < factor.max()
    a = np.random.default_rng(0).standard_normal(40)
    nodes = [((0, 1),), ((0, 1), (1, 2)), ((0, 1), (1, 1), (2, 1))]
    forms, noise = graph.sample(X).descendant_forms(nodes, a)
    exact = np.array([a @ descendant_kernel(graph, X, node) @ a for node in nodes])
    assert (np.abs(forms - exact) <= 2e-5 * (exact + noise)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PolynomialGrid(0), "degree must be an integer"),
        (lambda: PolynomialGrid(2, weight_base=-1.0), "weight_base must be a finite"),
        (lambda: PolynomialGrid(2, extrapolation="linear"), "one of 'constant', 'c"),
        (lambda: HermiteGrid(1), "n_components must be"),
        (lambda: DictionaryGraph({}), "at least one kernel"),
        (lambda: DictionaryGraph({"a": LinearKernel()}, [("a", "b")]), "not a kernel"),
        (
            lambda: DictionaryGraph(
                {"a": LinearKernel(), "b": LinearKernel()}, [("a", "b"), ("b", "a")]
            ),
            "cycle",
        ),
        (
            lambda: DictionaryGraph({"a": LinearKernel()}, weights={}),
            "weight of 'a'.* got None",
        ),
        (lambda: PolynomialGrid(2).bind(np.array([[np.nan]])), "finite"),
        (lambda: PolynomialGrid(2).bind(np.zeros(3)), "shape"),
    ],
)
def test_wrong_graphs_are_refused_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def pure(samples, dual, node):
    """Return the form of a node and its diagonal's, factors centered, one by one."""
    starts, zeros = samples.graph.starts, [z[:, 0] for z in samples.columns]
    Z = np.prod(zeros, axis=0)[:, None]
    for i, level in node:
        first, end = starts[i][level : level + 2]
        factor = samples.columns[i][:, first:end] / zeros[i][:, None]
        factor = factor - factor.mean(axis=0)
        Z = (Z[:, :, None] * factor[:, None, :]).reshape(len(Z), -1)
    return np.sum((Z.T @ dual) ** 2), dual**2 @ np.sum(Z**2, axis=1)


GRIDS = [graph for graph in GRAPHS if graph is not DIAMOND]


@pytest.mark.parametrize("spec", GRIDS, ids=repr)
def test_nodes_of_two_inputs_are_asked_one_by_one(spec, X):
    """What is said of a node is the largest that is true of it or a descendant."""
    samples = spec.bind(X).sample(X)
    graph, dual = samples.graph, np.random.default_rng(1).standard_normal(len(X))
    few = [node for node in reachable(graph, [()]) if len(node) in (1, 2)]
    forms, noise = np.transpose([pure(samples, dual, node) for node in few])
    weights = np.array([graph.weight(node) for node in few])
    # A third of the nodes are above the ceiling.
    ceiling = float(np.quantile(forms / weights**2, 2.0 / 3.0))
    levels = 1 + sum(graph.highest)
    alone = grid_pairs.evidence(forms / noise, levels * (levels + 1) // 2)
    alone[~(forms > ceiling * weights**2)] = -np.inf
    evidence = samples.evidence(dual, ceiling)
    for node, value in zip(few, evidence(few), strict=True):
        below = set(reachable(graph, [node]))
        expected = max(a for w, a in zip(few, alone, strict=True) if w in below)
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-8)
    assert evidence([((0, 1), (1, 1), (2, 1))]) == [-np.inf]


@pytest.mark.parametrize("spec", [PolynomialGrid(4), AnovaGrid()], ids=repr)
def test_noise_is_hardly_ever_taken_for_evidence(spec):
    """Columns that are constant but for a row are no exception, nor are blocks."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    X[:, 4:] = np.eye(40)[:, :2] * 6.0
    samples = spec.bind(X).sample(X)
    nodes = samples.graph.children(())
    sizes = rng.exponential(1.0, 40)
    largest = [
        samples.evidence(sizes * rng.choice([-1.0, 1.0], 40), 0.0)(nodes).max()
        for _ in range(100)
    ]
    assert np.mean(np.array(largest) > np.log(5.0)) < 0.2


def test_a_product_without_main_effects_is_evidence():
    X = np.random.default_rng(0).uniform(-1.7, 1.7, (100, 6))
    samples = PolynomialGrid(4).bind(X).sample(X)
    evidence = samples.evidence(X[:, 1] * (X[:, 2] ** 2 - 1.0), 0.0)
    values = evidence(samples.graph.children(()))
    assert set(np.flatnonzero(values > 5.0)) == {1, 2}
    assert evidence([((1, 1), (2, 2))]) > 5.0


def test_of_too_many_inputs_pairs_say_nothing(monkeypatch, X):
    monkeypatch.setattr(grid_pairs, "MOST", 3 * 3)
    samples = PolynomialGrid(2).bind(X).sample(X)
    assert np.isfinite(samples.evidence(X[:, 0], 0.0)([((0, 1),)])).all()
    samples = PolynomialGrid(3).bind(X).sample(X)
    assert samples.evidence(X[:, 0], 0.0)([((0, 1),)]) == [-np.inf]
