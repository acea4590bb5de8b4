"""Conformance of a graph of kernels: its order, its features, and its sums."""

from itertools import islice
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.graph.base import (
    FittedGraph,
    GraphSamples,
    KernelGraph,
    ancestors,
    descendants,
)


def check_kernel_graph(
    graph: KernelGraph,
    X: Array,
    n_nodes: int = 100,
    tol: float = 1e-6,
    seed: int = 0,
) -> None:
    r"""Check that a graph of kernels keeps what a certificate over it rests on.

    Parents and children must agree and form no cycle; features must be those of the
    kernels, on the training samples and on others; and sums over descendants, in closed
    form or not, must not fall short of those over the nodes that were enumerated.

    Parameters
    ----------
    graph : KernelGraph
        The graph.
    X : ndarray of shape (n_samples, n_features)
        Samples to bind it to, some ten of them, and three at least.
    n_nodes : int, default=100
        Nodes that are visited, the nearest to the roots. A graph may have more.
    tol : float, default=1e-6
        Largest error, over the size of what is compared.
    seed : int, default=0
        Of the random vectors.

    Raises
    ------
    AssertionError
        With a sentence that names the method.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> from multikernel.testing import check_kernel_graph
    >>> X = np.random.default_rng(0).standard_normal((10, 3))
    >>> check_kernel_graph(PolynomialGrid(2), X)
    """
    _require(isinstance(graph, KernelGraph), f"{graph!r} is no KernelGraph.")
    bound = graph.bind(X)
    _require(
        bound.n_features == X.shape[1],
        f"n_features is {bound.n_features}, and X has {X.shape[1]} columns.",
    )
    roots = bound.roots()
    _require(bool(roots), "roots: a graph needs at least one node.")
    nodes: list[Any] = []
    for root in roots:
        near = islice(descendants(bound, root), n_nodes)
        nodes.extend(node for node in near if node not in nodes)
    nodes = nodes[: max(n_nodes, len(roots))]
    for node in nodes:
        _check_edges(bound, node, roots)
        _check_facts(bound, node)
    names = [bound.name(node) for node in nodes]
    _require(len(set(names)) == len(names), "name: two nodes have the same one.")
    samples = bound.sample(X)
    rng = np.random.default_rng(seed)
    for node in nodes:
        _check_features(bound, samples, node, X, tol)
        _check_form(bound, samples, node, X, tol, rng)
    _check_sums(bound, samples, nodes, X, tol, rng)


def _check_edges(graph: FittedGraph, node: Any, roots: list[Any]) -> None:
    """Check that both directions agree, and that nothing is above itself."""
    parents, children = graph.parents(node), graph.children(node)
    for child in children:
        _require(
            node in graph.parents(child),
            f"children of {node!r} hold {child!r}, whose parents do not hold it.",
        )
    for parent in parents:
        _require(
            node in graph.children(parent),
            f"parents of {node!r} hold {parent!r}, whose children do not hold it.",
        )
        _require(
            node not in ancestors(graph, parent),
            f"{node!r} is an ancestor of its own parent {parent!r}.",
        )
    for found, what in ((parents, "parents"), (children, "children")):
        _require(
            len(set(found)) == len(found), f"{what} of {node!r} hold a node twice."
        )
    _require(
        bool(parents) != (node in roots),
        f"{node!r} must either be a root or have parents.",
    )


def _check_facts(graph: FittedGraph, node: Any) -> None:
    """Check the weight, the name and the kind of a node."""
    weight, degrees = graph.weight(node), graph.degrees(node)
    _require(
        0.0 < weight < np.inf, f"weight of {node!r} is {weight}, and must be positive."
    )
    name = graph.name(node, [f"column {k}" for k in range(graph.n_features)])
    _require(isinstance(name, str) and bool(name), f"name of {node!r} must be a text.")
    _require(
        isinstance(degrees, tuple) and list(degrees) == sorted(degrees, reverse=True),
        f"degrees of {node!r} are {degrees!r}, and must be a falling tuple.",
    )


def _check_features(
    graph: FittedGraph, samples: GraphSamples, node: Any, X: Array, tol: float
) -> None:
    """Check the features of a node, what they leave out, and those of new samples."""
    kernel, basis = graph.kernel(node), samples.basis(node)
    K, Z = np.asarray(kernel(X)), samples.features(node, basis)
    left = samples.residual(node, basis)
    residual = np.zeros(len(X)) if left is None else left
    size = max(float(np.abs(K).max()), np.finfo(np.float64).tiny)
    what = f"of {node!r}"
    _compare(f"kernel(X, X) {what}", np.asarray(kernel(X, X)), K, tol * size)
    _compare(f"diag {what}", np.asarray(kernel.diag(X)), np.diag(K), tol * size)
    short = np.diag(K) - np.einsum("ij,ij->i", Z, Z) - residual
    _require(
        bool(np.abs(short).max() <= tol * size),
        f"features and residual {what} do not add up to its kernel's diagonal.",
    )
    bounds = np.sqrt(np.outer(residual, residual)) + tol * size
    _require(
        bool((np.abs(K - Z @ Z.T) <= bounds).all()),
        f"features {what} are not those of its kernel.",
    )
    part = np.arange(0, len(X), 2)
    _compare(
        f"features {what} on new samples",
        graph.features(node, X[part], basis),
        Z[part],
        tol * size**0.5,
    )
    _compare(
        f"features {what} after take",
        samples.take(part).features(node, basis),
        Z[part],
        tol * size**0.5,
    )


def _check_form(
    graph: FittedGraph,
    samples: GraphSamples,
    node: Any,
    X: Array,
    tol: float,
    rng: np.random.Generator,
) -> None:
    """Check the quadratic form of a node, and how many features it is said to have."""
    K, vector = np.asarray(graph.kernel(node)(X)), rng.standard_normal(len(X))
    form, exact = samples.form(node, vector), float(vector @ K @ vector)
    size = float(np.abs(K).max()) * float(vector @ vector)
    _require(
        bool(abs(form - exact) <= tol * size),
        f"form of {node!r} is {form:.6g}, and {exact:.6g} was expected.",
    )
    if samples.basis(node) is None:
        width, found = graph.width(node), samples.features(node).shape[1]
        _require(
            width == found,
            f"width of {node!r} is {width}, and there are {found} features.",
        )


def _check_sums(
    graph: FittedGraph,
    samples: GraphSamples,
    nodes: list[Any],
    X: Array,
    tol: float,
    rng: np.random.Generator,
) -> None:
    """Check that sums over descendants are no smaller than those over some of them."""
    inner = [node for node in nodes if graph.parents(node)]
    vector = rng.standard_normal(len(X))
    vector.flags.writeable = False
    forms, noise = samples.descendant_forms(inner, vector)
    _require(
        np.shape(forms) == np.shape(noise) == (len(inner),),
        "descendant_forms must return two numbers per node.",
    )
    own = {node: float(vector @ graph.kernel(node)(X) @ vector) for node in nodes}
    above = {node: ancestors(graph, node) for node in nodes}
    for place, t in enumerate(inner):
        below = [w for w in nodes if t in above[w]]
        total = 0.0
        for w in below:
            between = [v for v in above[w] if t in above[v]]
            total += own[w] / sum(graph.weight(v) for v in between) ** 2
        closed = float(vector @ graph.descendant_kernel(t)(X) @ vector)
        for found, what in ((forms[place], "descendant_forms"), (closed, "kernel")):
            _require(
                bool(found >= total * (1.0 - tol)),
                f"The sum over the descendants of {t!r} is {found:.6g} by "
                f"{'descendant_kernel' if what == 'kernel' else what}, and those "
                f"visited alone give {total:.6g}.",
            )
        _require(
            bool(0.0 <= noise[place] < np.inf),
            f"descendant_forms: the noise of {t!r} is {noise[place]}.",
        )


def _compare(what: str, found: Array, expected: Array, allowed: float) -> None:
    """Raise unless an array is near what was expected."""
    _require(
        np.shape(found) == np.shape(expected),
        f"{what}: shape {np.shape(found)}, and {np.shape(expected)} was expected.",
    )
    error = float(np.abs(found - expected).max(initial=0.0))
    _require(error <= allowed, f"{what}: error {error:.2g} exceeds {allowed:.2g}.")


def _require(holds: bool, sentence: str) -> None:
    """Raise a sentence unless something holds."""
    if not holds:
        raise AssertionError(sentence)
