"""Stability selection: how often kernels are chosen on halves of the samples."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from multikernel._typing import Array, Indices
from multikernel._validation import Number, check_parameter, printable
from multikernel.inspection.pipelines import last_step, refitted_steps
from multikernel.inspection.resampling import halves, refit

THRESHOLD = Number(0.5, 1.0, above=True)


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    r"""How often every kernel was chosen on halves of the samples.

    Parameters
    ----------
    kernel_names : tuple of str
        Names of all kernels.
    selections : ndarray of bool of shape (n_resamples, n_kernels)
        Which kernels every fit has chosen; two fits in a row are on complementary
        halves.
    active_kernels : ndarray of shape (n_active,)
        Kernels of the model on all samples.
    threshold : float
        Share of the fits from which on a kernel counts as stable.

    See Also
    --------
    stability_selection : Makes it.
    multikernel.display.StabilityDisplay : Draws it.
    """

    kernel_names: tuple[str, ...]
    selections: NDArray[np.bool_]
    active_kernels: Indices
    threshold: float

    def __repr__(self) -> str:
        """Return what came out: arrays of hundreds of halves say nothing to readers."""
        stable, (n_fits, n_kernels) = self.stable_kernels, self.selections.shape
        head = (
            f"{stable.size} of {n_kernels} kernels chosen by {self.threshold:.0%} or "
            f"more of {n_fits} fits on halves; {self.verdict}"
        )
        frequencies = self.frequencies
        lines = [f"{frequencies[m]:7.2f}  {self.kernel_names[m]}" for m in stable]
        return printable("\n".join([head, *lines]))

    @property
    def frequencies(self) -> Array:
        """Return the share of the fits that chose each kernel, (n_kernels,)."""
        return np.asarray(self.selections.mean(axis=0))

    @property
    def n_selected(self) -> float:
        """Return how many kernels a fit on a half chose on average."""
        return float(self.selections.sum(axis=1).mean())

    @property
    def stable_kernels(self) -> Indices:
        """Return the kernels that pass the threshold, the most frequent first."""
        frequencies = self.frequencies
        order = np.argsort(-frequencies, kind="stable")
        return order[frequencies[order] >= self.threshold]

    @property
    def expected_false(self) -> float:
        r"""Return a bound on the expected number of kernels that pass by chance.

        With q = `n_selected` of M kernels chosen on a half, and threshold t, at most

        .. math:: \frac{q^2}{(2 t - 1) M}

        of the kernels pass, in expectation, whose probability of being chosen on a
        half is at most q / M, as a kernel drawn at random has. It is Shah and
        Samworth's bound of [1]_, theorem 1, for complementary pairs; nothing is
        assumed of the method or of the kernels. The q of the formula is an
        expectation, which the average estimates.
        """
        n_kernels = len(self.kernel_names)
        return self.n_selected**2 / ((2.0 * self.threshold - 1.0) * n_kernels)

    @property
    def proves(self) -> bool:
        """Return whether more kernels pass than `expected_false` says pass by chance.

        Otherwise the bound allows that all of them do.
        """
        return self.expected_false < self.stable_kernels.size

    @property
    def verdict(self) -> str:
        """Return what the bound says of the kernels that pass, as a part of a sentence.

        Where it says nothing, what to change: a higher threshold, or a stronger
        regularization, which lowers q.
        """
        bound = f"by chance {self.expected_false:.2g} at most, in expectation"
        if self.proves or not self.stable_kernels.size:
            return bound
        return f"{bound}: as many, which proves nothing; raise the threshold, or alpha"

    def group_frequencies(self, groups: Any) -> dict[Any, float]:
        """Return the share of the fits that chose any kernel of a group.

        Parameters
        ----------
        groups : sequence of length n_kernels
            The group of every kernel, for example its view.

        Returns
        -------
        frequencies : dict
            From the groups, in the order of their first kernels.

        Raises
        ------
        ValueError
            If groups and kernels differ in number.
        """
        labels = list(groups)
        if len(labels) != len(self.kernel_names):
            raise ValueError(
                f"groups must have one label for each of the {len(self.kernel_names)} "
                f"kernels, got {len(labels)}."
            )
        frequencies = {}
        for group in dict.fromkeys(labels):
            members = [m for m, label in enumerate(labels) if label == group]
            frequencies[group] = float(self.selections[:, members].any(axis=1).mean())
        return frequencies


def stability_selection(
    estimator: Any,
    X: Any,
    y: Any,
    n_resamples: int = 100,
    *,
    threshold: float = 0.75,
    sample_weight: Any = None,
    groups: Any = None,
    offset: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Stability:
    r"""Fit a model on halves of the samples, and count which kernels it chooses.

    A kernel that is chosen on most halves does not owe its place to a few samples.
    The halves come in complementary pairs [1]_, which gives a bound on the number of
    kernels that pass the threshold by chance: `Stability.expected_false`. Of two
    classes and more, every half holds its share.

    Kernels are computed once for all halves, which are cut from them as the folds of
    a search are; every kernel is normalised by the half alone. Fits start from the
    model on all samples.

    Parameters
    ----------
    estimator : estimator
        A multiple kernel model with fixed parameters, or a pipeline that ends in one,
        whose other steps are fitted on all samples. It is neither fitted nor changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Training data, as in ``fit``.
    y : array-like of shape (n_samples,)
        Targets.
    n_resamples : int, default=100
        Number of halves, even.
    threshold : float, default=0.75
        Share of the halves from which on a kernel counts as stable, above 0.5.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, as in ``fit``; samples keep theirs in a half.
    groups : array-like of shape (n_samples,), default=None
        A label for each sample, such as its patient. A group is in one half
        of a pair then, and halves have equal numbers of groups.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Known parts of the decision values, as in ``fit``.
    n_jobs : int, default=None
        Halves that are solved at a time, on threads that share the kernels; -1 for
        as many as there are cores.
    random_state : int, RandomState or None, default=None
        Draws the halves.

    Raises
    ------
    TypeError
        If the estimator is none whose kernels could be counted.
    ValueError
        If a parameter or the data are wrong.

    Warns
    -----
    ConvergenceWarning
        If fits stopped above the tolerance; the message says how many.

    References
    ----------
    .. [1] Shah, Samworth (2013). Variable selection with error control: another look
       at stability selection. Journal of the Royal Statistical Society B 75, 55-80.

    Examples
    --------
    >>> from multikernel.datasets import make_additive_regression
    >>> from multikernel.estimators import SpicyMKLRegressor
    >>> from multikernel.inspection import stability_selection
    >>> from multikernel.kernels import GaussianKernel, ParameterGrid
    >>> X, y = make_additive_regression(80, random_state=0)
    >>> kernels = ParameterGrid([GaussianKernel(0.5)], range(10))
    >>> model = SpicyMKLRegressor(kernels, alpha=0.2)
    >>> found = stability_selection(model, X, y, 20, random_state=0)
    >>> [found.kernel_names[m] for m in found.stable_kernels]
    ['gaussian(sigma=0.5)[x0]', 'gaussian(sigma=0.5)[x2]']
    """
    owner = "stability_selection"
    check_parameter(owner, "threshold", threshold, THRESHOLD)
    check_parameter(owner, "n_resamples", n_resamples, Number(2, integer=True))
    if n_resamples % 2:
        raise ValueError(
            f"{owner}: n_resamples must be even, as halves come in pairs, got "
            f"{n_resamples}."
        )
    before, model = last_step(estimator)
    X, named = refitted_steps(before, X, y)
    draw = partial(halves, int(n_resamples), check_random_state(random_state))
    data = X, y, sample_weight, groups, offset
    refits = refit(owner, model, data, draw, ("active_kernels_",), n_jobs)
    selections = np.zeros((n_resamples, refits.names.n_kernels), dtype=bool)
    for selection, attributes in zip(selections, refits.found, strict=True):
        selection[attributes["active_kernels_"]] = True
    active = refits.whole["active_kernels_"]
    return Stability(
        named(refits.names).everything, selections, active, float(threshold)
    )
