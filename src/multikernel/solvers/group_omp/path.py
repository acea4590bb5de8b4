"""The path of a greedy selection: kernels in order, and the model after each one."""

from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import evaluate, evaluate_terms
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.gram.base import GramStack
from multikernel.problem import Problem, Progress, Solution, Status
from multikernel.solvers.group_omp.refit import REFIT_GAP


@dataclass(frozen=True, eq=False)
class GreedyPath:
    """Path of Group-OMP, which has a model for each prefix of the selection.

    `order`, (n_selected,), has the kernels in the order of selection, and
    `improvements` the I_j of `GroupOMP` at that time; for the squared loss the
    objective decreases by at least as much. Row k of `objectives`, (n_selected + 1,),
    `intercepts`, (n_selected + 1, n_outputs), and `coefs`, (n_selected + 1, n_samples[,
    n_outputs]), belongs to the model with k kernels: f_m = K_m coefs[k] for each of the
    k kernels, and alpha coefs[k] is the dual point.
    """

    problem: Problem
    order: Indices
    improvements: Array
    objectives: Array
    coefs: Array
    intercepts: Array
    status: Status
    history: tuple[Progress, ...] = ()

    def __len__(self) -> int:
        return self.order.size

    def prefix(self, n_kernels: int) -> "GreedyPath":
        """Return the start of the path, up to the model with `n_kernels` kernels."""
        k = self._checked(n_kernels)
        return replace(
            self,
            order=self.order[:k],
            improvements=self.improvements[:k],
            objectives=self.objectives[: k + 1],
            coefs=self.coefs[: k + 1],
            intercepts=self.intercepts[: k + 1],
            status=self.status if k == len(self) else Status.SELECTED,
            history=self.history[: k + 1],
        )

    def _checked(self, n_kernels: int) -> int:
        """Return `n_kernels`; raise if no model of the path has that many kernels."""
        if not 0 <= n_kernels <= len(self):
            raise ValueError(
                f"n_kernels must be between 0 and {len(self)}, the number of selected "
                f"kernels, got {n_kernels}."
            )
        return n_kernels

    def solution(self, n_kernels: int | None = None) -> Solution:
        """Return the model with the first `n_kernels` selected kernels, by default all.

        Every selected kernel has weight one, and the objective is evaluated from the
        terms, with a warning if it differs from that of the refit. `duality_gap` is
        nan, because the choice of kernels is greedy.
        """
        k = len(self) if n_kernels is None else self._checked(n_kernels)
        gram, active = self.problem.gram, np.sort(self.order[:k])
        weights, norms = np.zeros(gram.shape[0]), np.zeros(gram.shape[0])
        weights[active] = 1.0
        # Refits use the sum of the kernels, but the returned model has one term for
        # each kernel, whose norm is required.
        terms = evaluate_terms(gram, active, self.coefs[k][None], np.ones(k))
        norms[active] = terms.norms
        b = self.intercepts[k] - self.problem.offset
        objective = evaluate(self.problem, active, terms, b).objective
        _warn_if_objectives_differ(k, objective, float(self.objectives[k]))
        # Evaluating the norms of the terms also requires products with the kernels.
        passes = self.coefs[k].size // gram.shape[1] * k / gram.shape[0]
        last = [
            replace(line, objective=objective, passes=line.passes + passes)
            for line in self.history[k : k + 1]
        ]
        return Solution(
            kernel_weights=weights,
            norms=norms,
            active=active,
            coefs=np.repeat(self.coefs[k][None], k, axis=0),
            intercept=self.intercepts[k],
            dual=self.problem.regularizer.alpha * self.coefs[k],
            objective=objective,
            duality_gap=np.nan,
            n_iter=k,
            status=self.status,
            history=(*self.history[:k], *last),
        )

    def decision_values(self, gram: GramStack) -> Array:
        """Return the decision values of every model on other samples.

        `gram` has the kernels between new samples (rows) and training samples
        (columns); only the selected kernels are read, each once. Row k of the result,
        (n_selected + 1, n_rows[, n_outputs]), is for the model with k kernels.
        """
        n_rows, n_outputs = gram.shape[1], self.coefs.shape[2:]
        shape = (len(self) + 1, n_rows, *n_outputs)
        f = np.zeros(shape)
        for position, kernel in enumerate(self.order):
            # All models after this selection contain the kernel, each with its own
            # coefficients.
            later = np.moveaxis(self.coefs[position + 1 :], 0, 1)
            columns = later.reshape(later.shape[0], -1)
            images = gram.take(np.array([kernel])).matvec(columns)[0]
            images = images.reshape(n_rows, *later.shape[1:])
            f[position + 1 :] += np.moveaxis(images, 1, 0)
        intercepts = self.intercepts if n_outputs else self.intercepts[:, 0]
        return np.asarray(f + np.expand_dims(intercepts, 1))


def _warn_if_objectives_differ(k: int, objective: float, refitted: float) -> None:
    """Warn if a model's objective differs from the value that its refit computed."""
    difference = abs(objective - refitted)
    if difference > REFIT_GAP * max(abs(objective), abs(refitted)):
        warn_user(
            f"The model of {k} kernels has an objective of {objective:.6g}, but the "
            f"fit of its coefficients computed {refitted:.6g}: the kernels are not "
            "precise enough for this alpha. Increase alpha, scale the kernels to "
            "comparable size, or use double precision.",
            ConvergenceWarning,
        )
