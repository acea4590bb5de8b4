"""Interactions: products of two centered kernels on different columns."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import (
    FLAG,
    POSITIVE,
    check_parameter,
    check_places,
    check_shapes,
    shown,
)
from multikernel.kernels.base import Kernel, KernelDictionary, kernel_name
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.columns import (
    ColumnKernel,
    Features,
    default_label,
    resolve_indices,
    select_columns,
    selected_indices,
)
from multikernel.kernels.dictionary import ListDictionary, unique_names
from multikernel.kernels.median import distinct_columns
from multikernel.kernels.products import CenteredKernel, ProductKernel, centered
from multikernel.kernels.terms import (
    MANY,
    EveryPair,
    FactorIndices,
    TermWeights,
    paired_mains,
)

SEPARATOR = " × "


@dataclass(frozen=True)
class Interactions:
    """Kernels, and the products of all pairs of them on different columns.

    Products are of kernels centered on the training samples. With the centered kernels
    (main effects) and an intercept, the model is a functional ANOVA decomposition [1]_
    [2]_ with one block norm per term. Products are computed on demand: d (d - 1) / 2
    interactions need d matrices. Constant columns, and copies of other columns up to
    sign, scale and shift, have no interactions; on a column of two values, only one
    kernel has interactions.

    Parameters
    ----------
    kernels : object, default=None
        Kernels to multiply, as `kernels` of estimators: None for the default kernels, a
        list, or a mapping of views. Kernels on all columns have no interactions but
        remain in the dictionary.
    mains : bool, default=True
        Whether to include the kernels themselves.
    between : sequence of columns, or a pair of these, default=None
        Columns whose interactions with each other are included; None for all columns.
        With a pair of sequences, an interaction has one column from each of them.
    weight : float, default=0.15
        Positive factor of normalized interactions; ignored if `mains` is False. An
        interaction has 1 / sqrt(weight) times the block norm of an equally large main
        effect.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    References
    ----------
    .. [1] Wahba, G. (1990). Spline models for observational data, chapter 10. SIAM.
    .. [2] Lin, Y. and Zhang, H. H. (2006). Component selection and smoothing in
       multivariate nonparametric regression. Annals of Statistics 34, 2272-2297.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressor
    >>> from multikernel.kernels import Interactions
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> model = SpicyMKLRegressor(Interactions(), alpha=0.05).fit(X, X[:, 1] * X[:, 4])
    >>> model.summary()["kernel"][0]
    'x1 × x4'
    """

    kernels: object = None
    mains: bool = True
    between: Sequence[object] | None = None
    weight: float = 0.15

    def __post_init__(self) -> None:
        check_parameter("Interactions", "mains", self.mains, FLAG)
        check_parameter("Interactions", "weight", self.weight, POSITIVE)
        if isinstance(self.kernels, Interactions):
            raise ValueError(
                "Interactions: kernels must not be another Interactions: pass the "
                "kernels of that Interactions instead."
            )
        if isinstance(self.kernels, str) and self.kernels == "precomputed":
            raise ValueError(
                "Interactions: kernels must be kernels on columns, got 'precomputed', "
                "but Gram matrices have no columns. Center the matrices, multiply "
                "pairs of centered matrices, and pass matrices and products to "
                "stack_grams, as on the page 'Interactions of columns' of the user "
                "guide."
            )
        if self.between is not None and (
            isinstance(self.between, str) or not hasattr(self.between, "__len__")
        ):
            raise ValueError(
                "Interactions: between must be a sequence of columns, or a pair of "
                f"such sequences, got {shown(self.between)}."
            )


@dataclass(frozen=True, eq=False)
class InteractionDictionary:
    """Main-effect kernels and their products, computed on demand."""

    mains: ListDictionary  # all kernels that are not products
    terms: FactorIndices  # indices of the factors in `mains`; -1: no second factor
    main_views: tuple[str, ...] | None = None  # view of each main-effect kernel
    weight: float = 1.0  # factor that multiplies the normalized products

    def _check_fitted(self) -> None:
        """Raise unless indices and lengths agree, as a loaded file may be damaged."""
        owner, n_mains = "InteractionDictionary", len(self.mains)
        if isinstance(self.terms, EveryPair):
            check_places(owner, "mains", self.terms.alone, n_mains)
            check_places(owner, "mains of pairs", self.terms.members, n_mains)
        else:
            check_shapes(owner, terms=(self.terms, ("n_kernels", 2)))
            check_places(owner, "first mains", self.terms[:, 0], n_mains)
            check_places(owner, "second mains", self.terms[:, 1] + 1, n_mains + 1)
        if self.main_views is not None and len(self.main_views) != n_mains:
            raise ValueError(
                f"{owner}: main_views has {len(self.main_views)} entries for {n_mains} "
                "mains: pass one entry per kernel in mains."
            )

    def __len__(self) -> int:
        return len(self.terms)

    def __getitem__(self, index: int, /) -> Kernel:
        index = range(len(self))[index]
        factors = [self.mains[main] for main in self.factors(index)]
        if len(factors) == 1:
            return factors[0]
        return ProductKernel(factors, self.name(index))

    def factors(self, index: int) -> tuple[int, ...]:
        """Return the indices in `mains` of a kernel's one or two factors."""
        first, second = self.terms[index].tolist()
        return (first,) if second < 0 else (first, second)

    @property
    def has_products(self) -> bool:
        """Return whether any kernel is a product."""
        return paired_mains(self.terms).size > 0

    def scales(self) -> Array | TermWeights:
        """Return the factors that multiply normalized kernels, shape (n_kernels,)."""
        if isinstance(self.terms, EveryPair):
            return TermWeights(self.terms, self.weight)
        return np.where(self.terms[:, 1] < 0, 1.0, self.weight)

    def name(self, index: int) -> str:
        """Return the name of one kernel."""
        factors = self.factors(index)
        if len(factors) == 1:
            return self.mains.name(factors[0])
        return SEPARATOR.join(self._labels[main] for main in factors)

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        """Return names of the mains in products: their columns, or their full names."""
        names = [self.mains.name(m) for m in range(len(self.mains))]
        labels, paired = list(names), paired_mains(self.terms).tolist()
        for m in paired:
            kernel = self.mains[m]
            assert isinstance(kernel, ColumnKernel)
            labels[m] = kernel.label or default_label(kernel.columns)
        # Kernels on the same columns have their full names.
        counts = Counter(labels[m] for m in paired)
        pairs = zip(labels, names, strict=True)
        return tuple(label if counts[label] < 2 else name for label, name in pairs)

    @cached_property
    def views(self) -> tuple[str, ...] | None:
        """Return every kernel's view, "a × b" for products; None without views."""
        views = self.main_views
        if views is None:
            return None
        return tuple(
            SEPARATOR.join(dict.fromkeys(views[main] for main in self.factors(index)))
            for index in range(len(self))
        )


def why_no_product(spec: Interactions) -> str:
    """Return the reason why a dictionary has no product, for messages."""
    reason = "no two kernels are on different columns that vary"
    if spec.between is None:
        return reason
    return f"{reason} and are allowed by between={shown(spec.between)}"


def with_interactions(
    spec: Interactions,
    dictionary: KernelDictionary,
    X: Array,
    sample_weight: Array | None,
    features: Features,
    origins: Sequence[int] | None = None,
) -> InteractionDictionary:
    """Return the kernels of `dictionary` and their products."""
    # The kernels' columns are indices of X, or slices, but not names.
    mains = [dictionary[m] for m in range(len(dictionary))]
    columns = [_kernel_columns(kernel, X.shape[1]) for kernel in mains]
    alone = np.arange(len(mains) if spec.mains else 0)
    # `between` refers to the user's columns (`features`). Column j of X comes from the
    # user's column origins[j], by default j.
    allowed = None
    if spec.between is not None:
        places = origins or range(X.shape[1])
        allowed = _allowed_columns(spec.between, features, places)
    members = _paired_kernels(mains, columns, X, is_default=spec.kernels is None)
    terms = _terms(EveryPair(alone, members), columns, allowed, X.shape[1])
    if not len(terms):
        advice = "" if spec.between is None else "add columns to between, "
        raise ValueError(
            f"Interactions: there is no interaction, because {why_no_product(spec)}: "
            f"pass kernels on single columns, {advice}or pass mains=True."
        )
    for m in paired_mains(terms).tolist():
        mains[m] = _centered(mains[m], X, sample_weight)
    # Centered kernels have the names of the kernels that they center.
    if isinstance(dictionary, ListDictionary):
        names = dictionary.names
    else:
        names = unique_names([kernel_name(kernel) for kernel in mains])
    weight = float(spec.weight) if alone.size else 1.0
    return InteractionDictionary(ListDictionary(mains, names), terms, weight=weight)


def _kernel_columns(kernel: Kernel, n_features: int) -> frozenset[int]:
    """Return the indices of a kernel's columns; empty if it uses all columns."""
    if not isinstance(kernel, ColumnKernel):
        return frozenset()
    indices = frozenset(resolve_indices(kernel.columns, Features(n_features)))
    return frozenset() if len(indices) == n_features else indices


ColumnPair = tuple[frozenset[int], frozenset[int]]
"""Allowed columns of the first and the second factor."""


def _terms(
    terms: EveryPair,
    columns: Sequence[frozenset[int]],
    allowed: ColumnPair | None,
    n_features: int,
) -> FactorIndices:
    """Return the kernels and pairs in `terms` whose columns allow a product."""
    paired_sets = [columns[m] for m in terms.members.tolist()]
    is_disjoint = sum(map(len, paired_sets)) == len(frozenset().union(*paired_sets))
    if is_disjoint and allowed is None:
        return terms if len(terms) > MANY else terms.whole
    all_columns = frozenset(range(n_features))
    left, right = allowed or (all_columns, all_columns)
    pairs = [
        not columns[a] & columns[b]
        and any(columns[p] <= left and columns[q] <= right for p, q in ((a, b), (b, a)))
        for a, b in terms.whole[terms.alone.size :].tolist()
    ]
    is_allowed = np.array([True] * terms.alone.size + pairs, dtype=bool)
    return np.asarray(terms.whole[is_allowed])


def _paired_kernels(
    kernels: Sequence[Kernel],
    columns: Sequence[frozenset[int]],
    X: Array,
    *,
    is_default: bool,
) -> Indices:
    """Return the indices of the kernels that `Interactions` multiplies."""
    is_incomplete = np.isnan(X).any(axis=0)
    complete = np.flatnonzero(~is_incomplete)
    varying = complete[distinct_columns(X[:, complete])]
    distinct = {*np.flatnonzero(is_incomplete).tolist(), *varying.tolist()}
    is_extreme = (X.min(axis=0) == X) | (X.max(axis=0) == X)
    two_valued = set(np.flatnonzero(is_extreme.all(axis=0)).tolist())
    paired, seen = list[int](), set[frozenset[int]]()
    for m, (kernel, indices) in enumerate(zip(kernels, columns, strict=True)):
        # All kernels on a column of two values are equal after centering, so one
        # suffices. Default category kernels on columns of integers have no
        # interactions, because the Gaussian kernels on these columns have them.
        inner = getattr(kernel, "kernel", kernel)
        is_category = is_default and isinstance(inner, CategoryKernel)
        is_single = len(indices) == 1
        is_equal = is_category or (is_single and indices <= two_valued)
        is_copy = is_equal and indices in seen
        # Default kernels on several columns have no interactions.
        if indices & distinct and not is_copy and (is_single or not is_default):
            paired.append(m)
        seen.add(indices)
    return np.array(paired, dtype=np.intp)


def _allowed_columns(
    between: Sequence[object], features: Features, origins: Sequence[int]
) -> ColumnPair:
    """Return the columns allowed for the two factors."""
    groups = list(between)
    nested = [
        isinstance(g, slice) or (not isinstance(g, str) and hasattr(g, "__len__"))
        for g in groups
    ]
    pair = groups if len(groups) == 2 and all(nested) else [between, between]
    try:
        left, right = (set(selected_indices(group, features)) for group in pair)
    except ValueError as error:
        raise ValueError(f"Interactions, between: {error}") from error
    positions = list(enumerate(origins))
    return (
        frozenset(j for j, column in positions if column in left),
        frozenset(j for j, column in positions if column in right),
    )


def mains_of(dictionary: KernelDictionary) -> KernelDictionary:
    """Return the main-effect kernels of a dictionary, which may have no products."""
    if isinstance(dictionary, InteractionDictionary):
        return dictionary.mains
    return dictionary


def _centered(kernel: Kernel, X: Array, sample_weight: Array | None) -> Kernel:
    """Return a column kernel centered on the samples."""
    assert isinstance(kernel, ColumnKernel)
    if isinstance(kernel.kernel, CenteredKernel):
        return kernel
    columns = select_columns(X, kernel.columns)
    return replace(kernel, kernel=centered(kernel.kernel, columns, sample_weight))
