"""Selection of kernels one by one; the first k kernels are a model for every k."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Self

import numpy as np
from sklearn.utils import check_random_state

from multikernel._validation import COUNT, NON_NEGATIVE, AnyOf, Check, Number
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.recipe import Recipe, problem_of, residual_problems
from multikernel.estimators.grams.source import GramSource, gram_source
from multikernel.estimators.grams.training import Training
from multikernel.estimators.group_omp.stages import make_stages
from multikernel.estimators.parameters import LossSetting, loss_of
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import FINISHED
from multikernel.estimators.scale import target_scale
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GreedyPath, GroupOMP

STANDARD_RIDGE = 0.01
"""The default ``alpha``; ``benchmarks/defaults`` (strengths) compares other values."""


GREEDY_CHECKS: Mapping[str, Check] = {
    "tol": NON_NEGATIVE,
    "subsample": AnyOf((Number(0.0, 1.0, above=True), COUNT)),
}


@dataclass(frozen=True, eq=False)
class GreedyMethod:
    """A method that adds kernels one by one to minimize a loss with a ridge penalty."""

    source: GramSource
    loss: LossSetting  # the loss of one sample
    alpha: float  # strength of the ridge penalty
    solver: GroupOMP

    def with_tol(self, tol: float) -> Self:
        """Return the method unchanged, because a greedy path has no duality gap."""
        return self

    def recipe(self, data: Training) -> Recipe:
        """Return the loss, the ridge penalty and the solver."""
        # The problem has a sum of losses, so alpha is multiplied by the sum of weights.
        total = data.samples.total_weight
        owner, loss = self.source.owner, self.loss.unit
        scale = target_scale(owner, data.samples, loss, pooled=True)
        losses, params = self.loss.at_scale(scale)
        (alpha,) = scale.scaled("alpha", self.alpha, scale.degree - 2)
        params["alpha"] = float(alpha)
        ridge = BlockElasticNet(alpha * total, l1_ratio=0.0)
        return Recipe(
            losses, [ridge], self.solver, objective_scale=1.0 / total, params=params
        )

    def learn(self, data: Training, watch: Watch) -> dict[str, object]:
        """Select kernels; return the attributes of the model with all selected ones."""
        recipe = self.recipe(data)
        path = self.solver.path(joint_problem(recipe, data), watch)
        warn_interrupted(self.source.owner, path)
        return prefix_attributes(recipe, data, path, len(path))


def greedy_method(model: BaseMKL, alpha: float = 1.0) -> GreedyMethod:
    """Return the method of an estimator; a search replaces alpha."""
    is_count = isinstance(model.subsample, Integral)
    is_random = is_count or model.subsample < 1.0
    rng = check_random_state(model.random_state) if is_random else None
    solver = GroupOMP(
        max_kernels=model.max_kernels,
        tol=float(model.tol),
        subsample=int(model.subsample) if is_count else float(model.subsample),
        random_state=0 if rng is None else rng.randint(np.iinfo(np.int32).max),
    )
    # Group-OMP merges no copies of samples, which only machines of nonsmooth losses
    # need, and refines no low-rank factors, which only certificates need.
    source = gram_source(model, merges_copies=False, refines=False, takes_columns=True)
    return GreedyMethod(source, loss_of(model), alpha, solver)


def joint_problem(recipe: Recipe, training: Training) -> Problem:
    """Return one problem for all outputs, so that all outputs share a selection."""
    samples = training.samples
    targets = samples.targets
    y = targets[0] if len(targets) == 1 else np.ascontiguousarray(targets.T)
    offset = samples.offset
    if offset is not None and y.ndim == 1:
        offset = offset[:, 0]
    problem = problem_of(training, y, offset, recipe.losses[0], recipe.penalties[0])
    return residual_problems(training.least_squares, [problem])[0]


def warn_interrupted(owner: str, path: GreedyPath) -> None:
    """Warn if a selection ended before ``max_kernels`` or ``tol`` stopped it."""
    if path.status not in FINISHED:
        warn_user(
            f"{owner} stopped with {len(path)} kernels. {path.status.value}",
            ConvergenceWarning,
        )


def prefix_attributes(
    recipe: Recipe, training: Training, path: GreedyPath, k: int
) -> dict[str, object]:
    """Return the fitted attributes of the model with the first k selected kernels."""
    stages = make_stages(path.prefix(k), training, float(recipe.objective_scale))
    parameters = {f"{name}_": value for name, value in recipe.params.items()}
    info = {"solver": "GroupOMP", **training.fit_info}
    return stages.attributes() | parameters | {"fit_info_": info}
