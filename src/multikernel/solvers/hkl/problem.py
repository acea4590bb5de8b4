"""The problem and the solution of hierarchical multiple kernel learning."""

from dataclasses import dataclass, field
from typing import Any

from multikernel._typing import Array
from multikernel.kernels.graph.base import GraphSamples, KnownNodes
from multikernel.losses import Loss
from multikernel.problem import Progress, Status


@dataclass(frozen=True, eq=False)
class HullProblem:
    r"""Learning problem over a graph of kernels.

    .. math::
        \min_{f, b} \frac{1}{W} \sum_i \ell\Bigl(y_i, \sum_{v} f_v(x_i) + b\Bigr)
        + \frac{\alpha}{2} \Bigl(\sum_v d_v \|f_{D(v)}\|\Bigr)^2

    The sums are over the nodes v; :math:`d_v > 0` is the weight of a node, and D(v)
    contains the node and its descendants.

    Parameters
    ----------
    samples : GraphSamples
        The graph on the training samples.
    y : ndarray of shape (n_samples,)
        Targets; -1.0 and +1.0 for classification losses.
    loss : Loss
        Loss, summed over samples and including sample weights.
    alpha : float
        Regularization strength, lambda in the paper.
    total_weight : float
        W, the sum of the sample weights.
    weights : ndarray of shape (n_samples,) or None, default=None
        Sample weights, used to center features; None means equal weights.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    offset : ndarray of shape (1,) or 0.0, default=0.0
        The offset that was subtracted from the targets and is added to the intercepts
        of solutions (`centered_targets`).
    known : KnownNodes or None, default=None
        Cached numbers of the graph's nodes, shared with other problems on it; None
        starts an empty cache.
    """

    samples: GraphSamples
    y: Array
    loss: Loss
    alpha: float
    total_weight: float
    weights: Array | None = None
    fit_intercept: bool = True
    offset: Array | float = 0.0
    known: KnownNodes | None = None


@dataclass(frozen=True, eq=False)
class HullSolution:
    """Model over a hull, with its certificate.

    Parameters
    ----------
    nodes : tuple of nodes
        The hull, parents before children.
    coefs : tuple of ndarray of shape (n_columns,)
        Coefficients of the centered features of each node.
    means : tuple of ndarray of shape (n_columns,)
        Means that were subtracted from the features.
    bases : tuple
        Data besides the graph that define the features, None for most nodes.
    intercept : float
        The intercept, including the `offset` of the problem.
    dual : ndarray of shape (n_samples,)
        A dual feasible point of the summed loss, at its best scale.
    objective : float
        Primal objective.
    duality_gap : float
        Relative gap over all nodes of the graph.
    reduced_gap : float
        Relative gap of the problem on the active set.
    n_searched : int
        Number of nodes of the active set, including those without a function.
    n_iter : int
        Number of rounds of the search.
    status : Status
        Reason why the search stopped.
    history : tuple of Progress
        One line for each round.
    """

    nodes: tuple[Any, ...]
    coefs: tuple[Array, ...]
    means: tuple[Array, ...]
    bases: tuple[Any, ...]
    intercept: float
    dual: Array
    objective: float
    duality_gap: float
    reduced_gap: float
    n_searched: int
    n_iter: int
    status: Status
    history: tuple[Progress, ...] = field(default=())
