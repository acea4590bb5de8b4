"""Mutated inputs: whatever comes in, a failure is a documented error with a sentence.

Each trial takes a small valid fit, replaces one or two of its parts (data, targets,
weights, kernels, a parameter, the data of a prediction) by something odd, and calls the
public methods. What is accepted must give finite predictions; what is refused must be
refused by one of `DOCUMENTED`, in words.
"""

import inspect
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
from reference.estimators import ESTIMATORS
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, WhiteKernel

from multikernel import estimators, kernels
from multikernel.exceptions import (
    ConvergenceWarning,
    DegenerateKernelWarning,
    StackTooLargeError,
)

DOCUMENTED = (ValueError, TypeError, FileNotFoundError, StackTooLargeError)

EXPECTED_WARNINGS = (
    ConvergenceWarning,
    DegenerateKernelWarning,
    DataConversionWarning,
    # What scikit-learn says of rare classes in folds, of one-dimensional scores, and of
    # names of columns that are not text, is the user's to read.
    UserWarning,
    FutureWarning,
)

INTERNAL = re.compile(
    r"NoneType|has no attribute|not subscriptable|not callable|unhashable|"
    r"unexpected keyword|positional argument|out of range|out of bounds|ufunc|"
    r"broadcast|not aligned|mismatch in its core|setting an array element|"
    r"too large to convert|cannot reshape|numba|JSON|unsupported operand|"
    r"not supported between|truth value|Traceback|singular matrix|illegal value|"
    r"infs or NaNs"
)
"""Words of failures that nobody foresaw; a sentence for users has none of them."""


class Odd:
    """An object that refuses to be anything."""

    def __repr__(self):
        return "Odd()"


class Rude:
    """An object whose comparisons and truth value fail."""

    def __bool__(self):
        raise ValueError("Rude has no truth value.")

    def __eq__(self, other):
        raise ValueError("Rude compares to nothing.")

    __hash__ = None

    def __repr__(self):
        return "Rude()"


class ArrayLike:
    """Something that NumPy reads as an array."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


class Returns:
    """A kernel that returns whatever it is told to."""

    name = "returns"

    def __init__(self, value, diagonal=1.0):
        self.value, self.diagonal = value, diagonal

    def __call__(self, X, Y=None):
        shape = (len(X), len(X if Y is None else Y))
        return self.value(shape) if callable(self.value) else self.value

    def diag(self, X):
        return np.full(len(X), self.diagonal)


class Raises:
    """A kernel that fails with an error of its own."""

    def __call__(self, X, Y=None):
        raise ValueError("This kernel never works on anything.")

    def diag(self, X):
        return np.ones(len(X))


def indefinite(shape):
    matrix = np.ones(shape)
    np.fill_diagonal(matrix, -1.0)
    return matrix


def lopsided(shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


def changed(array, place, value):
    array = np.array(array, copy=True)
    if array.size:
        array[
            tuple(min(i, s - 1) for i, s in zip(place, array.shape, strict=False))
        ] = value
    return array


def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


def big_endian(array):
    return np.asarray(array, dtype=np.float64).astype(">f8")


NUMBERS = (0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e155, 1e-320, 1e-161, 1e100)

SHAPES = (
    lambda a: a[:0],
    lambda a: a[:1],
    lambda a: a[:2],
    lambda a: a[: len(a) // 2],
    lambda a: np.concatenate([a, a]),
    lambda a: a[..., None],
    lambda a: a[None],
    lambda a: np.asarray(a).ravel(),
    lambda a: np.asarray(a).T,
    lambda a: np.asarray(a).flat[0],
    lambda a: np.array(np.asarray(a).flat[0]),
    lambda a: np.empty((0, 0)),
    lambda a: np.empty((len(a), 0)),
    lambda a: np.full_like(a, np.asarray(a).flat[0]),
    lambda a: np.zeros_like(a),
    lambda a: np.asarray(a)[::-1],
    lambda a: np.asarray(a)[::2],
    lambda a: np.repeat(np.asarray(a)[:1], len(a), axis=0),
)

DTYPES = (
    lambda a: np.asarray(a, dtype=np.float16),
    lambda a: np.asarray(a, dtype=np.float32),
    lambda a: np.asarray(a, dtype=np.longdouble),
    lambda a: np.asarray(a, dtype=np.int8),
    lambda a: np.asarray(a, dtype=np.int64),
    lambda a: np.abs(np.asarray(a)).astype(np.uint64),
    lambda a: np.asarray(a) > 0,
    lambda a: np.asarray(a, dtype=object),
    lambda a: np.asarray(a, dtype=str),
    lambda a: np.asarray(a, dtype=bytes),
    lambda a: np.asarray(a) + 1j,
    lambda a: np.asarray(a).astype("datetime64[s]"),
    lambda a: np.asarray(a).astype("timedelta64[s]"),
    big_endian,
    lambda a: np.asarray(a, dtype=float).view([("a", "f8")]),
)

CONTAINERS = (
    lambda a: np.asfortranarray(a),
    read_only,
    lambda a: np.asarray(a).tolist(),
    lambda a: tuple(np.asarray(a).tolist()),
    lambda a: [[1.0], *(list(np.atleast_1d(row)) for row in a[1:])],
    lambda a: iter(np.asarray(a)),
    lambda a: set(np.asarray(a).ravel().tolist()),
    lambda a: {"a": a},
    lambda a: "text",
    lambda a: b"bytes",
    lambda a: None,
    lambda a: 3,
    lambda a: Odd(),
    lambda a: Rude(),
    lambda a: ArrayLike(a),
    lambda a: ArrayLike("text"),
    lambda a: np.ma.masked_greater(np.asarray(a, dtype=float), 0.5),
    lambda a: np.ma.masked_array(np.asarray(a)),
    lambda a: np.asarray(a).view(np.recarray),
    lambda a: sparse.csr_array(np.atleast_2d(np.asarray(a, dtype=float))),
    lambda a: sparse.coo_matrix(np.atleast_2d(np.asarray(a, dtype=float))),
    lambda a: [None] * len(a),
    lambda a: [[1, [2, 3]]] * len(a),
    lambda a: [10**400] * len(a),
    lambda a: [Decimal(1)] * len(a),
    lambda a: [Fraction(1, 3)] * len(a),
    lambda a: [pd.NA] * len(a),
    lambda a: [pd.NaT] * len(a),
    lambda a: [Odd()] * len(a),
    lambda a: np.asarray(a, dtype=object)[..., None] * Decimal(1),
    lambda a: memoryview(np.ascontiguousarray(a)),
)


def frame_of(a):
    a = np.asarray(a)
    return pd.DataFrame(a.reshape(len(a), -1), columns=None)


FRAMES = (
    frame_of,
    lambda a: frame_of(a).rename(columns=str),
    lambda a: frame_of(a).rename(columns=lambda c: "same"),
    lambda a: frame_of(a).astype("string"),
    lambda a: frame_of(a).astype("category"),
    lambda a: frame_of(a).assign(text="a"),
    lambda a: frame_of(a).assign(when=pd.Timestamp("2020-01-01")),
    lambda a: frame_of(a).assign(missing=pd.array([pd.NA] * len(a), dtype="Int64")),
    lambda a: frame_of(a).astype("Float64"),
    lambda a: frame_of(a).iloc[:, 0],
    lambda a: frame_of(a).set_axis(range(7, 7 + len(a))),
    lambda a: pl.DataFrame(np.asarray(a, dtype=float).reshape(len(a), -1)),
    lambda a: pl.DataFrame({"text": ["a"] * len(a)}),
    lambda a: pl.Series(np.asarray(a, dtype=float).ravel().tolist()),
    lambda a: pd.Series(np.asarray(a).ravel()),
    lambda a: pd.Series(np.asarray(a).ravel().astype(str)),
    lambda a: pd.Series(np.asarray(a).ravel()).astype("category"),
    lambda a: pd.DataFrame(),
)

LABELS = (
    lambda y: np.where(np.asarray(y) > 0, "yes", "no"),
    lambda y: np.where(np.asarray(y) > 0, "yes", "no").astype(object),
    lambda y: np.where(np.asarray(y) > 0, "yes", 3).astype(object),
    lambda y: [("a", 1)] * len(y),
    lambda y: np.arange(len(y)),
    lambda y: np.arange(len(y)) / 7.0,
    lambda y: np.arange(len(y)) % 3,
    lambda y: np.where(np.arange(len(y)) == 3, 1, 0),
    lambda y: np.eye(2)[np.arange(len(y)) % 2],
    lambda y: np.column_stack([y, y]),
    lambda y: np.column_stack([y]),
    lambda y: np.asarray(y) * 1e200,
    lambda y: np.asarray(y) * 1e-200,
    lambda y: 10 ** (np.arange(len(y)) + 300).astype(object),
    lambda y: [0, np.nan] * (len(y) // 2),
    lambda y: ["", None] * (len(y) // 2),
)

ARRAYS = SHAPES + DTYPES + CONTAINERS + FRAMES

VALUES = (
    None, True, False, 0, 1, -1, 2, 3.7, 0.0, -0.5, 1e-320, 1e-300, 1e300, 1e308,
    np.nan, np.inf, -np.inf, 10**400, -(10**400), 2**63, "", "text", "auto", "trace",
    b"bytes", [], (), {}, set(), [1.0], [1.0, 2.0], ["trace", "center"], ("cosine",),
    [None], ["trace", 3], [[1.0]], {"a": 1}, np.array(1.0), np.array([1.0]),
    np.array([]), np.array([1.0, np.nan]), np.float32(1.0), np.int64(3), np.bool_(True),
    np.float64(np.nan), np.str_("trace"), Decimal("1.5"), Fraction(1, 3), 1j, Odd(),
    Rude(), Odd, len, lambda progress: True, lambda: 3, range(3), iter([1.0]), object(),
    pd.NA, pd.NaT, np.datetime64("2020-01-01"), np.random.RandomState(0),
    np.random.default_rng(0), {0: 1.0, 1: 2.0}, {0: -1.0}, {7: 1.0}, {0: np.nan},
    {0: 1e300, 1: 1e-300}, "balanced", "accuracy", "r2", "nothing", [0.1, -1.0],
    [0.1, np.inf], [np.nan], ["a"], [1.0, 1.0], (2.0, 1.0), 5, 10**9, -3,
)  # fmt: skip
"""What a parameter may be set to, sensible or not."""

KERNELS = (
    lambda: None,
    lambda: [],
    lambda: (),
    lambda: {},
    lambda: "precomputed",
    lambda: "gaussian",
    lambda: kernels.GaussianKernel(1.0),
    lambda: [kernels.GaussianKernel],
    lambda: [None],
    lambda: [3],
    lambda: [Odd()],
    lambda: [Rude()],
    lambda: Rude(),
    lambda: [len],
    lambda: [lambda X, Y=None: np.ones((3, 3))],
    lambda: [Raises()],
    lambda: [Returns(None)],
    lambda: [Returns("text")],
    lambda: [Returns(3.0)],
    lambda: [Returns(np.zeros)],
    lambda: [Returns(np.ones)],
    lambda: [Returns(lambda s: np.full(s, np.nan))],
    lambda: [Returns(lambda s: np.full(s, 1e308))],
    lambda: [Returns(lambda s: np.full(s, 1e-320))],
    lambda: [Returns(lambda s: np.ones(s, dtype=object))],
    lambda: [Returns(lambda s: np.ones(s) + 1j)],
    lambda: [Returns(lambda s: np.ones(s, dtype=str))],
    lambda: [Returns(lambda s: np.ones((*s, 2)))],
    lambda: [Returns(lambda s: np.ones(s[0]))],
    lambda: [Returns(lambda s: np.ones(s, dtype=bool))],
    lambda: [Returns(lambda s: sparse.eye_array(*s))],
    lambda: [Returns(indefinite)],
    lambda: [Returns(indefinite, -1.0)],
    lambda: [Returns(lopsided)],
    lambda: [Returns(np.ones, "text")],
    lambda: [Returns(np.ones, np.nan)],
    lambda: [RBF(1.0), WhiteKernel()],
    lambda: [CompoundKernel([RBF(1.0), RBF(2.0)])],
    lambda: [kernels.ColumnKernel(kernels.LinearKernel(), 99)],
    lambda: [kernels.ColumnKernel(kernels.LinearKernel(), "age")],
    lambda: [kernels.ColumnKernel(kernels.LinearKernel(), [])],
    lambda: [kernels.ColumnKernel(kernels.LinearKernel(), -1)],
    lambda: [kernels.ColumnKernel(Odd(), 0)],
    lambda: [kernels.GaussianKernel(0.0)],
    lambda: [kernels.GaussianKernel("a")],
    lambda: [kernels.GaussianKernel(1e-200)],
    lambda: [kernels.GaussianKernel(1e200)],
    lambda: [kernels.PolynomialKernel(0)],
    lambda: [kernels.PolynomialKernel(10**6)],
    lambda: [kernels.PolynomialKernel(2.5)],
    lambda: {"k": kernels.Grams(np.eye(24), 0)},
    lambda: {"k": kernels.Grams(np.ones((2, 3)), 0)},
    lambda: kernels.per_column(kernels.LinearKernel(), np.int64(3)),
    lambda: kernels.per_column(kernels.LinearKernel(), 3.5),
    lambda: kernels.per_column(kernels.GaussianKernel(1.0), 4),
    lambda: kernels.per_column("linear", 4),
    lambda: kernels.per_group({"a": [0, 1], "b": []}, [kernels.LinearKernel()]),
    lambda: kernels.per_group({"a": [0, "b"]}, [kernels.LinearKernel()]),
    lambda: kernels.per_group({"a": [0, 1], "b": [3]}, [kernels.LinearKernel()]),
    lambda: kernels.per_group(kernels.LinearKernel(), [[0, 1], [2]]),
    lambda: kernels.per_group(None, None),
    lambda: kernels.spicy_dictionary(0),
    lambda: kernels.spicy_dictionary(-3),
    lambda: kernels.spicy_dictionary("a"),
    lambda: kernels.spicy_dictionary(4),
    lambda: kernels.ListDictionary([]),
    lambda: kernels.ListDictionary([kernels.LinearKernel(), 3]),
    lambda: iter([kernels.LinearKernel()]),
    lambda: np.array([kernels.LinearKernel()]),
    lambda: range(3),
    lambda: b"bytes",
    lambda: 3,
)


def base(random):
    """A small valid fit: estimator, X, y."""
    kind = ESTIMATORS[random.integers(len(ESTIMATORS))]
    n = 24
    X = random.standard_normal((n, 4))
    y = X[:, 0] + 0.3 * random.standard_normal(n)
    if kind.__name__.endswith(("Classifier", "ClassifierCV")):
        y = (y > 0.0).astype(int)
        y[:4] = 0, 1, 0, 1
    made = [
        kernels.LinearKernel(),
        kernels.GaussianKernel(1.0),
        kernels.ColumnKernel(kernels.GaussianKernel(0.5), [0, 2]),
    ]
    storages = ["auto", "dense", "dense32", "lazy", "low_rank"]
    settings = {
        "max_bytes": 10**7,
        "storage": str(random.choice(storages)),
        "alphas": [0.01, 0.1],
        "Cs": [0.5, 2.0],
        "ps": [1.0, 2.0],
        "cv": 2,
        "max_kernels": 3,
    }
    names = kind().get_params(deep=False)
    settings = {name: value for name, value in settings.items() if name in names}
    if random.random() < 0.25 and "loss" in names:
        settings["loss"] = _other_loss(kind, random)
    if "storage" not in names:  # a method for graphs, which hold no matrices
        made = random.choice([None, kernels.graph.PolynomialGrid(2)])
    elif random.random() < 0.25:
        X = estimators.stack_grams([kernel(X) for kernel in made])
        made = "precomputed"
    return kind(made, **settings), X, y


def _other_loss(kind, random):
    """One of the losses that an estimator names in its docstring."""
    listed = re.search(r"(?ms)^loss : (.*?)\n\w+ : ", inspect.cleandoc(kind.__doc__))
    names = re.findall(r'"(\w+)"', listed[1])
    if not names:
        return kind().loss  # any loss object, which no docstring lists
    return str(random.choice(sorted(set(names))))


def mutate_array(random, array):
    """An array made odd: a value of it, or all of it."""
    if random.random() < 0.3:
        place = tuple(random.integers(0, 4, size=np.ndim(array)))
        value = NUMBERS[random.integers(len(NUMBERS))]
        return made_odd(
            lambda a: changed(np.asarray(a, dtype=float), place, value), array
        )
    return made_odd(ARRAYS[random.integers(len(ARRAYS))], array)


def made_odd(mutation, array):
    """What a mutation makes of an array, or the array where it can do nothing."""
    try:
        # What NumPy says of a mutation is nothing that a fit has said.
        with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return mutation(array)
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError):
        return array


def mutate(random, model, data):
    """Replace one ingredient of (X, y, weights, new)."""
    X, y, weights, new = data
    parts = ["X", "y", "labels", "weights", "kernels", "parameter", "new"]
    what = random.choice(parts, p=[0.2, 0.1, 0.1, 0.12, 0.13, 0.25, 0.1])
    if what in ("y", "labels") and not isinstance(y, np.ndarray):
        what = "parameter"  # it was made odd already
    if what == "X":
        X = mutate_array(random, X)
    elif what == "y":
        y = mutate_array(random, y)
    elif what == "labels":
        y = made_odd(LABELS[random.integers(len(LABELS))], y)
    elif what == "weights":
        weights = mutate_array(random, random.uniform(0.5, 2.0, 24))
    elif what == "kernels":
        model.set_params(kernels=KERNELS[random.integers(len(KERNELS))]())
    elif what == "parameter":
        name = str(random.choice(sorted(model.get_params(deep=False))))
        if name not in ("kernels", "verbose"):
            model.set_params(**{name: VALUES[random.integers(len(VALUES))]})
    else:
        new = mutate_array(random, new)
    return X, y, weights, new


def run_one(seed):
    """Return the findings of one mutated input: (category, sentence) pairs."""
    random = np.random.default_rng([seed, 21])
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            attempt(random, found)
        except DOCUMENTED as error:
            found += judge_error(error)
        except Exception as error:
            found.append(("exceptions", described(error)))
    for warning in caught:
        # NumPy's modules warn of what we gave them; scikit-learn's checks warn of what
        # they refuse a line later.
        theirs = "/sklearn/" in warning.filename
        if not theirs and not issubclass(warning.category, EXPECTED_WARNINGS):
            text = f"{warning.category.__name__}: {warning.message}"
            found.append(("warnings", f"{text} ({warning.filename}:{warning.lineno})"))
    return found


def attempt(random, found):
    """Mutate, fit and predict, as far as it goes."""
    model, X, y = base(random)
    data = X, y, None, X[:5]
    for _ in range(1 + (random.random() < 0.15)):
        data = mutate(random, model, data)
    X, y, weights, new = data
    before = dict(vars(model))
    try:
        model.fit(X, y, weights)
    except DOCUMENTED:
        if set(vars(model)) != set(before):
            left = sorted(set(vars(model)) - set(before))
            found.append(("inconsistent", f"a failed fit left {left}"))
        raise
    if any(vars(model)[name] is not value for name, value in before.items()):
        found.append(("inconsistent", "fit changed a parameter"))
    values = model.predict(new)
    if np.asarray(values).dtype.kind == "f" and not np.isfinite(values).all():
        found.append(("inconsistent", "a prediction is not finite"))
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(new)
        # Labels are no classes: a sample may have none of them, or all.
        if np.ndim(values) == 1 and not np.allclose(shares.sum(axis=1), 1.0):
            found.append(("inconsistent", "probabilities do not sum to one"))
    model.contributions(new)
    clone(model)


def judge_error(error):
    """An error of the right type must be a sentence as well."""
    text = str(error)
    # What scikit-learn says of ragged lists.
    if "inhomogeneous shape" in text:
        return []
    if len(text.split()) < 4 or INTERNAL.search(text):
        return [("sentences", described(error))]
    return []


def described(error):
    """Type, first line and place of an error."""
    frame = error.__traceback__
    places = []
    while frame is not None:
        code = frame.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{frame.tb_lineno}")
        frame = frame.tb_next
    text = str(error).splitlines()[0][:200] if str(error) else ""
    return f"{type(error).__name__}: {text} ({' > '.join(places[-4:])})"
