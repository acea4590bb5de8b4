"""Data larger than memory: files read by batches, or in partitions on a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from multikernel._install import how_to_install
from multikernel.cli._columns import PLAIN, ColumnChoice, parted
from multikernel.cli._doubts import caution_ids, find_wanted, leave_out
from multikernel.cli._frames import Plan, naming_damage, read_frame
from multikernel.cli._tables import Table, check_reach, features_of, refuse_empty
from multikernel.cli._targets import refuse_odd_cells, targets_of
from multikernel.cli._training import scaler, with_scaling
from multikernel.datasets import read_batches
from multikernel.datasets.csv_batches import number_types
from multikernel.datasets.csv_form import MISSING, find_form
from multikernel.datasets.files import BATCH_ROWS, FORMATS as STREAMED, check_columns
from multikernel.estimators import ProgressBar
from multikernel.estimators.read.batches import spool
from multikernel.gram.memory import available_bytes
from multikernel.gram.temporary import made_folder

LARGE_SHARE = 8
"""A file is read by batches if the memory is not this many times its size: reading it
whole takes three times its size, and kernels are to be held as well."""


def by_batches(path: Path, asked: bool | None, *, folder: bool = False) -> bool:
    """Return whether a file is to be read by batches.

    None leaves it to its size, and to whether there is a `folder` for large files.
    Asked for, a file that cannot be streamed raises.
    """
    if path.suffix.lower() not in STREAMED:
        if asked:
            raise ValueError(
                f"--stream is for files ending in {' or '.join(STREAMED)}, and {path} "
                "is none."
            )
        return False
    if asked is not None or not path.exists():
        return bool(asked)
    return folder or LARGE_SHARE * path.stat().st_size > available_bytes()


@dataclass(frozen=True, eq=False)
class SpooledTable(Table):
    """A table in a temporary file.

    The data frame `X` is a view of the array `values`: what is written to that is
    written to the file. It was read from the file `path`.
    """

    values: Any = field(kw_only=True)
    path: Path = field(kw_only=True)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def scale(self, tell: Callable[[float], None]) -> Any:
        """Standardize the columns, in the file, and return the scaler."""
        fitted = scaler(self)
        for rows in gen_batches(len(self), BATCH_ROWS):
            check_reach(self.path, self.X.iloc[rows])
            with np.errstate(invalid="ignore"):  # a mean of no numbers
                fitted.partial_fit(self.X.iloc[rows])
            tell(0.5 * rows.stop / len(self))
        counts = np.broadcast_to(fitted.n_samples_seen_, self.X.shape[1:])
        refuse_empty(self.X, counts)  # one count for all if nothing is missing
        for rows in gen_batches(len(self), BATCH_ROWS):
            self.values[rows] = fitted.transform(self.X.iloc[rows])
            tell(0.5 + 0.5 * rows.stop / len(self))
        return fitted

    def fitted(self, model: Any, *, scale: bool, watch: Any) -> tuple[Pipeline, float]:
        """Fit a model; return it behind its scaler, with its score."""

        def tell(share: float) -> None:
            watch.show(f"scaling columns, {share:.0%}")

        steps = [("scale", self.scale(tell))] if scale else []
        model.fit(self.X, self.y, callback=watch)
        batches = gen_batches(len(self), BATCH_ROWS)
        parts = [model.predict(self.X.iloc[rows]) for rows in batches]
        score = score_of(model, self.y, np.concatenate(parts))
        return Pipeline([*steps, ("model", model)]), score


@dataclass(frozen=True, eq=False)
class PartitionedTable(Table):
    """A table whose `X` is a data frame of Dask, read from `path`."""

    path: Path = field(kw_only=True)

    def fitted(self, model: Any, *, scale: bool, watch: Any) -> tuple[Pipeline, float]:
        """Fit a model; return it behind its scaler, with its score."""
        X = self.X
        pipeline = with_scaling(model, self, scale=scale)
        if scale:
            mean, deviation = (m.compute() for m in (X.mean(), X.std(ddof=0)))
            if not np.isfinite(mean + deviation).all():
                check_reach(self.path, X.abs().max().compute().to_frame().T)
            # Two rows with the mean and the variance of all.
            pair = pd.DataFrame([mean - deviation, mean + deviation])
            X = X.map_partitions(pipeline["scale"].fit(pair).transform, meta=X)
        model.fit(X, self.y, callback=watch)
        return pipeline, score_of(model, self.y, model.predict(X).compute())


LargeTable = SpooledTable | PartitionedTable


def one_target(target: list[str], reader: str) -> str:
    """Return the column of targets where a reader takes one at most."""
    if len(target) > 1:
        raise ValueError(f"{reader} takes one --target, got {', '.join(target)}.")
    return target[0]


def score_of(model: Any, y: Any, predicted: Any) -> float:
    """Return what ``model.score`` would, of predictions."""
    measure = accuracy_score if hasattr(model, "classes_") else r2_score
    return float(measure(y, predicted))


def look_at(path: Path, plan: Plan) -> tuple[pd.DataFrame, list[str]]:
    """Return the first rows of a file, and the names of its ignored columns.

    This function prints the notes on reading, which depend on the first rows only.
    """
    if path.suffix.lower() == ".csv":
        frame = read_frame(path, plan=plan, n_rows=10_000)
        with path.open("rb") as file:
            names = find_form(file, path).names
        return frame, [name for name in names if name not in frame]
    first = next(read_batches(path), None)
    whole = pd.DataFrame() if first is None else first.to_pandas()
    frame = leave_out(path, whole, plan([*whole]))
    return frame, [str(name) for name in whole if name not in frame]


@contextmanager
def opened_batches(
    path: Path, drop: Sequence[str], doing: str, text: Sequence[str] = ()
) -> Iterator[Iterator[Any]]:
    """Lend the batches of a file, without some columns, and show how far one is."""
    with closing(ProgressBar(f"{doing} {path.name}")) as bar:
        tell = partial(bar.show, "")
        yield read_batches(path, drop=drop, text=text, tell=tell)


def read_spooled(
    path: Path,
    target: str,
    drop: Sequence[str],
    folder: Path | None,
    choice: ColumnChoice = PLAIN,
) -> SpooledTable:
    """Read a CSV or Parquet file into a temporary file of numbers, in a folder."""
    if folder is not None:
        made_folder(folder)
    plan = partial(find_wanted, drop=drop, target=[target], choice=choice, only=None)
    head, left_out = look_at(path, plan)
    dropped = [*parted(drop, [*head, *left_out]), *left_out]
    features = head.drop(columns=[target, *dropped], errors="ignore")
    refuse_odd_cells(features)
    caution_ids(features, ())
    text = [target] if target in head and head[target].dtype.kind not in "biuf" else []
    with opened_batches(path, dropped, "Reading", text) as batches:
        table = spool(batches, target, folder)
    if not table.X.shape[1]:
        raise ValueError(f"{path} has no features: no other columns than those named.")
    frame = pd.DataFrame(table.X, columns=list(table.names or ()), copy=False)
    y = targets_of(path, np.asarray(table.y), len(table.X), target, choice)
    return SpooledTable(frame, y, values=table.X, path=path)


LOCAL = "local"
"""What stands for a cluster on this machine, in place of an address."""


@contextmanager
def on_cluster(where: str | None) -> Iterator[None]:
    """Have a client of a cluster while a command runs.

    `where` is "local" for workers of one thread each on this machine, or the address of
    a scheduler; None is no cluster.
    """
    if where is None:
        yield
        return
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError(f"--dask needs Dask: {how_to_install('dask')}.") from error
    with ExitStack() as stack:
        # Errors alone: else Dask warns of a missing dashboard, which nobody needs.
        stack.enter_context(dask.config.set({"distributed.logging.distributed": 40}))
        try:
            if where == LOCAL:
                local = LocalCluster(threads_per_worker=1, dashboard_address=":0")
                where = stack.enter_context(local)
            stack.enter_context(Client(where, timeout="10s"))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"--dask {where}: no scheduler answers ({error})."
            ) from error
        yield


def read_partitions(
    path: Path, target: str, drop: list[str], choice: ColumnChoice = PLAIN
) -> PartitionedTable:
    """Open CSV or Parquet files as partitions, and fetch the targets.

    The path may be a file, a pattern such as ``rows/*.parquet``, or a folder of Parquet
    files. A column without numbers is found in the first rows.
    """
    import dask.dataframe as dd

    plan = partial(find_wanted, drop=drop, target=[target], choice=choice, only=None)
    left_out: list[str] = []
    if path.suffix.lower() == ".csv":
        first = next(map(Path, sorted(glob(str(path)))), path)
        head, left_out = look_at(first, plan)
        frame = dd.read_csv(str(path), **_pandas_settings(first))
    elif path.suffix.lower() == ".parquet" or path.is_dir():
        with naming_damage(path, "table that Dask can read"):
            frame = dd.read_parquet(str(path))
            whole = frame.head(npartitions=-1)
        head = leave_out(path, whole, plan([str(name) for name in whole]))
        left_out = [name for name in whole if name not in head]
    else:
        raise ValueError(
            f"Cannot read {path} on a cluster: the name must end in .csv or .parquet."
        )
    named = [*parted(drop, frame.columns), target]
    check_columns(path, frame.columns, named)
    features = head.drop(columns=named)
    features_of(path, features)
    caution_ids(features, ())
    with naming_damage(path, "table that Dask can read"):
        y = frame[target].compute().to_numpy()
    X = frame.drop(columns=[*named, *left_out]).astype(np.float64)
    y = targets_of(path, y, y.shape[0], target, choice)
    return PartitionedTable(X, y, path=path)


def _pandas_settings(path: Path) -> dict[str, Any]:
    """Return settings with which pandas agrees with the other CSV readers."""
    with path.open("rb") as file:
        form = find_form(file, path)
    types, mark = number_types(path, form, form.names)
    words = {name: ["", *MISSING] if name in types else [""] for name in form.names}
    return {
        "sep": form.separator,
        "decimal": mark,
        "header": None,
        "names": list(form.names),
        "skiprows": form.n_lines,
        "dtype": dict.fromkeys(types, np.float64),
        "keep_default_na": False,
        "na_values": words,
    }
