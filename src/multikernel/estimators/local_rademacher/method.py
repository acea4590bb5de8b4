"""Local Rademacher MKL: a bound on tail sums of spectra constrains the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import check_random_state

from multikernel._validation import COUNT, Check, Number, OneOf
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.training import Training
from multikernel.estimators.grams.useless import warn_low_rank
from multikernel.estimators.lp.method import LP_CHECKS, MarginMethod, lp_method
from multikernel.estimators.parameters import SequenceOf
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import single
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.problem import Solution
from multikernel.solvers import DCSolution, Solver, TailConv, TailDC

THETA: Check = Number(0, integer=True)


TAIL_CHECKS: Mapping[str, Check] = {
    **LP_CHECKS,
    "method": OneOf(("conv", "dc")),
    "n_starts": COUNT,
    "theta": THETA,
    "thetas": SequenceOf(THETA, "a sequence of whole numbers of at least 0"),
}


@dataclass(frozen=True, eq=False)
class TailMethod(MarginMethod):
    """A method that constrains kernel weights by tail sums of the kernels' spectra."""

    # The inherited `solver` is a `TailConv` or `TailDC`; its tail sums are set later.
    theta: int  # number of leading eigenvalues that the tail sums omit

    def recipe(self, data: Training) -> Recipe:
        """Return losses, penalties and solver, with the kernels' tail sums."""
        sums = tail_sums(data.stack, self.theta, data.samples.weights)
        warn_low_rank(data, sums.short, self.theta)
        return self.with_tails(data, sums, self.theta)

    def with_tails(self, data: Training, sums: TailSums, theta: int) -> Recipe:
        """Return the recipe whose tail sums omit the `theta` largest eigenvalues."""
        # `sums` has the tail sums for all numbers from zero to at least `theta`.
        solver = self.solver
        assert isinstance(solver, TailConv | TailDC)
        with_sums = replace(solver, theta=theta, tails=sums.bounded(theta))
        plain = super().recipe(data)
        params = {**plain.params, "tail_sums": sums.tails}
        return replace(plain, solver=with_sums, params=params)

    def solve(
        self,
        recipe: Recipe,
        data: Training,
        watch: Watch,
        starts: Sequence[Solution] = (),
    ) -> GramFit:
        """Return the solutions of all outputs; `starts` is ignored."""
        return super().solve(recipe, data, watch)

    def publish(self, fit: GramFit) -> dict[str, object]:
        """Return the fitted attributes and, if any, `dc_attributes`."""
        return super().publish(fit) | dc_attributes(fit)


def tail_method(model: BaseMKL, theta: int, C: float | None = 1.0) -> TailMethod:
    """Return the method of an estimator; a search replaces theta and C."""
    inner = lp_method(model, [model.p], C)
    if model.method == "dc" and np.isinf(model.p):
        raise ValueError(
            f"{type(model).__name__}: method='dc' requires a finite p, got p=inf: use "
            "a finite p or method='conv'."
        )
    # The last step always scales kernels to trace n, so that weights are comparable.
    options = inner.source.options
    options = replace(options, normalize=(*options.normalize, "trace"))
    source = replace(inner.source, options=options)
    solver: Solver = TailConv(inner.solver, int(theta))
    if model.method == "dc":
        # If random_state is None, use seed 0, so that repeated fits give equal results.
        random_state = 0 if model.random_state is None else model.random_state
        solver = TailDC(
            inner.solver,
            int(theta),
            tol=float(model.tol),
            n_starts=int(model.n_starts),
            seed=int(check_random_state(random_state).randint(2**31 - 1)),
        )
    return TailMethod(source, inner.loss, inner.C, inner.p, solver, int(theta))


def dc_attributes(fit: GramFit) -> dict[str, object]:
    """Return the attributes that only fits with method="dc" have; else {}."""
    dc_solutions = [s for s in fit.solutions if isinstance(s, DCSolution)]
    if not dc_solutions:
        return {}
    scales = np.broadcast_to(fit.recipe.objective_scale, len(dc_solutions))
    objectives = [s.start_objectives for s in dc_solutions]
    return {
        "subproblem_gap_": single([s.subproblem_gap for s in dc_solutions]),
        "start_objectives_": single(scales[:, None] * objectives),
    }
