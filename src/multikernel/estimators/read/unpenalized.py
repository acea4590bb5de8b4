"""Encode unpenalized columns as numbers: categories become indicator columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr, solve_triangular

from multikernel._typing import Array, Indices
from multikernel._validation import check_places, check_shapes, listed
from multikernel.estimators.read.kinds import refuse_identifiers
from multikernel.estimators.read.mixed import UNKNOWN
from multikernel.estimators.read.samples import Samples
from multikernel.gram.projected import rank_of, standardized
from multikernel.linalg.tables import equal_shares
from multikernel.problem import rounded_centers


@dataclass(frozen=True, eq=False)
class Design:
    """The unpenalized columns of the data, encoded as numbers, without a kernel."""

    # For each column of the design, the position of its source in a table of numbers.
    places: Indices
    # The category code of each indicator column; NaN for columns of numbers.
    codes: Array
    # "column" for a column of numbers, "column=category" for an indicator.
    names: tuple[str, ...]
    # Number subtracted from each column: nonzero for columns whose values are far from
    # zero, to avoid rounding errors.
    origins: Array

    def __post_init__(self) -> None:
        size = (len(self.names),)
        if self.origins is None:  # model files omit origins that are all zero
            object.__setattr__(self, "origins", np.zeros(size))
        check_shapes(
            "Columns without a penalty",
            places=(self.places, size),
            codes=(self.codes, size),
            origins=(self.origins, size),
        )

    def check_columns(self, n_features: int) -> None:
        """Raise unless the positions of all columns are below `n_features`."""
        check_places("Columns without a penalty", "places", self.places, n_features)

    def __call__(self, X: Array | Indices) -> Array:
        """Return the design matrix of the samples X, shape (n_samples, n_columns)."""
        values = np.asarray(X[:, self.places], dtype=np.float64)
        is_category = ~np.isnan(self.codes)
        unknown_cells = np.argwhere((values == UNKNOWN) & is_category)
        if unknown_cells.size:
            row, column = unknown_cells[0]
            name = self.names[column].rpartition("=")[0]
            raise ValueError(
                f"Row {row} has a category in the unpenalized column {name!r} that is "
                "not in the training data, so it has no coefficient: change the "
                "category, or remove the row."
            )
        values[:, is_category] = values[:, is_category] == self.codes[is_category]
        return values - self.origins

    def intercept(self, intercept: Array, effects: Array) -> Array:
        """Convert an intercept for shifted columns to one for the original columns."""
        return np.asarray(intercept - self.origins @ effects)

    def part(self, indices: Indices) -> "Design":
        """Return the encoding of the design columns at `indices`."""
        names = tuple(self.names[column] for column in indices)
        positions, codes, origins = self.places, self.codes, self.origins
        return Design(positions[indices], codes[indices], names, origins[indices])


def find_design(
    owner: str,
    samples: Samples,
    *,
    fit_intercept: bool,
    kind: str = "unpenalized column",
) -> Design | None:
    """Return the encoding of unpenalized columns, or None; raise if collinear."""
    # With an intercept, the first category of a column has no indicator, and columns
    # far from zero get an origin, which reduces rounding errors; the intercept absorbs
    # the shift.
    table = samples.table
    columns = [c for view in table.views if not view.penalized for c in view.columns]
    if not columns:
        return None
    entries = _encode(owner, samples, dict.fromkeys(columns), drop_first=fit_intercept)
    positions, codes, names = zip(*entries, strict=True) if entries else ((), (), ())
    code_array = np.array(codes, dtype=np.float64)
    origins = np.zeros(code_array.size)
    design = Design(np.array(positions, dtype=np.intp), code_array, names, origins)
    if fit_intercept:
        design = _with_origins(design, samples)
    values = design(samples.X)
    check_independent(owner, values, names, fit_intercept=fit_intercept, kind=kind)
    return design


def _encode(
    owner: str, samples: Samples, columns: Iterable[int], *, drop_first: bool
) -> list[tuple[int, float, str]]:
    """Return position, category code (nan for numbers) and name of encoded columns."""
    # If `drop_first`, the first category of each column has no indicator.
    # The indicators of a column sum to one, so one is redundant with an intercept.
    # Without an intercept, the first such column has all indicators.
    layout, numeric = samples.table.layout, list(samples.table.layout.numeric)
    result: list[tuple[int, float, str]] = []
    for column in columns:
        name = layout.name(column)
        if column not in numeric:
            raise ValueError(
                f"{owner}: the unpenalized column {name!r} holds sequences, but must "
                "hold numbers or categories: remove it from Unpenalized, or encode it."
            )
        position = numeric.index(column)
        if column not in layout.categories:
            result.append((position, np.nan, name))
            continue
        index = layout.categories.index(column)
        values = samples.table.columns.categories_[index].tolist()
        codes = np.unique(samples.X[:, position]).astype(int).tolist()
        refuse_identifiers(repr(name), len(codes), len(samples.X))
        codes, drop_first = (codes[1:], True) if drop_first else (codes, True)
        result += [(position, float(code), f"{name}={values[code]}") for code in codes]
    return result


def _with_origins(design: Design, samples: Samples) -> Design:
    """Return `design` with origins, which center columns of values far from zero."""
    columns = design(samples.X)
    shares = equal_shares(len(columns), samples.weights)
    origins, is_constant = rounded_centers(columns, shares)
    # A constant column is not shifted, so that the check for constants raises.
    origins[is_constant | ~np.isnan(design.codes)] = 0.0
    return replace(design, origins=origins)


def check_independent(
    owner: str,
    columns: Array,
    names: Sequence[str],
    *,
    fit_intercept: bool,
    kind: str,
) -> None:
    """Raise if columns are collinear or constant, and name the columns."""
    # Without an intercept, a constant column is valid unless it is zero.
    scaled, sizes = standardized(columns, None, fit_intercept=fit_intercept)
    constant = [name for name, size in zip(names, sizes, strict=True) if not size]
    if constant:
        values = "the same for all samples" if fit_intercept else "zero for all samples"
        raise ValueError(f"{owner}: the {kind} {constant[0]!r} is {values}: remove it.")
    _, factor, order = qr(scaled, mode="economic", pivoting=True)
    R: Array = np.asarray(factor, dtype=np.float64)
    rank = rank_of(R)
    if rank == len(names):
        return
    weights = solve_triangular(R[:rank, :rank], R[:rank, rank])
    combined = [names[order[k]] for k in range(rank) if abs(weights[k]) > 1e-6]
    raise ValueError(
        f"{owner}: the {kind}s are collinear: {names[order[rank]]!r} is a combination "
        "of "
        f"{listed(combined)}{' and the intercept' * fit_intercept} on the "
        "training samples. Remove one of them."
    )
