"""Selection of kernels one after the other; every prefix of it is a model."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from multikernel._typing import Array, Indices
from multikernel._validation import COUNT, NON_NEGATIVE, AnyOf, Check, Number
from multikernel.estimators.grams.shortlist import greedy_list, is_shortened
from multikernel.estimators.grams.source import GramSource, gram_source
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.group_omp.stages import (
    PublishedPath,
    make_stages,
    published_path,
)
from multikernel.estimators.method import Solved
from multikernel.estimators.parameters import LossSetting, loss_of
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import FINISHED, Expansion
from multikernel.estimators.scale import grid_of, target_scale
from multikernel.estimators.search.search import Search
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.losses.answers import check_answers
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GreedyPath, GroupOMP

STANDARD_RIDGE = 0.01
"""The default ``alpha``. ``benchmarks/defaults`` (strengths): R^2 of a single
regression less that of the search is -0.002 in the median of 6 sets where it stops at
tol = 1e-2, and -0.052 at 1e-3."""

RIDGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
"""The strengths that are tried by default."""

SELECTION_CLASSIFIER_TEXTS = """
tol : float, default=1e-3
    The precision: stop when no kernel improves the fit by more than this share of
    the largest improvement that a kernel could offer to the constant model, half
    the mean square of the centred target for the squared loss.
dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
    The dual variable of the last refit, minus the gradient of the losses in the
    decision values; every selected f_m is K_m times it, over alpha times the sum
    of the sample weights.
"""

SELECTION_TEXTS = """
block_norms_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
    Norms of the functions f_m in the spaces of their normalised kernels.
variance_shares_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
    Shares of the terms in the variance of the decision values on the training
    samples, see `variance_shares`: they sum to one, and one that works against
    the others is negative.
n_iter_ : int
    Number of selected kernels.
history_ : structured ndarray of shape (n_selected + 1,)
    One line per model, from the one without kernels on: output (always 0),
    iteration, seconds, objective, duality_gap (nan), n_active, passes,
    inner_steps.
status_ : str
    Why the selection stopped: "selected" where it has as many kernels as were asked
    for, "precise" where none that is left improves the fit by more than ``tol``.
subsample : float or int, default=1.0
    Every step looks at a random part of the dictionary: a fraction of it if a
    float, or a number of kernels if an int.
selection_order_ : ndarray of shape (n_selected,)
    Kernels in the order of selection. Of kernels that improve the fit equally, the
    first in the dictionary is selected.
improvements_ : ndarray of shape (n_selected,)
    The improvement that each offered when it was selected, in the scale of
    ``objective_`` (half of that of [1]_). For the squared loss the objective falls
    by at least as much.
"""

SELECTION_REGRESSOR_TEXTS = """
dual_coef_ : ndarray of shape (n_samples,) or (n_outputs, n_samples)
    The dual variable of the last refit, minus the gradient of the losses in the
    predictions; every selected f_m is K_m times it, over alpha times the sum of
    the sample weights.
"""

GREEDY_CHECKS: Mapping[str, Check] = {
    "tol": NON_NEGATIVE,
    "subsample": AnyOf((Number(0.0, 1.0, above=True), COUNT)),
}


@dataclass(frozen=True, eq=False)
class GreedyMethod:
    """A mean loss and a ridge over kernels that join one at a time.

    Parameters
    ----------
    source : GramSource
        What it learns from.
    loss : LossSetting
        The loss of one sample.
    alpha : float
        Strength of the ridge.
    solver : GroupOMP
        The algorithm.
    """

    source: GramSource
    loss: LossSetting
    alpha: float
    solver: GroupOMP

    why_no_path: ClassVar[str] = (
        "has a path over numbers of kernels, not over strengths: one fit holds it, see "
        "selection_order_ and prefix."
    )

    def problem(self, data: Training) -> Recipe:
        """Return the recipe; the mean loss of an alpha is the sum of total times it."""
        total = data.samples.total_weight
        owner, loss = self.source.owner, self.loss.kind()
        scale = target_scale(owner, data.samples, loss, pooled=True)
        losses, numbers = self.loss.on(scale)
        (alpha,) = scale.numbers("alpha", self.alpha, scale.degree - 2)
        numbers["alpha"] = float(alpha)
        ridge = BlockElasticNet(alpha * total, l1_ratio=0.0)
        return Recipe(
            losses, [ridge], self.solver, objective_scale=1.0 / total, numbers=numbers
        )

    def solve(self, problem: Recipe, data: Training, watch: Watch) -> GreedyPath:
        """Select kernels, and return the models with none, one, two, ..."""
        path = self.solver.path(joint_problem(problem, data), watch)
        warn_interrupted(self.source.owner, path)
        return path

    def publish(
        self, problem: Recipe, data: Training, solution: GreedyPath
    ) -> dict[str, Any]:
        """Return the fitted attributes, with the models of all prefixes."""
        return _attributes(solution, len(solution), problem, data)


def greedy_method(model: Any, alpha: float = 1.0) -> GreedyMethod:
    """Return the method of an estimator.

    Copies do not change a selection: there is no machine with corners to settle. Nor is
    there a certificate that could ask for finer factors.
    """
    whole = isinstance(model.subsample, Integral)
    drawn = whole or model.subsample < 1.0
    random = check_random_state(model.random_state) if drawn else None
    solver = GroupOMP(
        max_kernels=model.max_kernels,
        tol=float(model.tol),
        subsample=int(model.subsample) if whole else float(model.subsample),
        random_state=0 if random is None else random.randint(np.iinfo(np.int32).max),
    )
    source = gram_source(model, merges_copies=False, refines=False, takes_columns=True)
    return GreedyMethod(source, loss_of(model), alpha, solver)


def joint_problem(recipe: Recipe, training: Training) -> Problem:
    """Return one problem with all outputs, so that they share a selection."""
    samples = training.samples
    targets = samples.targets
    y = targets[0] if len(targets) == 1 else np.ascontiguousarray(targets.T)
    check_answers(training.owner, recipe.losses[0], y)
    offset = samples.offset
    if offset is not None and y.ndim == 1:
        offset = offset[:, 0]
    problem = training.problem(y, offset, recipe.losses[0], recipe.penalties[0])
    return training.residual_problems([problem])[0]


def warn_interrupted(owner: str, path: GreedyPath) -> None:
    """Say so where a selection ended before its time."""
    if path.status not in FINISHED:
        warn_user(
            f"{owner} stopped with {len(path)} kernels. {path.status.value}",
            ConvergenceWarning,
        )


@dataclass(frozen=True, eq=False)
class PrefixCandidates:
    """All pairs of a number of kernels and a strength, the simplest first.

    Fewer kernels come before more, and stronger penalties before weaker ones.

    Parameters
    ----------
    method : GreedyMethod
        The method, whose alpha does not matter.
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    most : int
        The largest number of kernels; the smallest is zero.
    open_end : bool
        Whether there are more kernels than that.
    """

    method: GreedyMethod
    alphas: Array
    most: int
    open_end: bool

    def with_tol(self, tol: float) -> Self:
        """Return the candidates as they are: a greedy path has no gap."""
        return self

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the number of kernels and the strength of every pair."""
        counts = np.arange((self.most if most is None else most) + 1)
        return {
            "max_kernels": np.repeat(counts, self.alphas.size),
            "alpha": np.tile(self.alphas, counts.size),
        }

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the strengths, and the numbers of kernels where there are more."""
        edges = {"alpha": self.alphas}
        if self.open_end and chosen["max_kernels"] > 0:
            edges["max_kernels"] = np.arange(self.most + 1.0)
        return edges

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of all prefixes; a path's last stands for larger ones."""
        recipes = self._recipes(training)
        problem = joint_problem(recipes[0], training)
        listed = greedy_list(problem) if is_shortened(training) else None
        for a, path in enumerate(self._paths(recipes, problem, watch, listed)):
            if path.status is Status.STOPPED:
                continue
            published = published_path(path, training)
            for k in range(len(path) + 1):
                last = self.most if k == len(path) else k
                places = range(
                    k * len(recipes) + a, (last + 1) * len(recipes), len(recipes)
                )
                attributes = partial(_attributes, path, k, recipes[a], training)
                # All kernels of a model share one expansion, which takes no memory.
                model = _expansion(published, k)
                yield Solved(places, model, k, 0, np.empty(0), attributes)

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair."""
        recipes = self._recipes(training)
        chosen, a = divmod(best, len(recipes))
        # The solver selects at least one kernel, and a choice may be none.
        solver = replace(self.method.solver, max_kernels=max(chosen, 1))
        alone = replace(self, method=replace(self.method, solver=solver))
        problem = joint_problem(recipes[a], training)
        (path,) = alone._paths([recipes[a]], problem, watch)
        warn_interrupted(self.method.source.owner, path)
        attributes = _attributes(path, min(chosen, len(path)), recipes[a], training)
        return attributes | {"alphas_": self.alphas}

    def _recipes(self, training: Training) -> list[Recipe]:
        """Return the recipes of all strengths."""
        return [
            replace(self.method, alpha=alpha).problem(training)
            for alpha in self.alphas.tolist()
        ]

    def _paths(
        self,
        recipes: Sequence[Recipe],
        problem: Problem,
        watch: Watch,
        listed: Indices | None = None,
    ) -> list[GreedyPath]:
        """Return the paths of some strengths, grown side by side.

        They select from all kernels, or from those that are `listed`.
        """
        strengths = np.array([recipe.penalties[0].alpha for recipe in recipes])
        if listed is None:
            return self.method.solver.paths(problem, strengths, watch)
        short = replace(problem, gram=problem.gram.take(listed))
        return [
            replace(path, problem=problem, order=listed[path.order])
            for path in self.method.solver.paths(short, strengths, watch)
        ]


def _attributes(
    path: GreedyPath, k: int, recipe: Recipe, training: Training
) -> dict[str, Any]:
    """Return the fitted attributes of the model with k kernels."""
    stages = make_stages(path.prefix(k), training, float(recipe.objective_scale))
    return stages.attributes() | {f"{name}_": v for name, v in recipe.numbers.items()}


def _expansion(path: PublishedPath, k: int) -> Expansion:
    """Return the model with k kernels, which share its coefficients."""
    shared = np.broadcast_to(path.coefs[k], (k, *path.coefs.shape[1:]))
    effects = None if path.effects is None else path.effects[k]
    return Expansion(np.sort(path.order[:k]), shared, path.intercepts[k], effects)


def prefix_search(
    model: Any, method: GreedyMethod
) -> Search[Training, Recipe, GreedyPath]:
    """Return the search of an estimator among sparsities and strengths.

    The method has an alpha of one.
    """

    def candidates(whole: Training) -> PrefixCandidates:
        alphas = grid_of(RIDGES if model.alphas is None else model.alphas)[::-1]
        n_kernels = whole.stack.shape[0]
        most = n_kernels if model.max_kernels is None else model.max_kernels
        return PrefixCandidates(
            method, alphas, most=min(most, n_kernels), open_end=most < n_kernels
        )

    return Search(model, method, candidates)
