"""Names of columns of all types in another order, and columns with one odd cell.

A permuted frame must be refused whatever its names are, and the odd cell of a column of
numbers must be named with its row wherever numbers are needed, and warned of once where
text may stand.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from attack import inputs

from multikernel.estimators import (
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLSurvival,
)
from multikernel.exceptions import DataWarning
from multikernel.kernels import LinearKernel

NAMES = {
    "text": lambda n: [f"c{k}" for k in range(n)],
    "fresh": lambda n: list(range(n)),
    "integers": lambda n: list(range(5, 5 + n)),
    "NumPy integers": lambda n: list(np.arange(3, 3 + n)),
    "floats": lambda n: [k + 0.5 for k in range(n)],
    "whole floats": lambda n: [float(k) for k in range(n)],
    "tuples": lambda n: pd.MultiIndex.from_tuples([("a", k) for k in range(n)]),
    "dates": lambda n: pd.date_range("2020-01-01", periods=n),
    "intervals": lambda n: pd.interval_range(0, n),
    "categories": lambda n: pd.CategoricalIndex([f"c{k}" for k in range(n)]),
}
ODD = ("<1", "-", ".", "N.A.", " ", "#DIV/0!", "3 *", "4a", "12 %", "−3", "ten", "nan")
COLUMNS = (list, np.array, pd.Series, pl.Series, pa.array)


def run_names(seed):
    """Return the findings of one frame: (category, sentence) pairs."""
    random = np.random.default_rng([seed, 53])
    width = int(random.integers(2, 5))
    kind = str(random.choice(list(NAMES)))
    X = pd.DataFrame(random.standard_normal((20, width)), columns=NAMES[kind](width))
    if random.random() < 0.3:
        X[X.columns[-1]] = ["u", "v"] * 10
    y = random.standard_normal(20)
    order = random.permutation(width)
    what = f"{width} {kind} in the order {order.tolist()}"
    try:
        model = quiet(lambda: SpicyMKLRegressor(alpha=1e-3).fit(X, y))
        expected = quiet(lambda: model.predict(X))
        found = quiet(lambda: model.predict(X[X.columns[order]]))
    except inputs.DOCUMENTED as error:
        moved = not np.array_equal(order, np.arange(width))
        said = moved and "order" in str(error)
        return [] if said else [("inconsistent", f"{what}: {inputs.described(error)}")]
    except Exception as error:
        return [("exceptions", f"{what}: {inputs.described(error)}")]
    if np.array_equal(order, np.arange(width)) and np.array_equal(found, expected):
        return []
    return [("inconsistent", f"{what} predicted")]


def run_cells(seed):
    """Return the findings of one column of numbers as text with an odd cell."""
    random = np.random.default_rng([seed, 59])
    n = int(random.integers(12, 40))
    numbers = random.poisson(4.0, n) + random.choice([0.0, 0.5], n)
    cells = [f"{value:g}" for value in numbers]
    if random.random() < 0.3:
        cells = [f"{value:.1f}".replace(".", ",") for value in numbers]
    row, cell = int(random.integers(n)), str(random.choice(ODD))
    cells[row] = cell
    column = COLUMNS[random.integers(len(COLUMNS))](cells)
    what = f"{cell!r} at row {row} of {type(column).__name__} {cells}"
    X = random.standard_normal((n, 2))
    found = []
    times = pd.DataFrame({"event": True, "time": cells}, index=range(n))
    for model, y in (
        (SpicyMKLRegressor([LinearKernel()]), column),
        (LpMKLRegressor([LinearKernel()]), column),
        (SpicyMKLSurvival([LinearKernel()]), times),
    ):
        try:
            quiet(lambda model=model, y=y: model.fit(X, y))
            found.append(("inconsistent", f"{what}: {type(model).__name__} took it"))
        except ValueError as error:
            if f"{cell!r} at row {row}" not in str(error):
                found.append(("inconsistent", f"{what}: {inputs.described(error)}"))
    return found + warned(SpicyMKLClassifier([LinearKernel()]), X, column, row, what)


def warned(model, X, y, row, what):
    """Return the findings of a fit on text, whose odd cell one warning names."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(max_iter=1).fit(X, y)
    said = [str(w.message) for w in caught if w.category is DataWarning]
    if len(said) == 1 and f"at row {row}, and numbers" in said[0]:
        return []
    return [("unwarned", f"{what}: {said}")]


def quiet(call):
    """Return what a call gives, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()
