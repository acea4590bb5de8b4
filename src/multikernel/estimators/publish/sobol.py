"""Sobol indices: effects of columns alone and in interactions; exact or estimated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import printable
from multikernel.estimators.publish.columns import (
    kernels_in_use,
    table_column_order,
    term_names,
)
from multikernel.estimators.publish.fitted import (
    FittedEstimator,
    additive_model,
    single,
)
from multikernel.kernels import CategoryKernel, ColumnKernel, Kernel, kernel_name
from multikernel.kernels.columns import Columns, Features, resolve_indices
from multikernel.kernels.products import CenteredKernel, factors_of
from multikernel.linalg.tables import equal_shares, evenly_spaced

# With 2000 values x in 32 bins, variances of sin(2 x) and x² are right to 0.9 %.
BINS = 32
"""Number of bins of a column; two values per bin preserve its mean and variance."""


@dataclass(frozen=True, eq=False, repr=False)
class SobolIndices:
    """Shares of a model's variance by columns, computed as if columns were independent.

    A group is one column, or the columns of a view. `first_order` has the share of each
    group alone, and `total` the sum of this share and those of all interactions with
    the group; both have shape ([n_outputs, ]n_groups). `interactions` has the share of
    each pair of groups that interact, ([n_outputs, ]n_interactions); the values of
    `first_order` and `interactions` sum to one. If a kernel on many columns is active,
    `estimated` is True: all shares are estimated by random draws, and `interactions` is
    empty.
    """

    names: tuple[str, ...]
    first_order: Array
    total: Array
    interaction_names: tuple[str, ...]
    interactions: Array
    output_names: tuple[str, ...] = ()
    estimated: bool = False

    def __repr__(self) -> str:
        # Show the largest indices, averaged over outputs.
        indices = np.atleast_2d(self.first_order, self.total, self.interactions)
        first, total, pairs = (values.mean(axis=0) for values in indices)
        column_lines = [
            f"{first[k]:7.3f} {total[k]:7.3f}  {self.names[k]}"
            for k in np.argsort(-total, kind="stable")[:10]
        ]
        pair_lines = [
            f"{pairs[k]:7.3f}          {self.interaction_names[k]}"
            for k in np.argsort(-pairs, kind="stable")[:10]
        ]
        header = "  first   total" + "  (estimates)" * self.estimated
        return printable("\n".join([header, *column_lines, *pair_lines]))


@dataclass(frozen=True, eq=False)
class Group:
    """Columns that form one group, and their positions in a model's table."""

    columns: tuple[int, ...]  # positions in the data
    places: tuple[int, ...]  # positions in the table
    # Functions of the group are evaluated at `rows`, (n_rows, n_columns), whose
    # `weights` sum to one.
    rows: Array
    weights: Array


def sobol_of(
    model: FittedEstimator, X: Array, sample_weight: Array | None, names: Sequence[str]
) -> SobolIndices:
    """Return the Sobol indices of a fitted model over the columns of a table."""
    # `X` contains samples in the form of the model's table; `names` are those of all
    # columns of the data. A unit is the set of columns that a factor of a kernel uses.
    kernels = kernels_in_use(model, "Sobol indices")
    kernel_units = [[_columns(f, X.shape[1]) for f in factors_of(k)] for k in kernels]
    weights = equal_shares(len(X), sample_weight)
    units = {unit for its_units in kernel_units for unit in its_units}
    # The unpenalized part of a column belongs to the group that contains this column.
    free_columns = {place for _, place in _unpenalized(model)}
    units |= {(place,) for place in free_columns.difference(*units)}
    columns = sorted(set().union(*units))
    overlap = sum(map(len, units)) > len(columns)
    reads_all = len(units) == 1 and len(columns) > 1
    if overlap or reads_all or any(len(its_units) > 2 for its_units in kernel_units):
        # Sort the samples, so that draws do not depend on their order.
        order = np.lexsort(X[:, columns].T)
        return _sobol_by_draws(model, X[order], weights[order], columns, names)
    groups = [_group(model, kernels, unit, X, weights) for unit in sorted(units)]
    group_of_unit = {group.places: g for g, group in enumerate(groups)}
    terms: dict[tuple[int, ...], list[int]] = {}
    for position, units_of_term in enumerate(kernel_units):
        group_indices = tuple(sorted({group_of_unit[unit] for unit in units_of_term}))
        terms.setdefault(group_indices, []).append(position)
    return _exact_indices(model, groups, _variances(model, groups, terms, X), names)


def training_table(model: FittedEstimator) -> tuple[Array, Array]:
    """Return the samples that kernels store for centering, and their weights."""
    active = kernels_in_use(model, "Sobol indices")
    # Inactive main kernels also store the samples of their columns.
    mains = getattr(model._state.names.dictionary, "mains", None) or active
    columns: dict[int, Array] = {}
    weights = np.ones(1)
    for factor in chain.from_iterable(map(factors_of, mains)):
        inner = getattr(factor, "kernel", None)
        if isinstance(inner, CenteredKernel) and inner.samples is not None:
            weights = equal_shares(len(inner.samples), inner.weights)
            # A kernel on packed sequences reads a slice of columns without a stop. It
            # read the first `n_read` of these columns, so resolve the slice in a table
            # that is wide enough, and keep as many.
            n_read = inner.samples.shape[1]
            its_columns = _columns(factor, model.n_features_in_ * (n_read + 1))[:n_read]
            columns |= dict(zip(its_columns, inner.samples.T, strict=True))
    width = max(model.n_features_in_, 1 + max(columns, default=0))
    factors = chain.from_iterable(map(factors_of, active))
    needed = [(kernel_name(factor), {*_columns(factor, width)}) for factor in factors]
    needed += [(repr(name), {place}) for name, place in _unpenalized(model)]
    for name, needed_columns in needed:
        if not columns.keys() >= needed_columns:
            raise ValueError(
                "Sobol indices require the distribution of the columns, but the model "
                f"does not store the training values for {name}: call "
                "multikernel.inspection.sobol_indices(model, X), or fit a model with "
                "Interactions, which stores the values for its kernels."
            )
    # The table contains the columns that these kernels use, and nan elsewhere.
    table = np.full((len(weights), width), np.nan)
    for column, values in columns.items():
        table[:, column] = values
    return table, weights


def _unpenalized(model: FittedEstimator) -> list[tuple[str, int]]:
    """Return the name and the position in the table of each unpenalized column."""
    design = additive_model(model).design
    if design is None:
        return []
    return list(zip(design.names, design.places.tolist(), strict=True))


def _unpenalized_part(model: FittedEstimator, group: Group, X: Array) -> Array:
    """Return the sum of a group's unpenalized columns, (n_rows, n_outputs)."""
    fitted = additive_model(model)
    if fitted.design is None or fitted.effects is None:
        return np.zeros((len(group.rows), fitted.n_outputs))
    table = np.repeat(X[:1], len(group.rows), axis=0)
    table[:, list(group.places)] = group.rows
    chosen = np.flatnonzero(np.isin(fitted.design.places, group.places))
    return np.asarray(fitted.design.part(chosen)(table) @ fitted.effects[chosen])


def _columns(kernel: Kernel, n_columns: int) -> tuple[int, ...]:
    """Return the columns of a model's table that a kernel uses."""
    columns: Columns = slice(None)
    if isinstance(kernel, ColumnKernel):
        columns = kernel.columns
    return resolve_indices(columns, Features(n_columns))


def _sobol_by_draws(
    model: FittedEstimator,
    X: Array,
    weights: Array,
    columns: Sequence[int],
    names: Sequence[str],
) -> SobolIndices:
    """Return Sobol indices of a table's columns, estimated by random draws."""
    # `columns` are positions in the table, and `names` those of the data's columns. A
    # unit is a column, or all positions of one sequence. With one output, `single`
    # removes the axis of outputs.
    order = table_column_order(model)
    n_sequences = len(getattr(model, "sequence_features_", ()))
    n_numbers = len(order) - n_sequences
    units: dict[int, list[int]] = {}
    for column in columns:
        # Numeric columns come first. The positions of all sequences follow interleaved:
        # the first position of every sequence column, then the second, and so on.
        after = column - n_numbers
        index = column if after < 0 else n_numbers + after % n_sequences
        units.setdefault(index, []).append(column)
    main, total = estimated_indices(
        additive_model(model).decision_values,
        X,
        weights,
        list(units.values()),
        np.random.RandomState(0),
    )
    no_pairs = np.zeros((len(main), 0))
    return SobolIndices(
        names=tuple(names[order[index]] for index in units),
        first_order=single(main),
        total=single(total),
        interaction_names=(),
        interactions=single(no_pairs),
        output_names=tuple(model.output_names_) if len(main) > 1 else (),
        estimated=True,
    )


def _group(
    model: FittedEstimator,
    kernels: Sequence[Kernel],
    unit: tuple[int, ...],
    X: Array,
    weights: Array,
) -> Group:
    """Return the `Group` of the columns `unit`, with rows of representative values."""
    order = table_column_order(model)
    # The first column of packed sequences identifies the sequence.
    columns = tuple(int(order[column]) for column in unit if column < len(order))
    categories = any(
        _columns(factor, X.shape[1]) == unit and _reads_categories(factor)
        for factor in chain.from_iterable(map(factors_of, kernels))
    )
    design = additive_model(model).design
    if design is not None:
        categories |= bool(np.isin(unit, design.places[~np.isnan(design.codes)]).any())
    values = X[:, list(unit)]
    rows, shares = _representatives(values, weights, use_bins=not categories)
    return Group(columns, unit, rows, shares)


def _reads_categories(kernel: Kernel) -> bool:
    """Return whether a kernel reads its values as categories."""
    while hasattr(kernel, "kernel"):
        kernel = kernel.kernel
    return isinstance(kernel, CategoryKernel)


def _representatives(
    values: Array, weights: Array, *, use_bins: bool
) -> tuple[Array, Array]:
    """Return rows that represent `values`, and their weights, which sum to one."""
    # Only values of a single column are divided into bins; of several columns, at most
    # 256 rows are used. Categories have no bins (`use_bins=False`).
    distinct_rows, inverse = np.unique(values, axis=0, return_inverse=True)
    shares: Array = np.bincount(np.ravel(inverse), weights).astype(np.float64)
    if values.shape[1] > 1:
        rows = evenly_spaced(len(values), 256)
        if len(distinct_rows) <= rows.size:
            return distinct_rows, shares
        return values[rows], equal_shares(rows.size, weights[rows])
    if len(distinct_rows) <= 2 * BINS or not use_bins:
        return distinct_rows, shares
    return binned(distinct_rows[:, 0], shares)


def binned(values: Array, shares: Array) -> tuple[Array, Array]:
    """Return two values per bin, with the mean and variance of the bin, and weights."""
    # `values` are sorted, and `shares` are their probabilities. A bin contains
    # neighboring values. Missing values have their own bin.
    present = ~np.isnan(values)
    missing = values[~present][:, None], shares[~present]
    values, shares = values[present], shares[present]
    deviations = shares * (values - shares @ values / shares.sum()) ** 2
    # All bins have about the same mass. The mass of a value is its share plus its share
    # of the variance, because functions may be large at rare, extreme values.
    mass = shares / shares.sum() + deviations / deviations.sum()
    positions = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    bins = np.unique((positions * BINS).astype(np.intp), return_inverse=True)[1]
    totals = np.bincount(bins, shares)
    means = np.bincount(bins, shares * values) / totals
    widths = np.sqrt(np.bincount(bins, shares * (values - means[bins]) ** 2) / totals)
    rows = np.concatenate([means - widths, means + widths])[:, None]
    weights = np.concatenate([totals, totals]) / 2.0
    return np.concatenate([rows, missing[0]]), np.concatenate([weights, missing[1]])


Variances = dict[tuple[int, ...], Array]


def _variances(
    model: FittedEstimator,
    groups: Sequence[Group],
    terms: dict[tuple[int, ...], list[int]],
    X: Array,
) -> Variances:
    """Return the variances of the functions of groups and of pairs, per output."""
    # The mean of an interaction over one group is part of the function of the other
    # group. It is zero if the kernels are centered on the same samples.
    mains = [_unpenalized_part(model, group, X) for group in groups]
    variances: Variances = {}
    for units, positions in terms.items():
        values = _values_on_grid(model, [groups[g] for g in units], positions, X)
        if len(units) == 1:
            mains[units[0]] += values
            continue
        first_group, second_group = units
        p, q = groups[first_group].weights, groups[second_group].weights
        over_second = np.einsum("abk,b->ak", values, q)
        over_first = np.einsum("abk,a->bk", values, p)
        mains[first_group] += over_second
        mains[second_group] += over_first
        interaction = values - over_second[:, None] - over_first + p @ over_second
        variances[units] = np.einsum("abk,a,b->k", interaction**2, p, q)
    for g, (group, main) in enumerate(zip(groups, mains, strict=True)):
        variances[(g,)] = group.weights @ (main - group.weights @ main) ** 2
    return variances


def _values_on_grid(
    model: FittedEstimator, groups: Sequence[Group], positions: list[int], X: Array
) -> Array:
    """Return the sum of some terms at every combination of the groups' rows."""
    # `positions` are those of the terms in the model. There are one or two groups of
    # columns; a combination has one row of values from each. The result has an axis for
    # the rows of each group, and one for the outputs. The terms use only the columns of
    # these groups.
    sizes = [len(group.rows) for group in groups]
    table = np.repeat(X[:1], np.prod(sizes), axis=0)
    for group, row_indices in zip(groups, np.indices(sizes), strict=True):
        table[:, list(group.places)] = group.rows[row_indices.ravel()]
    values = additive_model(model).terms(table, positions).sum(axis=2)
    return np.asarray(values.reshape(*sizes, -1))


def _exact_indices(
    model: FittedEstimator,
    groups: Sequence[Group],
    variances: Variances,
    names: Sequence[str],
) -> SobolIndices:
    """Return the Sobol indices: the share of each variance in the sum of variances."""
    n_outputs = additive_model(model).n_outputs
    all_variances = np.array(list(variances.values())).reshape(-1, n_outputs)
    totals = all_variances.sum(axis=0)
    shares = np.divide(
        all_variances, totals, out=np.zeros_like(all_variances), where=totals > 0.0
    )
    share_of = dict(zip(variances, shares, strict=True))
    mains = [(g,) for g in range(len(groups))]
    pairs = [units for units in variances if len(units) == 2]
    first_order, between = (
        np.array([share_of[units] for units in unit_lists]).reshape(-1, n_outputs).T
        for unit_lists in (mains, pairs)
    )
    total = first_order.copy()
    for units in pairs:
        total[:, list(units)] += share_of[units][:, None]
    sets = [tuple(groups[g].columns for g in units) for units in (*mains, *pairs)]
    all_names = term_names(sets, names)
    return SobolIndices(
        names=tuple(all_names[: len(groups)]),
        first_order=single(first_order),
        total=single(total),
        interaction_names=tuple(all_names[len(groups) :]),
        interactions=single(between),
        output_names=tuple(model.output_names_) if n_outputs > 1 else (),
    )


# Standard errors for sums and products of three normal columns were at most 0.015 for
# first-order indices, and 3 to 6 % of total indices.
DRAWS, PAIRED = 4096, 2048
"""Numbers of rows to estimate first-order indices, and each column's total index."""


def estimated_indices(
    f: Callable[[Array], Array],
    table: Array,
    weights: Array,
    units: Sequence[list[int]],
    random_state: np.random.RandomState,
) -> tuple[Array, Array]:
    """Estimate first-order and total Sobol indices of f, (n_outputs, n_units) each."""
    # A unit is a list of columns of `table`. Its values are drawn jointly from the rows
    # of the table, which have the probabilities `weights`, independently of other
    # units. `f` maps (n_draws, n_columns) to (n_draws, n_outputs).

    def draw(n_rows: int) -> Indices:
        return random_state.choice(len(table), n_rows, p=weights)

    rows = np.repeat(table[:1], DRAWS, axis=0)
    drawn_rows = [draw(DRAWS) for _ in units]
    for unit, row_indices in zip(units, drawn_rows, strict=True):
        rows[:, unit] = table[row_indices][:, unit]
    values = f(rows)
    variances = values.var(axis=0)
    # First-order indices are variances of the means over bins of a unit, corrected for
    # chance: Searle, Casella and McCulloch (1992), Variance components, section 3.6.
    first_order = [
        _variance_between_bins(values, _bins(rows[:, unit], row_indices))
        for unit, row_indices in zip(units, drawn_rows, strict=True)
    ]
    # Total indices are E(f(x) - f(x'))^2 / 2 over Var(f), where x' has a new draw of
    # the unit: Jansen (1999), Computer Physics Communications 117, 35-43.
    total = []
    for unit in units:
        changed = rows[:PAIRED].copy()
        changed[:, unit] = table[draw(PAIRED)][:, unit]
        total.append(((f(changed) - values[:PAIRED]) ** 2).mean(axis=0) / 2.0)
    indices = np.array([first_order, total]).reshape(2, len(units), -1)
    shares = np.divide(
        indices, variances, out=np.zeros(indices.shape), where=variances > 0
    )
    # A total index is at least the first-order index; make estimates consistent.
    return shares[0].T, np.maximum(shares[1], shares[0]).T


def _bins(values: Array, rows: Indices) -> Indices:
    """Return the index of the bin of each random draw of a unit, shape (n_draws,)."""
    # `values`, (n_draws, n_columns), are the drawn values of the unit's columns, and
    # `rows` are the rows of the table from which they were drawn. If the unit has
    # several columns, a bin contains all draws from one row of the table. If it has one
    # column, a bin contains the draws with one value, or, if there are many values, the
    # draws whose values have similar ranks.
    if values.shape[1] > 1:
        return np.unique(rows, return_inverse=True)[1]
    distinct, inverse = np.unique(values[:, 0], return_inverse=True)
    if distinct.size <= BINS:
        return inverse
    ranks = np.argsort(np.argsort(values[:, 0], kind="stable"), kind="stable")
    return ranks * BINS // ranks.size


def _variance_between_bins(values: Array, bins: Indices) -> Array:
    """Return the variance between bins, corrected for the noise of their means."""
    counts = np.bincount(bins)
    n_rows, n_bins = len(bins), counts.size
    means = np.stack(
        [np.bincount(bins, column) / counts for column in values.T], axis=1
    )
    noise = ((values - means[bins]) ** 2).sum(axis=0) / max(n_rows - n_bins, 1)
    between = counts @ (means - values.mean(axis=0)) ** 2
    return np.asarray((between - (n_bins - 1) * noise) / n_rows)
