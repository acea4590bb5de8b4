"""HullSearch against conic programming over the whole graph, and its promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from reference.hull import hull_optimum, reachable, whole_graph

from multikernel.exceptions import UnsupportedProblemError
from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
from multikernel.kernels.graph import (
    AnovaGrid,
    DictionaryGraph,
    HermiteGrid,
    PolynomialGrid,
    hull,
)
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Status
from multikernel.solvers.hkl import HullProblem, HullSearch
from multikernel.solvers.hkl.active import ActiveSet
from multikernel.solvers.hkl.certificate import smoothed_norm

LOSSES = {
    "squared_error": SquaredLoss(),
    "log_loss": LogisticLoss(),
    "hinge": HingeLoss(),
}
PARTS = {
    name: ColumnKernel(kernel, column)
    for name, kernel, column in [
        ("a", LinearKernel(), 0),
        ("b", GaussianKernel(1.5), 0),
        ("c", GaussianKernel(1.5), 1),
        ("d", LinearKernel(), 1),
    ]
}
GRAPHS = {
    "grid": PolynomialGrid(2, weight_base=2.0, root_weight=0.5),
    "decreasing": HermiteGrid(3, bandwidth=0.3),
    "subsets": AnovaGrid(GaussianKernel(3.0), weight_base=2.0),
    "tree": DictionaryGraph(PARTS, [("a", "b"), ("a", "c"), ("c", "d")], 1.5),
    "diamond": DictionaryGraph(
        PARTS, [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], 0.7
    ),
    "flat": DictionaryGraph(PARTS, weights={"a": 1.0, "b": 2.0, "c": 0.5, "d": 1.0}),
}


def frontier(graph, inside):
    """Return the nodes outside a hull whose parents are all inside."""
    below = {child for node in inside for child in graph.children(node)}
    outside = {*graph.roots(), *below} - inside
    return [node for node in outside if inside.issuperset(graph.parents(node))]


def data(seed, n=40, d=2, classify=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, 0] * X[:, 1] + X[:, 0] + 0.3 * rng.standard_normal(n)
    return X, np.where(y > 0.0, 1.0, -1.0) if classify else y


def problem_of(spec, X, y, loss, alpha, weights=None, intercept=True):
    samples = spec.bind(X).sample(X)
    total = float(len(y) if weights is None else weights.sum())
    return HullProblem(
        samples, y, weighted(LOSSES[loss], weights), alpha, total, weights, intercept
    )


def true_optimum(problem, loss):
    samples = problem.samples
    features, prefers_descent, weights = whole_graph(samples.graph, samples)
    return hull_optimum(
        features,
        prefers_descent,
        weights,
        problem.y,
        loss,
        problem.alpha,
        sample_weight=problem.weights,
        intercept=problem.fit_intercept,
    )


def decision_values(problem, solution):
    f = np.full(len(problem.y), solution.intercept)
    for node, coefs, means, basis in zip(
        solution.nodes, solution.coefs, solution.means, solution.bases, strict=True
    ):
        f += (problem.samples.features(node, basis) - means) @ coefs
    return f


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_objectives_are_those_of_a_conic_solver(graph, loss):
    X, y = data(1, classify=loss != "squared_error")
    rng = np.random.default_rng(len(graph))
    weights = rng.uniform(0.2, 3.0, len(y)) if graph in ("grid", "tree") else None
    alpha, intercept = 10.0 ** rng.uniform(-2.5, -0.5), graph != "diamond"
    problem = problem_of(GRAPHS[graph], X, y, loss, alpha, weights, intercept)
    optimum = true_optimum(problem, loss)
    solution = HullSearch(tol=1e-6, certify=True).solve(problem)
    assert solution.status is Status.CONVERGED
    assert 0.0 <= solution.duality_gap <= 1e-6
    assert abs(solution.objective - optimum) <= 1.1e-6 * optimum


def test_the_objective_is_that_of_the_model_handed_out():
    X, y = data(3)
    problem = problem_of(GRAPHS["grid"], X, y, "squared_error", 0.02)
    solution = HullSearch(tol=1e-4).solve(problem)
    graph = problem.samples.graph
    own = dict(zip(solution.nodes, solution.coefs, strict=True))
    norm = 0.0
    for node in solution.nodes:
        below = [own[w] for w in reachable(graph, [node]) if w in own]
        norm += graph.weight(node) * np.linalg.norm(np.concatenate(below))
    residual = y - decision_values(problem, solution)
    objective = np.mean(residual**2) / 2.0 + 0.01 * norm**2
    np.testing.assert_allclose(solution.objective, objective, rtol=1e-10)


def gap_is_honest(seed, log_alpha, loss, max_kernels, graph, tol):
    X, y = data(seed, n=25, classify=loss != "squared_error")
    problem = problem_of(GRAPHS[graph], X, y, loss, 10.0**log_alpha)
    search = HullSearch(tol=tol, max_kernels=max_kernels)
    solution = search.solve(problem)
    optimum = true_optimum(problem, loss)
    true_gap = (solution.objective - optimum) / solution.objective
    assert solution.duality_gap >= true_gap - 1e-7
    if solution.status is Status.CONVERGED:
        assert solution.duality_gap <= tol
    assert set(solution.nodes) == hull(problem.samples.graph, solution.nodes)


HONEST = {
    "seed": st.integers(0, 10**6),
    "log_alpha": st.floats(-3.0, 0.5),
    "loss": st.sampled_from(sorted(LOSSES)),
    "max_kernels": st.integers(1, 9),
    "graph": st.sampled_from(["grid", "decreasing", "subsets", "tree", "diamond"]),
    "tol": st.sampled_from([1e-1, 1e-3]),
}


@settings(max_examples=15, deadline=None, derandomize=True)
@given(**HONEST)
def test_the_total_gap_is_never_below_the_true_one(**case):
    gap_is_honest(**case)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(**HONEST)
def test_the_total_gap_is_never_below_the_true_one_300(**case):
    gap_is_honest(**case)


def test_no_node_outside_was_looked_at_and_yet_counts():
    # One node allowed: the gap must see what the rest of the graph could do.
    X, y = data(0)
    problem = problem_of(GRAPHS["grid"], X, y, "squared_error", 1e-3)
    solution = HullSearch(max_kernels=1).solve(problem)
    assert solution.status is Status.MAX_KERNELS
    assert solution.reduced_gap < 1e-3 < 0.5 < solution.duality_gap


class Twice:
    """A graph, or its samples, that names all neighbors twice."""

    def __init__(self, inner, graph=None):
        self._inner, self.graph = inner, graph

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def roots(self):
        return 2 * self._inner.roots()

    def children(self, node):
        return 2 * self._inner.children(node)

    def parents(self, node):
        return [*self._inner.parents(node), *self._inner.parents(node)]


class NamesChildrenTwice(Twice):
    def parents(self, node):
        return self._inner.parents(node)


@pytest.mark.parametrize("kind", [Twice, NamesChildrenTwice])
@pytest.mark.parametrize("graph", ["tree", "diamond", "grid"])
def test_nodes_that_a_graph_names_twice_are_met_once(graph, kind):
    X, y = data(3)
    problem = problem_of(GRAPHS[graph], X, y, "squared_error", 1e-3)
    samples = Twice(problem.samples, kind(problem.samples.graph))
    expected = HullSearch(certify=True).solve(problem)
    found = HullSearch(certify=True).solve(replace(problem, samples=samples))
    assert found.nodes == expected.nodes
    assert found.objective == expected.objective
    assert found.n_searched == expected.n_searched


def test_an_interaction_without_main_effects_is_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 8))
    y = X[:, 1] * X[:, 4] * X[:, 6] + 0.1 * rng.standard_normal(1000)
    problem = problem_of(PolynomialGrid(3), X, y, "squared_error", 1.0)
    alphas = 10.0 ** np.arange(0.0, -4.5, -0.5)
    last = list(HullSearch().path(problem, alphas))[-1]
    norms = {v: np.linalg.norm(c) for v, c in zip(last.nodes, last.coefs, strict=True)}
    assert max(norms, key=norms.get) == ((1, 1), (4, 1), (6, 1))
    assert np.mean((y - decision_values(problem, last)) ** 2) < 0.05


@pytest.mark.parametrize("seed", [3, 6])
def test_one_strong_descendant_is_seen_among_the_noise_of_all(seed):
    """Of 32 inputs and few samples: sums over descendants do not tell it from noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, (150, 32))
    y = X[:, 15] * (X[:, 4] ** 2 - 0.5) + 0.2 * rng.standard_normal(150)
    problem = problem_of(PolynomialGrid(4), X, y, "squared_error", 1.0)
    *_, last = HullSearch(tol=1e-2).path(problem, [1e-1, 1e-2, 1e-3])
    norms = dict(zip(last.nodes, map(np.linalg.norm, last.coefs), strict=True))
    strongest = sorted(norms, key=norms.get)[-2:]
    assert ((4, 2), (15, 1)) in strongest


def test_paths_agree_with_single_solves_and_select_hulls():
    X, y = data(5, n=80, d=3)
    problem = problem_of(PolynomialGrid(2), X, y, "squared_error", 1.0)
    search, alphas = HullSearch(tol=1e-5, certify=True), [0.3, 0.1, 0.03, 0.01]
    for alpha, solution in zip(alphas, search.path(problem, alphas), strict=True):
        alone = problem_of(PolynomialGrid(2), X, y, "squared_error", alpha)
        cold = search.solve(alone)
        assert abs(cold.objective - solution.objective) <= 1.1e-5 * cold.objective
        assert set(solution.nodes) == hull(problem.samples.graph, solution.nodes)
        outside = frontier(problem.samples.graph, set(solution.nodes))
        assert not set(outside) & set(solution.nodes)


def test_a_single_solve_is_led_to_its_strength():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4]
    problem = problem_of(PolynomialGrid(4), X, y, "squared_error", 1e-4)
    alone = HullSearch().solve(problem)
    alphas = 10.0 ** np.arange(1.0, -4.1, -0.5)
    along = list(HullSearch().path(problem, alphas))[-1]
    np.testing.assert_allclose(alone.objective, along.objective, rtol=0.05)
    errors = [np.mean((y - decision_values(problem, s)) ** 2) for s in (alone, along)]
    assert max(errors) < 0.05 * y.var()


def test_a_callback_stops_the_search():
    X, y = data(0)
    problem = problem_of(GRAPHS["grid"], X, y, "squared_error", 1e-3)
    lines = []
    found = list(
        HullSearch().path(problem, [1.0, 0.1], lambda line: not lines.append(line))
    )
    assert len(lines) == len(found) == 1
    assert found[0].status in (Status.STOPPED, Status.CONVERGED)
    assert found[0].duality_gap >= 0.0


def test_status_at_the_iteration_limit():
    X, y = data(0)
    problem = problem_of(GRAPHS["grid"], X, y, "squared_error", 1e-3)
    solution = HullSearch(max_iter=1).solve(problem)
    assert solution.status is Status.MAX_ITER
    assert solution.duality_gap > 1e-3


def test_certifying_goes_on_where_noise_ends_the_search():
    X, y = data(2, n=60, d=6)
    spec = PolynomialGrid(3, weight_base=3.0)
    problem = problem_of(spec, X, y, "squared_error", 3e-2)
    short = HullSearch(max_kernels=20).solve(problem)
    proven = HullSearch(certify=True).solve(problem)
    assert proven.status is Status.CONVERGED
    assert proven.duality_gap <= 1e-3
    assert proven.objective <= short.objective * (1.0 + 1e-3)


def test_constant_targets_are_solved_by_the_intercept():
    X, _ = data(0)
    problem = problem_of(GRAPHS["grid"], X, np.full(40, 3.0), "squared_error", 0.1)
    solution = HullSearch().solve(problem)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(decision_values(problem, solution), 3.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("width", [0.05, 0.1])
def test_targets_within_the_tube_need_no_kernel(width, intercept):
    X, y = data(0)
    y = width * np.sign(y) + (7.7 if intercept else 0.0)
    samples = GRAPHS["grid"].bind(X).sample(X)
    loss = EpsilonInsensitiveLoss(0.1)
    problem = HullProblem(samples, y, loss, 0.1, 40.0, fit_intercept=intercept)
    solution = HullSearch().solve(problem)
    assert solution.status is Status.CONVERGED
    assert (solution.objective, solution.duality_gap) == (0.0, 0.0)
    assert solution.nodes == ()


class Absolute:
    """A loss without any of the capabilities."""

    def value(self, y, f):
        return np.abs(y - f)

    def gradient(self, y, f):
        return np.sign(f - y)

    def conjugate(self, y, u):
        return u * y

    def dual_bounds(self, y):
        return -np.ones_like(y), np.ones_like(y)


def test_other_losses_are_refused_in_a_sentence():
    X, y = data(0)
    samples = GRAPHS["grid"].bind(X).sample(X)
    problem = HullProblem(samples, y, Absolute(), 0.1, 40.0)
    with pytest.raises(UnsupportedProblemError, match="smooth conjugate"):
        HullSearch().solve(problem)


def test_the_curvature_of_the_norm_knows_no_scale():
    # Half the squared norm is homogeneous of degree two: its Hessian is of degree zero.
    X, y = data(0)
    problem = problem_of(GRAPHS["grid"], X, y, "squared_error", 0.1)
    active = ActiveSet(problem)
    active.add(active.frontier)
    beta = np.random.default_rng(0).standard_normal(active.features.shape[0])
    smoothing = np.full(len(active), 0.1)
    expected = smoothed_norm(active, beta, smoothing).curvature()
    for scale in (1e-120, 1e120):
        with np.errstate(all="raise"):
            found = smoothed_norm(active, scale * beta, scale * smoothing).curvature()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("intercept", [False, True])
def test_forms_of_the_frontier_are_those_of_the_kernels_however_it_changed(
    graph, intercept
):
    rng = np.random.default_rng(3)
    X, y = data(0, d=3)
    problem = problem_of(GRAPHS[graph], X, y, "squared_error", 0.1, intercept=intercept)
    samples = problem.samples
    fitted = samples.graph
    active = ActiveSet(problem)
    for _ in range(6):
        vector = rng.standard_normal(y.size)
        vector -= intercept * vector.mean()
        named = active.known.named
        inside = {*named(active.nodes), *named(active.idle)}
        assert len(inside) == active.n_inside
        assert sorted(named(active.frontier)) == sorted(frontier(fitted, inside))
        asked = np.append(active.idle, active.frontier)
        features = [samples.features(v) for v in named(asked)]
        kernels = [Z @ Z.T for Z in features]
        expected = [vector @ kernel @ vector for kernel in kernels]
        np.testing.assert_allclose(active.forms(asked, vector), expected, rtol=1e-6)
        weights = [fitted.weight(v) for v in named(asked)]
        assert active.known.weights[asked].tolist() == weights
        active.visit(rng.permutation(active.frontier)[:2])
        # What joins brings its ancestors along, whether looked at before or not.
        active.add(rng.permutation(np.append(active.idle, active.frontier))[:2])
        assert {*named(active.nodes)} == hull(fitted, named(active.nodes))
        # Some leave again, and come back with what is held of them.
        if rng.random() < 0.5:
            leaves = active.relation.sum(axis=1) == 1.0
            roots = np.array([v in fitted.roots() for v in named(active.nodes)])
            active.keep(~leaves | roots | (rng.random(len(active)) < 0.5))
