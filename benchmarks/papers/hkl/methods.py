"""HKL, and what its paper compares it with, on the same decomposition of a kernel.

Every method returns its predictions on new samples for all its strengths.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit
from sklearn.linear_model import lars_path

from multikernel.kernels.graph import (
    DictionaryGraph,
    EmpiricalGrid,
    HermiteGrid,
    PolynomialGrid,
)
from multikernel.losses import LogisticLoss, SquaredLoss
from multikernel.solvers.hkl import HullProblem, HullSearch

Array = NDArray[np.float64]

GRIDS = {
    "pol4": PolynomialGrid(4, extrapolation="continue"),
    "rbf": HermiteGrid(9),
    "rbf, PCA": EmpiricalGrid(),
}
# Weights of Hermite grids fall with the level, and products of inputs below one are
# small: less strength does the same there.
SMALLEST_LAMBDA = {
    ("pol4", "deviation"): 1e-5,
    ("pol4", "range"): 1e-8,
    ("rbf", "deviation"): 3e-8,
    ("rbf", "range"): 3e-8,
    ("rbf, PCA", "deviation"): 3e-8,
}
RIDGES = 10.0 ** np.arange(3.0, -7.5, -0.5)
MOST_GREEDY = 100
MOST_LASSO = 2500
SCALES = (1.0, 0.4, 0.2, 2.0)
"""Factors of the inputs. With pol4 HKL's weights of 4 a degree make 1 the kernel
prod(1 + x x' / 16)^4, and 0.4 prod(1 + 0.01 x x')^4: which of them suits L2 depends on
the data, and the weights are not made for it. With rbf they are widths, which matter to
every method."""


@dataclass(frozen=True, eq=False)
class Task:
    """Standardized samples to learn from, and others to predict."""

    X: Array
    y: Array
    new: Array
    kernel: str
    classify: bool
    scaling: str = "deviation"

    @property
    def lambdas(self) -> list[float]:
        """Return the strengths of HKL's path, the largest first."""
        last = np.log10(SMALLEST_LAMBDA[self.kernel, self.scaling])
        return list((10.0 ** np.arange(2.0, last - 0.3, -0.5)).tolist())

    @property
    def graph(self) -> Any:
        """Return the grid bound to the samples."""
        return GRIDS[self.kernel].bind(self.X)


def runs(
    methods: Iterable[str], scales: Iterable[float] | None
) -> list[tuple[str, float]]:
    """Return methods with the scales of inputs to try."""
    chosen = SCALES if scales is None else tuple(scales)
    return [(method, scale) for method in methods for scale in chosen]


def path(method: str, task: Task, scale: float = 1.0) -> "Path":
    """Return the path of a method on inputs multiplied by a number."""
    return METHODS[method](replace(task, X=scale * task.X, new=scale * task.new))


Path = Iterator[tuple[str, Array]]
"""Names of strengths, and decision values on the new samples."""


def hkl(task: Task) -> Path:
    """Yield the path of HKL."""
    graph = task.graph
    yield from _hull_path(task, graph, graph.sample(task.X), graph.sample(task.new))


def _hull_path(task: Task, graph: Any, samples: Any, new: Any) -> Path:
    loss: Any = LogisticLoss() if task.classify else SquaredLoss()
    problem = HullProblem(samples, task.y, loss, 1.0, float(len(task.y)))
    known: dict[Any, Array] = {}
    alphas = task.lambdas
    for alpha, solution in zip(
        alphas, HullSearch().path(problem, alphas), strict=False
    ):
        f = np.full(new.n_samples, solution.intercept)
        for node, coefs, means, basis in zip(
            solution.nodes, solution.coefs, solution.means, solution.bases, strict=True
        ):
            if node not in known:
                known[node] = new.features(node, basis)
            f += (known[node] - means) @ coefs
        yield f"{alpha:.1e}", f


@dataclass(frozen=True, eq=False)
class InputKernel:
    """The kernel of one input: the sum over its levels."""

    levels: Any
    column: int

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        left = self.levels.columns(X[:, self.column])
        right = left if Y is None else self.levels.columns(Y[:, self.column])
        return np.asarray(left @ right.T)

    def diag(self, X: Array) -> Array:
        return np.asarray((self.levels.columns(X[:, self.column]) ** 2).sum(axis=1))


def mkl(task: Task) -> Path:
    """Yield the path of MKL with one kernel per input, a graph without edges."""
    levels = task.graph.levels
    kernels = {f"x{i}": InputKernel(own, i) for i, own in enumerate(levels)}
    graph = DictionaryGraph(kernels).bind(task.X)
    yield from _hull_path(task, graph, graph.sample(task.X), graph.sample(task.new))


def _weighted_columns(task: Task, X: Array) -> list[Array]:
    """Return features by input whose products sum to sum_v K_v / d_v^2."""
    graph = task.graph
    found = []
    for i, z in enumerate(graph.sample(X).columns):
        sizes = graph.levels[i].sizes
        # Where weights fall with the level, plain sums are the smaller ones.
        base = max(graph.weight_base, 1.0)
        found.append(z / np.repeat(base ** np.arange(len(sizes)), sizes))
    return found


def full_grams(task: Task) -> tuple[Array, Array]:
    """Return the full kernel on the samples, and between new ones and them."""
    left, right = _weighted_columns(task, task.new), _weighted_columns(task, task.X)
    K, cross = (np.ones((len(rows[0]), len(task.X))) for rows in (right, left))
    for own, other in zip(left, right, strict=True):
        K *= other @ other.T
        cross *= own @ other.T
    mean, new_mean = K.mean(axis=0), cross.mean(axis=1, keepdims=True)
    centered = K - mean - mean[:, None] + K.mean()
    return centered, cross - new_mean - mean + K.mean()


def l2(task: Task) -> Path:
    """Yield ridge or logistic regression on the full kernel."""
    K, cross = full_grams(task)
    n, scale = len(K), np.trace(K) / len(K)
    fit = _logistic if task.classify else _ridge
    start: Array = np.zeros(n + 1)
    for ridge in RIDGES:
        try:
            start = fit(K, task.y, n * ridge * scale, start)
        except LinAlgError:
            return
        yield f"{ridge:.1e}", cross @ start[:-1] + start[-1]


def _ridge(K: Array, y: Array, strength: float, start: Array) -> Array:
    shifted = K + strength * np.eye(len(K))
    coefs = cho_solve(cho_factor(shifted, overwrite_a=True), y - y.mean())
    return np.append(coefs, y.mean())


def _logistic(K: Array, y: Array, strength: float, start: Array) -> Array:
    """Return coefficients and intercept by Newton's method on damped weights."""
    coefs, b = start[:-1].copy(), float(start[-1])
    for _ in range(50):
        f = K @ coefs + b
        p = expit(y * f)
        w = np.maximum(p * (1.0 - p), 1e-6)
        target = f + y * (1.0 - p) / w
        system = cho_factor(K + np.diag(strength / w), overwrite_a=True)
        both = cho_solve(system, np.column_stack([target, np.ones(len(y))]))
        b = float(both[:, 0].sum() / both[:, 1].sum())
        new = both[:, 0] - b * both[:, 1]
        change = float(np.abs(K @ (new - coefs)).max())
        coefs = new
        if change < 1e-4:
            break
    return np.append(coefs, b)


def greedy(task: Task) -> Path:
    """Yield forward selections: the source that most improves a ridge fit comes next.

    For two classes the squared loss selects, on targets of minus and plus one.
    """
    graph = task.graph
    pooled = Pooled(graph.sample(task.X), graph.sample(task.new))
    n, y = len(task.y), task.y - task.y.mean()
    for ridge in RIDGES[::3]:
        inside: set[Any] = set(graph.roots())
        pool = Pool(n)
        for root in graph.roots():
            pool.add({v: pooled[v][0] for v in _sources(graph, root, inside)})
        chosen: list[Array] = []
        others: list[Array] = []
        residual = y
        for size in range(1, MOST_GREEDY + 1):
            best = pool.take(residual, n * ridge)
            inside.add(best)
            pool.add({v: pooled[v][0] for v in _sources(graph, best, inside)})
            for columns, found in zip(pooled[best], (chosen, others), strict=True):
                found.append(columns)
            Phi = np.hstack(chosen)
            gram = Phi.T @ Phi + n * ridge * np.eye(Phi.shape[1])
            beta = np.linalg.solve(gram, Phi.T @ y)
            residual = y - Phi @ beta
            if size % 5 == 0:
                f = np.hstack(others) @ beta + task.y.mean()
                yield f"{ridge:.1e}/{size}", f


def _sources(graph: Any, last: Any, inside: set[Any]) -> list[Any]:
    """Return what became a source when the last node came inside."""
    return [
        child
        for child in graph.children(last)
        if child not in inside and all(p in inside for p in graph.parents(child))
    ]


class Pooled(dict[Any, tuple[Array, Array]]):
    """Centered features of nodes on samples and new ones, made when asked for.

    Columns of a node are rotated to be orthogonal on the samples, so that a ridge fit
    on them takes a division each.
    """

    def __init__(self, samples: Any, new: Any) -> None:
        super().__init__()
        self.samples, self.new = samples, new

    def __missing__(self, node: Any) -> tuple[Array, Array]:
        Z, other = self.samples.features(node), self.new.features(node)
        means = Z.mean(axis=0)
        found = Z - means, other - means
        if Z.shape[1] > 1:
            _, rotation = np.linalg.eigh(found[0].T @ found[0])
            found = found[0] @ rotation, found[1] @ rotation
        self[node] = found
        return found


class Pool:
    """Sources that may come next, their columns side by side."""

    def __init__(self, n: int) -> None:
        self.nodes: list[Any] = []
        self.starts: list[int] = []
        self.columns: Array = np.empty((0, n))
        self.norms: Array = np.empty(0)
        self.taken: list[int] = []

    def add(self, features: dict[Any, Array]) -> None:
        """Take in the features of new sources."""
        width = len(self.norms)
        for node, Z in features.items():
            self.nodes.append(node)
            self.starts.append(width)
            width += Z.shape[1]
        rows = [Z.T for Z in features.values()]
        if rows:
            self._extend(np.vstack(rows))

    def _extend(self, rows: Array) -> None:
        known, width = len(self.norms), len(self.norms) + len(rows)
        if width > len(self.columns):
            grown = np.empty((2 * width, rows.shape[1]))
            grown[:known] = self.columns[:known]
            self.columns = grown
        self.columns[known:width] = rows
        self.norms = np.append(self.norms, np.einsum("ij,ij->i", rows, rows))

    def take(self, residual: Array, strength: float) -> Any:
        """Return the source whose own ridge fit explains most, and let it go."""
        products = self.columns[: len(self.norms)] @ residual
        gains = np.add.reduceat(products**2 / (self.norms + strength), self.starts)
        gains[self.taken] = -1.0
        best = int(np.argmax(gains))
        self.taken.append(best)
        return self.nodes[best]


def lasso_alpha(task: Task) -> Path:
    """Yield the lasso on the coefficients of the full kernel, from its exact path.

    Coordinate descent had not converged after 150 s with 4096 coefficients of
    pumadyn-32nm; the path with 2000 of them takes 52 s.
    """
    K, cross = full_grams(task)
    scale = np.sqrt((K**2).mean())
    ratios, _, coefs = lars_path(
        K / scale, task.y - task.y.mean(), method="lasso", max_iter=MOST_LASSO
    )
    kept = slice(None, None, max(len(ratios) // 200, 1))
    decisions = cross @ (coefs[:, kept] / scale) + task.y.mean()
    for ratio, f in zip(ratios[kept], decisions.T, strict=True):
        yield f"{ratio:.3e}", f


METHODS: dict[str, Callable[[Task], Path]] = {
    "L2": l2,
    "greedy": greedy,
    "lasso-alpha": lasso_alpha,
    "MKL": mkl,
    "HKL": hkl,
}
