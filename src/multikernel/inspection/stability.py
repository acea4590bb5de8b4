"""Stability selection: selection frequencies on halves of the samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from multikernel._typing import Array, Indices
from multikernel._validation import Number, check_parameter, printable
from multikernel.estimators.publish.summary import view_members
from multikernel.inspection.resampling import halves, refit

THRESHOLD = Number(0.5, 1.0, above=True)


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Selection frequencies of kernels on halves of the samples.

    `stability_selection` returns this object. `selections` has shape (n_resamples,
    n_kernels); consecutive pairs of rows are fits on complementary halves. The
    `active_kernels` are those of the model on all samples. Stable kernels have at least
    the frequency `threshold`.
    """

    kernel_names: tuple[str, ...]
    selections: NDArray[np.bool_]
    active_kernels: Indices
    threshold: float

    def __repr__(self) -> str:
        stable, (n_fits, n_kernels) = self.stable_kernels, self.selections.shape
        title = (
            f"{stable.size} of {n_kernels} kernels chosen by {self.threshold:.0%} or "
            f"more of {n_fits} fits on halves; {self.verdict}"
        )
        frequencies = self.frequencies
        lines = [f"{frequencies[m]:7.2f}  {self.kernel_names[m]}" for m in stable]
        return printable("\n".join([title, *lines]))

    @property
    def frequencies(self) -> Array:
        """Selection frequency of each kernel, shape (n_kernels,)."""
        return np.asarray(self.selections.mean(axis=0))

    @property
    def n_selected(self) -> float:
        """Mean number of kernels selected on one half of the samples."""
        return float(self.selections.sum(axis=1).mean())

    @property
    def stable_kernels(self) -> Indices:
        """Kernels that reach the threshold, by decreasing frequency."""
        frequencies = self.frequencies
        order = np.argsort(-frequencies, kind="stable")
        return order[frequencies[order] >= self.threshold]

    @property
    def expected_false(self) -> float:
        """Bound on the expected number of kernels that pass by chance.

        The bound is q² / ((2 t - 1) M) for M kernels, `n_selected` = q and threshold t,
        and requires no assumptions. A kernel passes by chance if it is stable, although
        its selection probability is at most that of a random choice, q / M.
        """
        # Theorem 1 of Shah and Samworth (2013), with `n_selected` as the estimate of q.
        n_kernels = len(self.kernel_names)
        return self.n_selected**2 / ((2.0 * self.threshold - 1.0) * n_kernels)

    @property
    def proves(self) -> bool:
        """Whether the number of stable kernels is larger than `expected_false`."""
        return self.expected_false < self.stable_kernels.size

    @property
    def verdict(self) -> str:
        """Text about `expected_false`, with advice if this bound proves nothing."""
        bound = f"at most {self.expected_false:.2g} expected by chance"
        if self.proves or not self.stable_kernels.size:
            return bound
        return f"{bound}, so this proves nothing: raise the threshold or alpha"

    def group_frequencies(self, groups: Iterable[str]) -> dict[str, float]:
        """Return the share of fits to halves that selected any kernel of a group.

        `groups` contains the group of every kernel, such as its view. The groups are
        the keys of the result, in the order of their first kernels.
        """
        labels = list(groups)
        if len(labels) != len(self.kernel_names):
            raise ValueError(
                f"groups must have one label for each of the {len(self.kernel_names)} "
                f"kernels, got {len(labels)} labels."
            )
        return {
            group: float(self.selections[:, kernels].any(axis=1).mean())
            for group, kernels in view_members(labels).items()
        }


def stability_selection(
    estimator: BaseEstimator,
    X: object,
    y: ArrayLike,
    n_resamples: int = 100,
    *,
    threshold: float = 0.75,
    sample_weight: ArrayLike | None = None,
    groups: object = None,
    offset: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Stability:
    """Fit a model on halves of the samples, and count the selected kernels.

    The halves form complementary pairs, stratified by class. Such pairs allow a bound
    on the number of kernels selected by chance [1]_ (`Stability.expected_false`).

    Parameters
    ----------
    estimator : estimator
        A multiple kernel model with fixed parameters and a fixed list of kernels, or a
        pipeline that ends in one; not changed. Transformers are fitted to all samples.
    X, y : array-like
        Training data, as in ``fit``.
    n_resamples : int, default=100
        Number of halves, even.
    threshold : float, default=0.75
        Smallest frequency of a stable kernel, above 0.5.
    sample_weight, groups, offset : array-like, default=None
        Weights and offsets are as in ``fit``. `groups` are labels of groups, such as
        patients, that are entirely in one half.
    n_jobs : int or None, default=None
        Number of parallel fits, on threads that share the kernels: None means 1, and -1
        all cores.
    random_state : int, RandomState or None, default=None
        Seed of the halves.

    Returns
    -------
    stability : Stability
        Selection frequency of each kernel, and the stable kernels.

    Warns
    -----
    ConvergenceWarning
        If fits stopped above the tolerance; the message counts them.

    References
    ----------
    .. [1] Shah, Samworth (2013). Variable selection with error control: another look
       at stability selection. Journal of the Royal Statistical Society B 75, 55-80.

    Examples
    --------
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.datasets import make_additive_regression
    >>> from multikernel.inspection import stability_selection
    >>> from multikernel.kernels import GaussianKernel, per_column
    >>> X, y = make_additive_regression(80, random_state=0)
    >>> model = SpicyMKLRegressor(per_column(GaussianKernel(0.5), 10), alpha=0.2)
    >>> stability = stability_selection(model, X, y, 20, random_state=0)
    >>> [stability.kernel_names[m] for m in stability.stable_kernels]
    ['gaussian(sigma=0.5)[x0]', 'gaussian(sigma=0.5)[x2]']
    """
    owner = "stability_selection"
    check_parameter(owner, "threshold", threshold, THRESHOLD)
    check_parameter(owner, "n_resamples", n_resamples, Number(2, integer=True))
    if n_resamples % 2:
        raise ValueError(
            f"{owner}: n_resamples must be even, because halves come in pairs, got "
            f"{n_resamples}."
        )
    draw = partial(halves, int(n_resamples), check_random_state(random_state))
    data = X, y, sample_weight, groups, offset
    refits = refit(owner, estimator, data, draw, ("active_kernels_",), n_jobs)
    selections = np.zeros((n_resamples, refits.names.n_kernels), dtype=bool)
    for selection, active in zip(
        selections, refits.fits["active_kernels_"], strict=True
    ):
        selection[active] = True
    active = refits.full_fit["active_kernels_"]
    return Stability(refits.names.everything, selections, active, float(threshold))
