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

    .. math:: \min_{f, b} \frac1W \sum_i \ell\Bigl(y_i, \sum_v f_v(x_i) + b\Bigr)
        + \frac{\alpha}{2} \Bigl(\sum_v d_v \|f_{D(v)}\|\Bigr)^2

    The sums are over nodes v of weight :math:`d_v > 0` with descendants D(v), including
    v; alpha is the paper's lambda (Bach, NIPS 21, 2008) and W, `total_weight`, the sum
    of the sample weights. `samples` is the graph on the training samples. `y`,
    (n_samples,), has -1.0 and +1.0 for classification losses; `loss` includes sample
    weights. `weights`, (n_samples,) or None for equal ones, center the features.
    `offset` was subtracted from the targets and is added to intercepts
    (`centered_targets`). `known` caches data of nodes.
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

    `nodes` is the hull (nodes together with all their ancestors), parents before
    children. For each node, `coefs`, (n_columns,), contains the coefficients of the
    features after subtracting `means`, and `bases` the landmarks of the features, or
    None if they need none. `intercept` includes the problem's `offset`. `dual`,
    (n_samples,), is a dual feasible point of the summed loss. The relative gap
    `duality_gap` is over all nodes of the graph, `reduced_gap` over the active set of
    `n_searched` nodes. `history` has a line for each of `n_iter` rounds.
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
