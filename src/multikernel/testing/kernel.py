"""Conformance of kernels and of graphs of kernels."""

from itertools import islice
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from multikernel._typing import Array
from multikernel.kernels import Kernel
from multikernel.kernels.graph import base
from multikernel.kernels.graph.base import FittedGraph, GraphSamples, KernelGraph, Node


def check_kernel(kernel: Kernel, X: Any, tol: float = 1e-8) -> None:
    """Check that a kernel has the properties that estimators require.

    The matrix must be finite, symmetric and positive semidefinite, ``kernel(X)`` must
    equal ``kernel(X, X)``, values must only depend on their two samples, and ``diag``
    must be the diagonal. Otherwise an ``AssertionError`` names the property.

    `X` has ten to a hundred samples (at least four) as the kernel accepts them: rows of
    numbers, or strings. Because no finite check proves positive semidefiniteness, try
    several data sets of different scales. `tol` is the largest error, relative to the
    largest value. For kernels on other objects, pass matrices to
    `multikernel.kernels.Grams`.
    """
    name = getattr(kernel, "name", None) or repr(kernel)
    is_kernel = callable(kernel) and callable(getattr(kernel, "diag", None))
    assert is_kernel, (
        f"{name} is not a kernel: a kernel is callable as kernel(X, Y) and has diag(X)."
    )
    n = len(X)
    assert n >= 4, f"check_kernel requires at least four samples, got {n}."
    before = np.array(X, copy=True)
    K = _matrix(kernel(X), (n, n), f"{name}: kernel(X)")
    same = before.tobytes() == np.asarray(X).tobytes()  # bytes, because NaN != NaN
    assert same, f"{name} changes the samples: it must not write into X."
    size = tol * float(np.abs(K).max())
    _assert_close(kernel(X, X), K, size, f"{name}: kernel(X, X) is not kernel(X)")
    _assert_close(K.T, K, size, f"{name} is not symmetric: k(x, z) is not k(z, x)")
    _check_parts(kernel, X, K, size, name)
    lowest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    trace = float(np.abs(np.diagonal(K)).sum())
    assert lowest >= -tol * trace, (
        f"{name} is not positive semidefinite: its matrix of these samples has an "
        f"eigenvalue of {lowest:.3g} and a trace of {trace:.3g}."
    )


def _check_parts(kernel: Kernel, X: Any, K: Array, size: float, name: str) -> None:
    """Raise if values depend on other samples, or diag(X) is not the diagonal."""
    rows, cols = np.arange(0, len(X), 2), np.arange(1, len(X), 3)
    some = _safe_indexing(X, rows)
    part = kernel(some, _safe_indexing(X, cols))
    text = f"{name}: the value of two samples depends on other samples in the call"
    _assert_close(part, K[np.ix_(rows, cols)], size, text)
    text = f"{name}: diag(X) is not the diagonal of kernel(X)"
    _assert_close(kernel.diag(X), np.diagonal(K), size, text)
    _assert_close(kernel.diag(some), np.diagonal(K)[rows], size, text)


def _matrix(values: object, shape: tuple[int, ...], label: str) -> Array:
    """Return kernel values; raise unless finite and of the given shape."""
    array = np.asarray(values)
    assert array.shape == shape, f"{label} has shape {array.shape}, expected {shape}."
    assert array.dtype.kind in "fiub", f"{label} must return real numbers."
    assert np.isfinite(array).all(), f"{label} has values that are not finite."
    return array.astype(np.float64)


def _assert_close(values: object, expected: Array, size: float, text: str) -> None:
    """Raise with `text` if values differ from the expected ones by more than `size`."""
    matrix = _matrix(values, expected.shape, text)
    error = float(np.abs(matrix - expected).max(initial=0.0))
    assert error <= size, f"{text}: they differ by {error:.3g}."


def check_kernel_graph(
    graph: KernelGraph, X: Array, n_nodes: int = 100, tol: float = 1e-6, seed: int = 0
) -> None:
    """Check that a graph of kernels has the properties that a certificate requires.

    Parents and children must be consistent, without cycles. Features must reproduce
    the quadratic forms, and must not depend on other samples. Descendant sums must not
    be smaller than sums over visited nodes. An ``AssertionError`` names the method of
    the graph that is wrong. `X` needs about ten samples. The check visits the `n_nodes`
    nodes nearest to the roots, and accepts values with relative errors up to `tol`.

    >>> import numpy as np
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> X = np.random.default_rng(0).standard_normal((10, 3))
    >>> check_kernel_graph(PolynomialGrid(2), X)
    """
    assert isinstance(graph, KernelGraph), f"{graph!r} is not a KernelGraph."
    bound = graph.bind(X)
    assert bound.n_features == X.shape[1], (
        f"n_features is {bound.n_features}, but X has {X.shape[1]} columns."
    )
    roots = bound.roots()
    assert roots, "roots: a graph needs at least one node."
    nodes: list[Node] = []
    for root in roots:
        visited = islice(base.descendants(bound, root), n_nodes)
        nodes.extend(node for node in visited if node not in nodes)
    nodes = nodes[: max(n_nodes, len(roots))]
    for node in nodes:
        _check_edges(bound, node, roots)
        _check_facts(bound, node)
    names = [bound.name(node) for node in nodes]
    assert len(set(names)) == len(names), (
        "name: two nodes have the same name, but names must differ."
    )
    samples = bound.sample(X)
    rng = np.random.default_rng(seed)
    for node in nodes:
        _check_node(bound, samples, node, X, tol, rng)
    _check_sums(bound, samples, nodes, tol, rng)


def _check_edges(graph: FittedGraph, node: Node, roots: list[Node]) -> None:
    """Check that parents and children agree and form no cycle."""
    parents, children = graph.parents(node), graph.children(node)
    for child in children:
        assert node in graph.parents(child), (
            f"children of {node!r} contain {child!r}, but not the other way round: "
            f"parents of {child!r} must contain {node!r}."
        )
    for parent in parents:
        assert node in graph.children(parent), (
            f"parents of {node!r} contain {parent!r}, but not the other way round: "
            f"children of {parent!r} must contain {node!r}."
        )
        assert node not in base.hull(graph, [parent]), (
            f"{node!r} is an ancestor of its own parent {parent!r}."
        )
    for nodes, label in ((parents, "parents"), (children, "children")):
        assert len(set(nodes)) == len(nodes), f"{label} of {node!r} repeat a node."
    assert bool(parents) != (node in roots), (
        f"{node!r} must either be a root or have parents."
    )


def _check_facts(graph: FittedGraph, node: Node) -> None:
    """Check that a node's weight, name and degrees have valid values."""
    weight, degrees = graph.weight(node), graph.degrees(node)
    assert 0.0 < weight < np.inf, (
        f"weight of {node!r} is {weight}: it must be positive and finite."
    )
    name = graph.name(node, [f"column {k}" for k in range(graph.n_features)])
    is_text = isinstance(name, str) and bool(name)
    assert is_text, f"name of {node!r} must be text that is not empty."
    ordered = isinstance(degrees, tuple) and [*degrees] == sorted(degrees, reverse=True)
    assert ordered, (
        f"degrees of {node!r} are {degrees!r}: expected a tuple in decreasing order."
    )


def _check_node(
    graph: FittedGraph,
    samples: GraphSamples,
    node: Node,
    X: Array,
    tol: float,
    rng: np.random.Generator,
) -> None:
    """Check a node's quadratic form and width, and its features of other samples."""
    basis = samples.basis(node)
    Z, residual = samples.features(node, basis), samples.residual(node, basis)
    errors = np.zeros(len(Z)) if residual is None else np.sqrt(residual)
    for vector in (*np.eye(len(Z)), rng.standard_normal(len(Z))):
        form, expected = samples.form(node, vector), float(np.sum((Z.T @ vector) ** 2))
        size = float(vector**2 @ (np.sum(Z**2, axis=1) + errors**2))
        slack = float(np.abs(vector) @ errors) ** 2
        assert abs(form - expected) <= slack + tol * len(Z) * size, (
            f"form and features of {node!r} disagree: the quadratic form of a "
            f"vector is {form:.6g}, but its features give {expected:.6g}."
        )
    if basis is None:
        width, n_columns = graph.width(node), Z.shape[1]
        assert width == n_columns, (
            f"width of {node!r} is {width}, but it has {n_columns} features."
        )
    part = np.arange(0, len(X), 2)
    largest = max(float(np.abs(Z).max(initial=0.0)), np.finfo(np.float64).tiny)
    for returned, case in (
        (graph.sample(X[part]).features(node, basis), "on new samples"),
        (samples.take(part).features(node, basis), "after take"),
    ):
        _assert_close(returned, Z[part], tol * largest, f"features of {node!r} {case}")


def _check_sums(
    graph: FittedGraph,
    samples: GraphSamples,
    nodes: list[Node],
    tol: float,
    rng: np.random.Generator,
) -> None:
    """Check that descendant sums are at least the sums over visited descendants."""
    inner = [node for node in nodes if graph.parents(node)]
    vector = rng.standard_normal(samples.n_samples)
    vector.flags.writeable = False
    forms, noise = samples.descendant_forms(inner, vector)
    assert np.shape(forms) == np.shape(noise) == (len(inner),), (
        "descendant_forms must return two numbers per node."
    )
    form_of = {node: samples.form(node, vector) for node in nodes}
    ancestors = {node: base.hull(graph, [node]) for node in nodes}
    for index, t in enumerate(inner):
        descendants = [w for w in nodes if t in ancestors[w]]
        total = 0.0
        for w in descendants:
            between = [v for v in ancestors[w] if t in ancestors[v]]
            total += form_of[w] / sum(graph.weight(v) for v in between) ** 2
        assert forms[index] >= total * (1.0 - tol), (
            f"descendant_forms: the sum over the descendants of {t!r} is "
            f"{forms[index]:.6g}, but the visited nodes alone contribute {total:.6g}."
        )
        assert 0.0 <= noise[index] < np.inf, (
            f"descendant_forms: the noise of {t!r} is {noise[index]}; it must be "
            "finite and nonnegative."
        )
