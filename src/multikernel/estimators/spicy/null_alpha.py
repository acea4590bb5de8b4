"""A rule for alpha: kernels rarely enter the model if targets are noise."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from multikernel._typing import Indices
from multikernel._validation import COUNT, NOTHING, AnyOf, Number, check_parameter
from multikernel.certificates.scores import (
    largest_forms_of_draws,
    null_model,
    permutations,
    rank_of_level,
    standardized_targets,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.read.samples import Samples
from multikernel.kernels.terms import MANY
from multikernel.losses.base import Loss, is_shift_equivariant, is_smooth

PERMUTATIONS = 199
"""Default number of permutations for at most a million kernels."""

FEW_PERMUTATIONS = 19
"""Number of permutations for the default alpha if there are many interactions."""


@dataclass(frozen=True)
class NullAlpha:
    """The strength at which kernels enter with a small probability if y is noise.

    Pass it as ``alpha`` of `SpicyMKLClassifier` or `SpicyMKLRegressor`. The strength is
    the quantile universal threshold of [1]_, computed from permuted residuals of the
    model without kernels. It is larger than necessary if y is not only noise.

    Parameters
    ----------
    level : float, default=0.05
        Probability that at least one kernel is active if y is noise, in (0, 1].
    n_permutations : int, default=None
        Number of permutations, at least ``1 / level - 1``. None means 199, or this
        minimum if it is larger; above one million kernels, the minimum.
    random_state : int, RandomState or None, default=0
        Seed of the permutations; None draws different permutations in every fit.

    Raises
    ------
    ValueError
        If a parameter is invalid, or `n_permutations` is too small for the level.

    References
    ----------
    .. [1] Giacobino, Sardy, Diaz-Rodriguez, Hengartner (2017). Quantile universal
       threshold. Electronic Journal of Statistics 11. doi:10.1214/17-EJS1366

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.estimators import NullAlpha
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = X[:, 1] + np.sin(2 * X[:, 3])
    >>> views = {name: column for column, name in enumerate("abcde")}
    >>> model = SpicyMKLRegressor(views, alpha=NullAlpha(level=0.01)).fit(X, y)
    >>> sorted({model.kernel_views_[m] for m in model.active_kernels_})
    ['b', 'd']
    """

    level: float = 0.05
    n_permutations: int | None = None
    random_state: int | np.random.RandomState | None = 0

    def __post_init__(self) -> None:
        level = Number(0.0, 1.0, above=True)
        check_parameter("NullAlpha", "level", self.level, level)
        n = self.n_permutations
        check_parameter("NullAlpha", "n_permutations", n, AnyOf((COUNT, NOTHING)))
        if n is not None and rank_of_level(self.level, n) > n:
            raise ValueError(
                f"NullAlpha: n_permutations={n} is too small for level={self.level:g}: "
                f"use at least {self._fewest}."
            )

    @property
    def _fewest(self) -> int:
        return max(1, int(np.ceil(1.0 / self.level)) - 1)

    def number_on(self, n_kernels: int) -> int:
        """Return the number of permutations for `n_kernels` kernels."""
        if self.n_permutations is not None:
            return self.n_permutations
        return self._fewest if n_kernels > MANY else max(PERMUTATIONS, self._fewest)

    def on(self, data: Training, loss: Loss) -> float:
        """Return the alpha of this rule, for targets of standard deviation one."""
        samples = data.samples
        problem = why_not_permuted(data, loss)
        if problem is not None or not is_smooth(loss):
            raise ValueError(
                f"{data.source.owner}: alpha='null' requires a smooth loss, "
                f"fit_intercept=True, and samples without weights, got {problem}: "
                "pass a number as alpha, or choose alpha by a search."
            )
        rows = _sample_of_row(samples)
        targets = samples.targets.T[rows]
        offset = None if samples.offset is None else samples.offset[rows]
        if offset is not None and is_shift_equivariant(loss):
            targets, offset = targets - offset, None
        columns = None if data.design is None else data.design(data.X)[rows]
        model = null_model(loss, standardized_targets(loss, targets), columns, offset)
        rng = check_random_state(self.random_state)
        n_permutations = self.number_on(data.stack.shape[0])
        orders = permutations([np.arange(len(targets))], n_permutations, rng)
        draws = model.permuted(list(orders))
        if rows.size > samples.labels.shape[0]:
            # Equal rows are merged into one sample, whose residual is their sum.
            sums = np.zeros((samples.labels.shape[0], *draws.shape[1:]))
            np.add.at(sums, rows, draws)
            draws = sums
        # If outputs share a selection, a kernel enters by its norm over all outputs;
        # otherwise it may enter in any output.
        groups = [draws] if samples.shared else np.split(draws, draws.shape[2], axis=2)
        forms = [largest_forms_of_draws(data.stack, group) for group in groups]
        norms = np.sqrt(np.max(forms, axis=0))
        rank = rank_of_level(self.level, n_permutations)
        return float(np.sort(norms)[rank - 1]) / len(targets)


def why_not_permuted(data: Training, loss: Loss) -> str | None:
    """Return why permuted residuals cannot simulate noise; None if they can."""
    # Permutations require a smooth loss, an intercept, and equal weights of all rows.
    samples = data.samples
    weights, copies = samples.weights, samples.copies
    if weights is not None and copies is not None and samples.class_weight is None:
        weights = weights[copies.owners] * copies.shares
        weights = None if np.allclose(weights, 1.0) else weights
    if not is_smooth(loss):
        return "a loss that is not smooth"
    if weights is not None:
        return "sample_weight or class_weight"
    return None if data.source.fit_intercept else "fit_intercept=False"


def _sample_of_row(samples: Samples) -> Indices:
    """Return the sample into which each row of the input is merged."""
    copies = samples.copies
    if samples.weights is None or copies is None:
        return np.arange(samples.labels.shape[0])
    return copies.owners[np.argsort(copies.rows)]
