"""Collections of Dask, mutated: the fit in memory, or a sentence, and never a hang.

Each trial takes a small table in partitions and changes one or two things: how it is
cut, what is in a partition, what the targets are, where kernels are held, which
estimator is asked. What is accepted is the fit in memory of what the collections
compute to; what is refused is refused in words. In some trials a worker is lost.
"""

import traceback
import warnings
from functools import cache
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from attack.inputs import DOCUMENTED, described, judge_error
from distributed import Client, LocalCluster, get_client
from scipy import sparse
from sklearn.base import clone

from multikernel import estimators
from multikernel.exceptions import ConvergenceWarning
from multikernel.gram import LowRank
from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel

PACKAGE = str(Path(estimators.__file__).parents[1])

KERNELS = [LinearKernel(), GaussianKernel(2.0), ColumnKernel(GaussianKernel(1.0), 1)]
ROWS, COLUMNS = 40, 3
TOL = 1e-6
NAMES = ["a", "b", "c"]
CLUSTERED = 0.1
"""How many trials run on workers; starting them takes a second."""


class TaskError(Exception):
    """What the user's own tasks raise, which passes through."""


def failing(part):
    raise TaskError("The disk that this partition was on is gone.")


def tried(change, part):
    """Make a change, if it is possible after others."""
    try:
        return change(part)
    except (TypeError, ValueError, IndexError, AttributeError, KeyError) as error:
        raise TaskError("This task does not take such parts.") from error


def table(random):
    """Return samples and values."""
    X = random.standard_normal((ROWS, COLUMNS))
    return X, X[:, 0] + np.cos(X[:, 1]) + 0.2 * random.standard_normal(ROWS)


def cuts(random, n):
    """Cut rows into partitions, some of which may be empty."""
    ends = np.sort(random.integers(0, n + 1, random.integers(0, 5)))
    sizes = np.diff([0, *ends, n])
    return tuple(int(s) for s in sizes if s or random.random() < 0.5)


def one(random, X, change):
    """Change what one of the partitions is when it is computed."""
    chosen = int(random.integers(X.numblocks[0]))

    def task(part, block_id):
        return tried(change, part) if block_id[0] == chosen else part

    return X.map_blocks(task, dtype=X.dtype, meta=np.empty((0, 0)))


def placed(value):
    def change(part):
        part = np.array(part, dtype=np.result_type(part, np.asarray(value)))
        part[part.shape[0] // 2 :, -1:] = value
        return part

    return change


PARTS = (
    placed(np.nan),
    placed(np.inf),
    placed(1e200),
    placed(1j),
    lambda part: part.astype(np.float32),
    lambda part: part.astype(object),
    lambda part: part.astype(str),
    lambda part: part.astype("datetime64[s]"),
    lambda part: np.full(part.shape, "word"),
    lambda part: part[:, :-1],
    lambda part: part[:, :0],
    lambda part: np.column_stack([part, part]),
    lambda part: part[:-1],
    lambda part: part[:0],
    lambda part: part[:, 0],
    lambda part: part[None],
    lambda part: part[:0, :-1],
    lambda part: part.tolist(),
    lambda part: np.ma.masked_greater(part, 0.0),
    lambda part: np.asfortranarray(part),
    lambda part: sparse.csr_array(part),
    lambda part: None,
    lambda part: 1.0,
    lambda part: pd.DataFrame(part),
    lambda part: pd.DataFrame(part, columns=NAMES).assign(b="text"),
    failing,
)
"""What a partition is found to be."""

WHOLES = (
    lambda X: X.rechunk((X.chunks[0], 1)),
    lambda X: X[X[:, 0] > -10.0],
    lambda X: X[X[:, 0] > 0.5],
    lambda X: X[:0],
    lambda X: X[:1],
    lambda X: X[:, :0],
    lambda X: X[:, 0],
    lambda X: X[0, 0],
    lambda X: X[:, :, None],
    lambda X: X.astype(np.float32),
    lambda X: X.astype(str),
    lambda X: X > 0.0,
    lambda X: X + 1j,
    lambda X: da.concatenate([da.zeros((0, COLUMNS)), X, da.zeros((0, COLUMNS))]),
    lambda X: X.map_blocks(lambda part: np.ma.masked_greater(part, 0.0)),
    lambda X: dask.delayed(X),
    lambda X: X.to_delayed().ravel()[0],
    lambda X: X.to_delayed().ravel().tolist(),
    lambda X: X.sum(),
    lambda X: da.from_array(np.zeros((ROWS, COLUMNS)), chunks=7),
    lambda X: X.map_blocks(lambda part: sparse.csr_array(part), dtype=float),
)
"""Other collections than one array in rows."""


def frame(random, values):
    """Return a data frame, some of whose partitions may differ."""
    parts = [pd.DataFrame(v, columns=NAMES) for v in np.array_split(values, 3)]
    meta = parts[0].iloc[:0]
    changes = (
        lambda part: part,
        lambda part: part[["b", "a", "c"]],
        lambda part: part.rename(columns={"a": "z"}),
        lambda part: part.drop(columns="c"),
        lambda part: part.assign(d=1.0),
        lambda part: part.assign(b="text"),
        lambda part: part.assign(b=pd.Series([None] * len(part), dtype=object)),
        lambda part: part.assign(b=part["b"].astype("Float64")),
        lambda part: part.assign(b=part["b"].where(part["b"] > 0.0)),
        lambda part: part.iloc[:0],
        lambda part: part.iloc[:0][["b", "a", "c"]],
        lambda part: part.set_axis(["a", "a", "b"], axis=1),
        lambda part: part.assign(b=part["b"].astype("category")),
        lambda part: part.to_numpy(),
        failing,
    )
    change = changes[random.integers(len(changes))]
    chosen = int(random.integers(3)) if random.random() < 0.8 else None
    if chosen is None and change is not failing:
        meta = change(meta) if isinstance(change(meta), pd.DataFrame) else meta

    def task(number):
        part = parts[number]
        return tried(change, part) if chosen in (number, None) else part

    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(task, range(3), meta=meta, enforce_metadata=False)


TARGETS = (
    lambda y: y.compute(),
    lambda y: y.rechunk(13),
    lambda y: y[:-1],
    lambda y: y[y > -99.0],
    lambda y: y[:, None],
    lambda y: da.stack([y, y[::-1]], axis=1),
    lambda y: da.where(da.arange(y.shape[0]) == 5, np.nan, y),
    lambda y: y.astype(str),
    lambda y: y.astype(object),
    lambda y: da.zeros_like(y),
    lambda y: dd.from_dask_array(y),
    lambda y: dd.from_dask_array(y).to_frame(),
    lambda y: dask.delayed(y.compute()),
    lambda y: y.map_blocks(failing, dtype=y.dtype),
    lambda y: y[0],
    lambda y: y.to_delayed().tolist(),
    lambda y: pd.Series(y.compute()),
)

WEIGHTS = (
    lambda w: w,
    lambda w: da.from_array(w, chunks=11),
    lambda w: da.from_array(w, chunks=11)[:-1],
    lambda w: np.where(np.arange(w.size) == 3, 0.0, w),
    lambda w: da.from_array(-w, chunks=11),
    lambda w: dask.delayed(w),
    lambda w: dd.from_dask_array(da.from_array(w, chunks=11)),
)

STORAGES = (
    "auto", "low_rank", "dense", "lazy", LowRank(tol=1e-12),
    LowRank(tol=1e-12, folder="/dev/shm"), LowRank(first=2),
    LowRank(max_rank=5), LowRank(folder="/tmp/nowhere/at/all"), None, 3,
)  # fmt: skip

OTHERS = (
    "LpMKLRegressor", "HKLRegressor", "FixedWeightsMKLRegressor", "GroupOMPRegressor",
    "SpicyMKLRegressorCV", "LpMKLRegressorCV", "OneClassMKL", "MKLRegressor",
    "FixedWeightsMKLRegressorCV", "SpicyMKLClassifierCV",
)  # fmt: skip


@cache
def cluster():
    """Start two workers, which are threads, once for a process."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    return LocalCluster(**settings, dashboard_address=":0", silence_logs=50)


def lose_a_worker(progress):
    """Take a worker away in the middle of a fit, with all that it holds.

    Never the last one, as every output of a fit has a first iteration: without workers
    Dask waits until some come.
    """
    here = cluster()
    if progress.iteration == 1 and len(here.scheduler.workers) > 1:
        address = next(iter(here.scheduler.workers))
        here.sync(here.scheduler.remove_worker, address, stimulus_id="an attack")


def run_one(seed):
    """Return the findings of one fit in partitions: (category, sentence) pairs."""
    random = np.random.default_rng([seed, 31])
    found = []
    on_workers = random.random() < CLUSTERED
    scheduler = str(random.choice(["synchronous", "threads"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not on_workers:
            with dask.config.set(scheduler=scheduler):
                attempt(random, found)
            return found
        with Client(cluster(), set_as_default=False) as client, client.as_current():
            assert get_client() is client
            attempt(random, found, lose_a_worker if random.random() < 0.5 else None)
        if len(cluster().scheduler.workers) < 2:
            cluster().close()
            cluster.cache_clear()
    return found


def attempt(random, found, callback=None):
    """Mutate, fit and predict, as far as it goes."""
    X, y, weights, model = mutated(random)
    settings = {} if callback is None else {"callback": callback}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, **weights, **settings)
    except Exception as error:
        if set(vars(model)) != set(model.get_params(deep=False)):
            found.append(("inconsistent", "a failed fit left attributes"))
        found += judged(error)
        return
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    if np.max(model.duality_gap_, initial=0.0) > TOL and not warned:
        found.append(("unwarned", f"a gap of {np.max(model.duality_gap_):.1e}"))
    try:
        compare(model, X, y, weights, found)
    except Exception as error:
        found.append(("inconsistent", f"accepted, but {described(error)}"))
        return
    try:
        new = mutated(random)[0]
        answers = model.predict(new)
        answers = answers.compute() if hasattr(answers, "compute") else answers
    except Exception as error:
        found += judged(error)
        return
    try:
        whole = computed(new)
        # Of no rows in memory no estimator of scikit-learn makes a prediction.
        expected = model.predict(whole) if len(whole) else answers[:0]
        if not same(answers, expected):
            off = f"{answers.dtype}{answers.shape} for {expected.dtype}{expected.shape}"
            found.append(("inconsistent", f"other predictions: {off}"))
    except Exception as error:
        found.append(("inconsistent", f"predicted, but {described(error)}"))


def judged(error):
    """A sentence, or the error of the user's own task, in which nothing is ours."""
    frames = traceback.extract_tb(error.__traceback__)
    by_dask = [
        "/dask/" in frame.filename or "/distributed/" in frame.filename
        for frame in frames
    ]
    computes = any(
        dask and frame.name in ("compute", "persist", "gather")
        for dask, frame in zip(by_dask, frames, strict=True)
    )
    # What comes after the last line of Dask's is a task.
    task = frames[len(frames) - by_dask[::-1].index(True) :] if computes else frames
    ours = any(frame.filename.startswith(PACKAGE) for frame in task)
    if isinstance(error, TaskError) or (computes and not ours):
        return []
    if not isinstance(error, DOCUMENTED):
        return [("exceptions", described(error))]
    return judge_error(error)


def is_vector_of_numbers(y):
    """Whether targets are as they were made: changes are made of those.

    Their number is known, where they have not been filtered: Dask cuts no others.
    """
    if not isinstance(y, da.Array) or y.ndim != 1 or y.dtype.kind != "f":
        return False
    return not np.isnan(y.shape[0])


def mutated(random):  # noqa: C901 - a choice among the things that are mutated
    """Return data, targets, weights and a model, some of which are odd."""
    values, target = table(random)
    X = da.from_array(values, chunks=(cuts(random, ROWS), (COLUMNS,)))
    classify = bool(random.random() < 0.4)
    target = np.where(target > 0.7, 2.0, 1.0) if classify else target
    y = da.from_array(target, chunks=int(random.integers(5, 41)))
    kind = "SpicyMKLClassifier" if classify else "SpicyMKLRegressor"
    storage, weights = LowRank(tol=1e-12), {}
    for _ in range(1 + (random.random() < 0.2)):
        what = random.choice(
            ["part", "whole", "frame", "y", "weights", "storage", "kind"],
            p=[0.25, 0.2, 0.2, 0.15, 0.08, 0.07, 0.05],
        )
        if what in ("part", "whole", "frame") and not plain(X):
            continue
        if what == "part":
            X = one(random, X, PARTS[random.integers(len(PARTS))])
        elif what == "whole":
            X = WHOLES[random.integers(len(WHOLES))](X)
        elif what == "frame":
            X = frame(random, values)
        elif what == "y" and is_vector_of_numbers(y):
            y = TARGETS[random.integers(len(TARGETS))](y)
        elif what == "weights":
            w = random.uniform(0.5, 2.0, ROWS)
            weights = {"sample_weight": WEIGHTS[random.integers(len(WEIGHTS))](w)}
        elif what == "storage":
            storage = STORAGES[random.integers(len(STORAGES))]
        elif what == "kind":
            kind, weights = OTHERS[random.integers(len(OTHERS))], {}
    model = getattr(estimators, kind)()
    if kind.startswith("Spicy") and not kind.endswith("CV"):
        model.set_params(kernels=KERNELS, alpha=0.02, tol=TOL, storage=storage)
    return X, y, weights, model


def same(answers, expected):
    """Whether labels are equal, and values but for rounding."""
    if answers.dtype.kind != "f" or answers.shape != expected.shape:
        return np.array_equal(answers, expected)
    return np.allclose(answers, expected, rtol=1e-9, atol=1e-9)


def plain(X):
    """Return whether a mutation is yet to come that needs all of the numbers."""
    held = isinstance(X, da.Array) and X.shape == (ROWS, COLUMNS)
    return held and X.dtype.kind in "biuf"


def computed(X):
    """Return what the partitions of a collection hold, one below another."""
    if isinstance(X, da.Array) and X.ndim == 2:
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        # Partitions that say that they have no rows are nobody's to compute.
        tasks = zip(X.chunks[0], X.to_delayed().ravel(), strict=True)
        parts = dask.compute(*(task for size, task in tasks if size != 0))
        rows = [np.asarray(part, float) for part in parts if len(part)]
        return np.concatenate(rows) if rows else np.empty((0, X.shape[1]))
    if isinstance(X, dd.DataFrame):
        parts = [part for part in dask.compute(*X.to_delayed()) if len(part)]
        if not parts:
            return X.compute()
        if not all(isinstance(part, pd.DataFrame) for part in parts):
            return np.concatenate(parts)
        # As Dask says that they are called, wherever they stand.
        return pd.concat([part[list(X.columns)] for part in parts])
    return X.compute() if hasattr(X, "compute") else X


def compare(model, X, y, weights, found):
    """Hold a model to the one that is fitted in memory on the same data."""
    whole = computed(X)
    weights = {name: computed(values) for name, values in weights.items()}
    twin = clone(model).set_params(storage="dense")
    twin.fit(whole, computed(y), **weights)
    off = np.max(np.abs(np.asarray(model.objective_) / twin.objective_ - 1.0))
    # Of fewer landmarks come other scales of the kernels.
    exact = isinstance(model.storage, LowRank) and model.storage.tol == 1e-12
    if exact and off > 3.0 * TOL:
        found.append(("inconsistent", f"objective off by {off:.1e}"))
