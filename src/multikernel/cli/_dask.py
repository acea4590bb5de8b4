"""Fits on a Dask cluster: the option, the files, and scaling in partitions."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from multikernel.cli._tables import (
    Table,
    check_columns,
    features_of,
    readable,
    targets_of,
)
from multikernel.cli._training import with_scaling

LOCAL = "local"
"""What stands for a cluster on this machine, in place of an address."""


@dataclass(frozen=True, eq=False)
class PartitionedTable(Table):
    """A table whose `X` is a data frame of Dask."""


@contextmanager
def on_cluster(where: str | None) -> Iterator[None]:
    """Have a client of a cluster while a command runs.

    Parameters
    ----------
    where : str or None
        "local" for workers of one thread each on this machine, or the address of a
        scheduler; None for no cluster.

    Raises
    ------
    ValueError
        If Dask is not installed, or there is no scheduler.
    """
    if where is None:
        yield
        return
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError(
            '--dask needs Dask: pip install "multikernel[dask]".'
        ) from error
    with ExitStack() as stack:
        # On a machine without a screen nobody looks at a dashboard.
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

    Parameters
    ----------
    path : Path
        A file, a pattern such as ``rows/*.parquet``, or a folder of Parquet files.
    target : str
        Column of the targets.
    drop : list of str
        Columns to leave out.

    Raises
    ------
    ValueError
        As `read_table`; a column without numbers is found in the first rows.
    """
    import dask.dataframe as dd

    if path.suffix not in (".csv", ".parquet") and not path.is_dir():
        raise ValueError(
            f"Cannot read {path} on a cluster: the name must end in .csv or .parquet."
        )
    reader = dd.read_csv if path.suffix == ".csv" else dd.read_parquet
    with readable(path, "table that Dask can read"):
        frame = reader(str(path))
        head = frame.head(npartitions=-1)
    named = [*drop, target]
    check_columns(path, frame.columns, named)
    features_of(path, head.drop(columns=named))
    with readable(path, "table that Dask can read"):
        y = frame[target].compute().to_numpy()
    X = frame.drop(columns=named).astype(np.float64)
    return PartitionedTable(X, targets_of(path, y, y.shape[0]))


def fitted_partitions(
    estimator: Any, table: Table, scale: bool, watch: Any
) -> tuple[Pipeline, float]:
    """Return the fitted pipeline of a table in partitions, and its score.

    Parameters
    ----------
    estimator : estimator
        The model, not fitted.
    table : Table
        The data.
    scale : bool
        Whether columns are standardised.
    watch : callable
        Shown every step.
    """
    X = table.X
    pipeline = with_scaling(estimator, table, scale)
    if scale:
        mean, deviation = (m.compute() for m in (X.mean(), X.std(ddof=0)))
        # Two rows with the mean and the variance of all.
        pair = pd.DataFrame([mean - deviation, mean + deviation])
        X = X.map_partitions(pipeline["scale"].fit(pair).transform, meta=X)
    estimator.fit(X, table.y, callback=watch)
    predicted = estimator.predict(X).compute()
    if hasattr(estimator, "classes_"):
        return pipeline, float(np.mean(predicted == table.y))
    left = float(np.sum((table.y - predicted) ** 2))
    return pipeline, 1.0 - left / float(np.sum((table.y - table.y.mean()) ** 2))
