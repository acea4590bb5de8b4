"""Permutation tests: permutations within groups or of whole groups, and p-values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from multikernel._typing import Array, Indices
from multikernel._validation import printable
from multikernel.certificates import scores
from multikernel.estimators.publish.summary import data_frame, view_members
from multikernel.estimators.read.targets import check_groups
from multikernel.gram import GramStack

OWNER = "kernel_tests"


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTests:
    """Score statistics of the listed kernels, and p-values from permuted residuals."""

    kernel_index: Indices  # indices of the listed kernels, ascending
    statistics: Array  # score statistics, summed over outputs
    permutation_p: Array  # the data in their own order count as one permutation
    # Share of permutations in which the largest statistic of all kernels (standardized,
    # if all kernels are tested) is at least the kernel's own; bounds the probability of
    # any false discovery.
    family_wise_p: Array
    # One alpha for each permutation, above which no kernel is active; ascending.
    strengths: Array
    # By view: the p-value and the family-wise p-value of the largest standardized
    # statistic of the view's kernels.
    view_p: Mapping[str, tuple[float, float]]
    varies: NDArray[np.bool_]  # whether permutations change the statistic


@dataclass(frozen=True, eq=False, repr=False)
class KernelTests(PermutationTests):
    """Score statistics and p-values of kernels, as returned by `kernel_tests`.

    Arrays of shape (n_tested,) have one entry for each listed kernel: all kernels, or
    above a million kernels those with the largest statistics. `p_values` are analytic,
    NaN if not available; `q_values` are false discovery rates (Benjamini and Hochberg).
    """

    kernel_names: tuple[str, ...]
    p_values: Array
    q_values: Array
    views: tuple[str, ...] | None
    n_kernels: int

    def __repr__(self) -> str:
        best = self._order[:10]
        lines = [f"{self.family_wise_p[m]:8.3g}  {self.kernel_names[m]}" for m in best]
        n_draws = self.strengths.size
        title = f"Family-wise p of {self.n_kernels} kernels by {n_draws} permutations:"
        return printable("\n".join([title, *lines]))

    def summary(self, by: str = "kernel") -> Any:
        """Return the tests as a pandas data frame, sorted by p-value.

        The columns are ``kernel``, ``view`` if there are views, ``statistic``, ``p``
        (analytic), ``p_permutation``, ``p_family`` (family-wise) and ``q``. With
        ``by="view"``, they are ``view``, ``p_permutation`` and ``p_family``; without
        views, this raises a ``ValueError``.
        """
        if by == "view" and self.views is not None:
            views = sorted(self.view_p, key=lambda view: self.view_p[view][::-1])
            own_p, family_p = np.array([self.view_p[view] for view in views]).T.tolist()
            columns = {"view": [*views], "p_permutation": own_p, "p_family": family_p}
            return data_frame(columns)
        if by != "kernel":
            raise ValueError(
                "KernelTests.summary: by must be 'kernel', or 'view' if the tested "
                f"kernels are in views, got {by!r}: use by='kernel'."
            )
        values: dict[str, Sequence[str] | Array] = {
            "kernel": self.kernel_names,
            **({} if self.views is None else {"view": self.views}),
            "statistic": self.statistics,
            "p": self.p_values,
            "p_permutation": self.permutation_p,
            "p_family": self.family_wise_p,
            "q": self.q_values,
        }
        return data_frame({k: [v[m] for m in self._order] for k, v in values.items()})

    @property
    def _order(self) -> Indices:
        """Indices of the listed kernels, sorted by p-value."""
        keys = [self.p_values, self.permutation_p, self.family_wise_p]
        return np.lexsort(keys)


Draw = Callable[[int, np.random.RandomState], Iterator[Indices]]
"""Function ``draw(n, random_state)`` that yields n permutations of the samples."""

LISTED = 1000
"""Maximum number of listed kernels if there are too many to test all."""

# A larger margin would only list more kernels.
MARGIN = 1e-6
"""Relative rounding error allowed between two computations of a statistic."""


def permutations_of(groups: object, permute: str, n_samples: int) -> Draw:
    """Return a function that permutes samples within groups, or whole groups."""
    # `scores.permutations` gets sets of samples, and permutes each set separately.
    if groups is None:
        if permute == "groups":
            raise ValueError(
                f"{OWNER}: permute='groups' requires groups, got groups=None: pass one "
                "label for each sample."
            )
        return partial(scores.permutations, [np.arange(n_samples)])
    labels = check_groups(groups, n_samples)
    if permute == "within":
        return partial(scores.permutations, scores.members(labels))
    # For each group size, an array whose rows are the samples of the groups.
    blocks = scores.groups_of_equal_size(labels)
    if sum(map(len, blocks)) == 1:
        raise ValueError(
            f"{OWNER}: permute='groups' requires at least two groups, but groups "
            "contains one: pass labels of at least two groups, or use permute='within'."
        )
    if all(len(groups) == 1 for groups in blocks):
        raise ValueError(
            f"{OWNER}: permute='groups' exchanges groups of equal size, but no two of "
            f"the {len(blocks)} groups have the same size: pass one row per group, "
            "such as the mean of its rows, or use permute='within'."
        )
    return partial(scores.permutations, blocks)


def _exceedance(draws: Array, values: Array) -> Array:
    """Return, for each value, the share of `draws` that are at least as large."""
    n_smaller = np.searchsorted(np.sort(draws), values)
    return np.asarray((draws.size - n_smaller) / draws.size)


def tests_of_all(
    stack: GramStack, draws: Array, views: Sequence[str] | None
) -> PermutationTests:
    """Return the tests of all kernels, with standardized statistics."""
    # Draws, shape (n_samples, n_draws, n_outputs), are permuted residuals of the null
    # model. The first draw is not permuted. The statistic of a kernel K for a draw v is
    # the form v^T K v. A p-value is the share of draws whose statistic, standardized if
    # several kernels are compared, reaches the first draw's up to rounding.
    n_kernels, n_draws = stack.shape[0], draws.shape[1]
    members = view_members([""] * n_kernels if views is None else views)
    codes = np.empty(n_kernels, dtype=np.intp)
    for code, kernels in enumerate(members.values()):
        codes[kernels] = code
    # The largest standardized statistic of each view in each draw. Without views, all
    # kernels form one view.
    maxima = np.full((len(members), n_draws), -np.inf)
    largest = np.full(n_draws, -np.inf)
    statistics, own_p, observed, lower = np.empty((4, n_kernels))
    varies = np.empty(n_kernels, dtype=bool)
    rounding = scores.rounding_of_forms(stack, draws)
    for block, forms in scores.blocks_of_forms(stack, draws):
        statistics[block] = forms[:, 0]
        own_p[block] = (forms >= forms[:, :1] - rounding[block, None]).mean(axis=1)
        largest = np.maximum(largest, forms.max(axis=0))
        varies[block], spread = _standardize(forms, rounding[block])
        # The statistics of the first draw, standardized, and minus rounding errors.
        observed[block] = forms[:, 0]
        lower[block] = forms[:, 0] - rounding[block] / spread
        np.maximum.at(maxima, codes[block], forms)
    family_p = _exceedance(maxima.max(axis=0), lower)
    view_p = {}
    for kernels, peaks, view in zip(members.values(), maxima, members, strict=True):
        best = kernels[int(np.argmax(observed[kernels]))]
        p_in_view = float((peaks >= lower[best]).mean())
        view_p[view] = p_in_view, float(family_p[best])
    return PermutationTests(
        np.arange(n_kernels),
        statistics,
        own_p,
        family_p,
        _strengths(largest, draws),
        {} if views is None else view_p,
        varies,
    )


def _strengths(largest: Array, draws: Array) -> Array:
    """Return the smallest alpha without active kernels per permutation, ascending."""
    # `draws` are those of `tests_of_all`. `largest`, (n_draws,), are the largest
    # statistics over all kernels, not standardized; the first is without permutation.
    return np.sort(np.sqrt(largest[1:]) / len(draws))


def _standardize(forms: Array, rounding: Array) -> tuple[NDArray[np.bool_], Array]:
    """Standardize `forms` by row in place; return which rows vary, and deviations."""
    # `forms` has shape (n_kernels, n_draws). Rows that vary by rounding errors only
    # become zero, and their deviation is infinite.
    varies = np.ptp(forms, axis=1) > 2.0 * rounding
    spread = np.where(varies, forms.std(axis=1), np.inf)
    forms -= forms.mean(axis=1, keepdims=True)
    forms /= spread[:, None]
    return varies, spread


def tests_of_largest(stack: GramStack, draws: Array) -> PermutationTests:
    """Return tests of the kernels whose unstandardized statistics are largest."""
    # `draws` are those of `tests_of_all`; the first is not permuted. Each draw has a
    # maximum over all kernels. At most `LISTED` kernels are tested: those with the
    # largest statistics, if they reach the smallest of these maxima. Other kernels have
    # a family-wise p of 1.
    largest = scores.largest_forms_of_draws(stack, draws)
    level = float(np.nextafter((1.0 - MARGIN) * largest.min(), -np.inf))
    kernels, statistics, _ = stack.largest_forms(draws[:, 0], level, LISTED)
    rounding = scores.rounding_of_forms(stack.once(kernels), draws)
    blocks = [
        forms
        for m in kernels.tolist()
        for _, forms in scores.blocks_of_forms(stack.once(np.array([m])), draws)
    ]
    forms, lower = np.concatenate(blocks), statistics - rounding
    return PermutationTests(
        kernels,
        statistics,
        (forms >= lower[:, None]).mean(axis=1),
        _exceedance(largest, lower),
        _strengths(largest, draws),
        {},
        np.ptp(forms, axis=1) > 2.0 * rounding,
    )


def false_discovery(p_values: Array, n_kernels: int) -> Array:
    """Return Benjamini-Hochberg rates of listed kernels; other kernels have p = 1."""
    rates = false_discovery_control(np.clip(p_values, 0.0, 1.0))
    return np.minimum(rates * (n_kernels / p_values.size), 1.0)
