"""HKL: a structured norm over a graph of kernels, and a search from the graph roots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Self

import numpy as np

from multikernel._typing import Array
from multikernel._validation import FLAG, Check, InstanceOf
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.hkl.data import (
    HullData,
    HullModel,
    HullNames,
    HullSource,
    hull_model,
)
from multikernel.estimators.parameters import LossSetting, loss_of
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import (
    history_array,
    iterations,
    single,
    spread_terms,
    status_attributes,
    variance_shares,
    worst_status,
)
from multikernel.estimators.scale import target_scale
from multikernel.exceptions import (
    ConvergenceWarning,
    UnsupportedProblemError,
    warn_user,
)
from multikernel.kernels.graph import KernelGraph, PolynomialGrid
from multikernel.kernels.graph.base import KnownNodes, hull
from multikernel.losses import weighted
from multikernel.losses.answers import validate_loss
from multikernel.problem import Status
from multikernel.solvers.hkl import HullProblem, HullSearch, HullSolution

GRAPH = InstanceOf(
    (KernelGraph, NoneType), "None or a KernelGraph, for example PolynomialGrid(4)"
)
"""The check of the parameter ``kernels``."""

STANDARD_ALPHA = 1e-3
"""The default ``alpha``; ``benchmarks/defaults`` (strengths) compares other values."""


HULL_CHECKS: Mapping[str, Check] = {
    "kernels": GRAPH,
    "standardize": FLAG,
    "certify": FLAG,
}


@dataclass(frozen=True, eq=False)
class HullTask:
    """The problems of HKL on samples, one per output."""

    problems: list[HullProblem]
    objective_scale: float  # `Progress.objective` times this is ``objective_``
    # Parameters such as alpha in the units of the targets, for fitted attributes.
    params: Mapping[str, float | Array]


@dataclass(frozen=True, eq=False)
class HullMethod:
    """A method that minimizes a mean loss plus the squared structured norm of HKL."""

    source: HullSource
    loss: LossSetting  # of one sample, without sample weights
    alpha: float  # strength of the penalty, relative to the mean loss
    fit_intercept: bool
    solver: HullSearch  # searches for active kernels, from the roots

    def learn(self, data: HullData, watch: Watch) -> dict[str, object]:
        """Solve one problem per output, and return the fitted attributes."""
        task = self.recipe(data)
        watch.expect(len(task.problems))
        solutions = []
        for problem in task.problems:
            solutions.append(self.solver.solve(problem, watch))
            watch.advance(1)
        warn_uncertified(self.source.owner, self.solver, solutions)
        return hull_attributes(task, data, solutions)

    def recipe(self, data: HullData) -> HullTask:
        """Return one problem per output; raise if the loss is not supported."""
        samples, owner, unit = data.samples, self.source.owner, self.loss.unit
        scale = target_scale(owner, samples, unit, pooled=False)
        losses, params = self.loss.at_scale(scale)
        alphas = scale.scaled("alpha", self.alpha, scale.degree - 2)
        params["alpha"] = scale.as_attribute(alphas)
        nodes, problems = KnownNodes(data.graph.graph), []
        # The objective is a weighted mean, so the scale of the weights has no effect.
        # Weights of mean one suit the solvers of piecewise linear losses.
        weights, n_samples = samples.weights, samples.targets.shape[1]
        if weights is not None:
            weights = weights / (samples.total_weight / n_samples)
        outputs = zip(samples.targets, losses, alphas.tolist(), strict=True)
        for target, loss, alpha in outputs:
            validate_loss(owner, loss, target)
            parts = weighted(loss, weights), alpha, float(n_samples), weights
            problems.append(
                HullProblem(data.graph, target, *parts, self.fit_intercept, known=nodes)
            )
        reason = self.solver.unsupported(problems[0])
        if reason is not None:
            raise UnsupportedProblemError(reason)
        return HullTask(problems, 1.0 / n_samples, params)

    def with_tol(self, tol: float) -> Self:
        """Return the method with another tolerance."""
        return replace(self, solver=replace(self.solver, tol=tol))


def hull_attributes(
    task: HullTask, data: HullData, solutions: Sequence[HullSolution]
) -> dict[str, object]:
    """Return the fitted attributes; ``_model`` computes predictions."""
    samples, model = data.samples, hull_model(data, solutions)
    mean_weight = samples.total_weight / samples.targets.shape[1]
    duals = mean_weight * np.array([s.dual for s in solutions])
    graph, coefs = model.graph, model.coefs
    names = tuple(graph.name(node, data.columns) for node in model.nodes)
    # A norm over several outputs is the root of the sum of their squared norms.
    norms = np.array([float(np.linalg.norm(coef)) for coef in coefs])
    strongest = np.argsort(-norms, kind="stable")
    output_norms = [np.linalg.norm(coefs[k], axis=0) for k in model.active]
    block_norms = np.array(output_norms).reshape(-1, model.intercept.size).T
    shares = variance_shares(model.contributions(data.X), samples.sample_weight)
    return spread_terms(block_norms, shares, model.active, len(names)) | {
        "hull_": list(model.nodes),
        "node_norms_": norms,
        "node_degrees_": [graph.degrees(node) for node in model.nodes],
        "selected_nodes_": {
            names[k]: float(norms[k]) for k in strongest if norms[k] > 0.0
        },
        "kernel_weights_": single(hull_weights(model)),
        "active_kernels_": model.active,
        "dual_coef_": single(samples.scatter(duals)),
        "intercept_": model.intercept,
        "objective_": single([s.objective for s in solutions]),
        "duality_gap_": single([s.duality_gap for s in solutions]),
        "reduced_gap_": single([s.reduced_gap for s in solutions]),
        "n_searched_": single([s.n_searched for s in solutions]),
        "n_iter_": iterations([[s] for s in solutions]),
        "history_": history_array(solutions, task.objective_scale),
        "fit_info_": {"solver": "HullSearch"},
        **status_attributes(worst_status(solutions)),
        **{f"{name}_": value for name, value in task.params.items()},
        "_model": model,
        "_names": HullNames(None, len(names), names=names),
    }


def hull_method(model: BaseMKL, alpha: float = 1.0) -> HullMethod:
    """Return the method of an estimator; a search replaces alpha."""
    graph = PolynomialGrid(4) if model.kernels is None else model.kernels
    search = HullSearch(
        tol=model.tol,
        max_kernels=model.max_kernels,
        certify=bool(model.certify),
        max_iter=model.max_iter,
    )
    return HullMethod(
        HullSource(type(model).__name__, graph, model.standardize),
        loss_of(model),
        alpha,
        model.fit_intercept,
        search,
    )


def hull_weights(model: HullModel) -> Array:
    """Return the kernel weights at the optimum, shape (n_outputs, n_hull)."""
    graph, row_of = model.graph, {node: k for k, node in enumerate(model.nodes)}
    n_nodes, n_outputs = len(model.nodes), model.intercept.size
    is_ancestor = np.zeros((n_nodes, n_nodes), dtype=bool)
    for node, row in row_of.items():
        is_ancestor[row, [row_of[ancestor] for ancestor in hull(graph, [node])]] = True
    squares = np.array([np.sum(coef**2, axis=0) for coef in model.coefs])
    squares = squares.reshape(n_nodes, n_outputs)
    weights = np.zeros((n_outputs, n_nodes))
    d = np.array([graph.weight(node) for node in model.nodes])
    # The weight of node w is zeta_w = 1 / sum_{v in A(w)} 1 / eta_v, where eta_v =
    # |f_{D(v)}| / (d_v Omega). D(v) contains v and its descendants, A(w) contains w and
    # its ancestors, d_v is the weight of v in the norm Omega = sum_v d_v |f_{D(v)}|.
    for k in range(n_outputs):
        norms = np.sqrt(is_ancestor.T.astype(np.float64) @ squares[:, k])
        omega = float(d @ norms)
        reached = norms > 0.0
        inverse = d[reached] * omega / norms[reached]
        sums = is_ancestor[:, reached].astype(np.float64) @ inverse
        is_zero = is_ancestor[:, ~reached].any(axis=1)
        weights[k] = np.where(is_zero, 0.0, 1.0 / np.maximum(sums, 1e-300))
    return weights


def warn_uncertified(
    owner: str,
    search: HullSearch,
    solutions: Sequence[HullSolution],
) -> None:
    """Warn if the gap that a search had to reduce is still above its tolerance."""
    # With certify=False, this is the gap over the visited nodes, which is below the
    # tolerance at the status NOISE_LIMITED; the gap over the graph may be larger.
    status = worst_status(solutions)
    certified = status is Status.CONVERGED
    if certified or (status is Status.NOISE_LIMITED and not search.certify):
        return
    gap = max(solution.duality_gap for solution in solutions)
    reduced = max(solution.reduced_gap for solution in solutions)
    advice = " A graph with a larger weight_base is easier to certify."
    warn_user(
        f"{owner} stopped at a relative duality gap of {gap:.2e} over the whole graph, "
        f"{reduced:.1e} over its visited nodes. {status.value}"
        f"{advice * search.certify}",
        ConvergenceWarning,
    )
