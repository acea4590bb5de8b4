"""Optima of hierarchical multiple kernel learning by conic programming.

Nothing here imports the library: the norm is spelled out over all nodes, and nothing
is left out, so it is for graphs of a few dozen nodes.
"""

import cvxpy as cp
import numpy as np


def hull_optimum(
    features,
    prefers_descent,
    weights,
    y,
    loss,
    alpha,
    *,
    sample_weight=None,
    intercept=True,
    epsilon=0.1,
):
    """Return the optimal value of the whole problem.

    `features` holds one array (n_samples, n_columns) per node and `descends[v, w]`
    says whether w is v or a descendant of it.
    """
    n = len(y)
    s = np.ones(n) if sample_weight is None else sample_weight
    betas = [cp.Variable(z.shape[1]) for z in features]
    b = cp.Variable() if intercept else 0.0
    f = sum(z @ beta for z, beta in zip(features, betas, strict=True)) + b
    norm = 0
    for v, weight in enumerate(weights):
        below = [betas[w] for w in np.flatnonzero(prefers_descent[v])]
        norm = norm + weight * cp.norm(cp.hstack(below), 2)
    losses = {
        "squared_error": lambda: cp.square(y - f) / 2.0,
        "log_loss": lambda: cp.logistic(-cp.multiply(y, f)),
        "hinge": lambda: cp.pos(1.0 - cp.multiply(y, f)),
        "epsilon_insensitive": lambda: cp.pos(cp.abs(y - f) - epsilon),
    }[loss]()
    objective = cp.sum(cp.multiply(s, losses)) / s.sum() + alpha / 2.0 * cp.square(norm)
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
    )
    return float(problem.value)


def whole_graph(graph, samples):
    """Return features, the relation and the weights of all nodes of a bound graph."""
    nodes = reachable(graph, graph.roots())
    place = {node: k for k, node in enumerate(nodes)}
    prefers_descent = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for node in nodes:
        for below in reachable(graph, [node]):
            prefers_descent[place[node], place[below]] = True
    features = [samples.features(node) for node in nodes]
    return features, prefers_descent, [graph.weight(node) for node in nodes]


def reachable(graph, starts):
    """Return all nodes that edges lead to, breadth first, by no code of ours."""
    found, waiting = {}, list(starts)
    while waiting:
        node = waiting.pop(0)
        if node not in found:
            found[node] = None
            waiting.extend(graph.children(node))
    return list(found)
