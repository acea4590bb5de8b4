"""Data larger than memory: files read by batches, or in partitions on a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from multikernel._install import how_to_install
from multikernel.cli._columns import parted
from multikernel.cli._console import LiveShare
from multikernel.cli._frames import naming_damage
from multikernel.cli._tables import Table, check_reach, features_of, targets_of
from multikernel.cli._training import scaler, with_scaling
from multikernel.datasets import read_batches
from multikernel.datasets.files import BATCH_ROWS, FORMATS as STREAMED, check_columns
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
    if path.suffix not in STREAMED:
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
            fitted.partial_fit(self.X.iloc[rows])
            tell(0.5 * rows.stop / len(self))
        for rows in gen_batches(len(self), BATCH_ROWS):
            self.values[rows] = fitted.transform(self.X.iloc[rows])
            tell(0.5 + 0.5 * rows.stop / len(self))
        return fitted

    def fitted(self, model: Any, *, scale: bool, watch: Any) -> tuple[Pipeline, float]:
        """Fit a model; return it behind its scaler, with its score."""
        steps = [("scale", self.scale(watch.scaling))] if scale else []
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


def columns_of(path: Path) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file."""
    with naming_damage(path, "table"):
        if path.suffix == ".csv":
            return [str(name) for name in pd.read_csv(path, nrows=0)]
        from pyarrow.parquet import read_schema

        return list(read_schema(path).names)


@contextmanager
def opened_batches(
    path: Path, drop: Sequence[str] | None, doing: str
) -> Iterator[Iterator[Any]]:
    """Lend the batches of a file, without some columns, and show how far one is."""
    dropped = parted(drop, columns_of(path)) if drop else []
    with LiveShare(f"{doing} {path.name}") as tell:
        yield read_batches(path, drop=dropped, tell=tell)


def read_spooled(
    path: Path, target: str, drop: Sequence[str], folder: Path | None
) -> SpooledTable:
    """Read a CSV or Parquet file into a temporary file of numbers, in a folder."""
    if folder is not None:
        made_folder(folder)
    with opened_batches(path, drop, "Reading") as batches:
        table = spool(batches, target, folder)
    if not table.X.shape[1]:
        raise ValueError(f"{path} has no features: no other columns than those named.")
    frame = pd.DataFrame(table.X, columns=list(table.names or ()), copy=False)
    return SpooledTable(frame, table.y, values=table.X, path=path)


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


def read_partitions(path: Path, target: str, drop: list[str]) -> PartitionedTable:
    """Open CSV or Parquet files as partitions, and fetch the targets.

    The path may be a file, a pattern such as ``rows/*.parquet``, or a folder of Parquet
    files. A column without numbers is found in the first rows.
    """
    import dask.dataframe as dd

    if path.suffix not in (".csv", ".parquet") and not path.is_dir():
        raise ValueError(
            f"Cannot read {path} on a cluster: the name must end in .csv or .parquet."
        )
    reader = dd.read_csv if path.suffix == ".csv" else dd.read_parquet
    with naming_damage(path, "table that Dask can read"):
        frame = reader(str(path))
        head = frame.head(npartitions=-1)
    named = [*parted(drop, frame.columns), target]
    check_columns(path, frame.columns, named)
    features_of(path, head.drop(columns=named))
    with naming_damage(path, "table that Dask can read"):
        y = frame[target].compute().to_numpy()
    X = frame.drop(columns=named).astype(np.float64)
    return PartitionedTable(X, targets_of(path, y, y.shape[0]), path=path)
