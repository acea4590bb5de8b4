"""Files larger than memory, read in partitions by threads or a Dask cluster."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline

from multikernel._install import how_to_install
from multikernel._typing import Array
from multikernel.cli import _frames
from multikernel.cli._columns import ColumnChoice, say_ignored
from multikernel.cli._features import (
    Table,
    check_limits,
    note_ids,
    numeric_features,
    text_columns,
)
from multikernel.cli._tables import make_table, require_columns
from multikernel.cli._targets import read_target, refuse_odd_cells
from multikernel.cli._training import with_steps
from multikernel.datasets.csv_form import (
    DECIMALS,
    MISSING,
    CsvForm,
    decimal_mark,
    find_form,
)
from multikernel.datasets.files import FORMATS as STREAMED
from multikernel.estimators import ProgressBar
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.tasks import explained_deviance, without_offset
from multikernel.gram import LowRank
from multikernel.gram.memory import available_bytes
from multikernel.inspection.pipelines import final_estimator

if TYPE_CHECKING:
    import dask.dataframe

LOOK_ROWS = 10_000
"""Number of rows that determine the kinds of columns."""

BLOCK_BYTES = 2**24
"""Bytes of a CSV file in one partition; row groups of Parquet files are not split."""

CONTENTS = {
    ",": "numbers with decimal commas",
    ".": "whole numbers, beside decimal commas in other columns",
    "true": "only true and false",
}
"""Contents of a column's first rows, by the column's mark (`_pandas_settings`)."""


def reads_partitions(path: Path, stream: bool | None, *, folder: bool = False) -> bool:
    """Return whether to read a file in partitions; `stream` decides unless None."""
    # If `stream` is None, only large files are read in partitions. If there is a folder
    # for low-rank factors (`folder`), files of any size are read in partitions.
    if path.suffix.lower() not in STREAMED:
        if stream:
            raise ValueError(
                f"--stream supports files ending in {' or '.join(STREAMED)}, got "
                f"{path}: remove --stream, or save the data as CSV or Parquet."
            )
        return False
    if stream is not None or not path.exists():
        return bool(stream)
    # Reading a file takes three times its size, and kernels need memory too.
    return folder or 8 * path.stat().st_size > available_bytes()


@dataclass(frozen=True, eq=False)
class PartitionedTable(Table):
    """A table whose `X` is a Dask data frame of the files at `path`."""

    path: Path = field(kw_only=True)
    # Folder for low-rank factors of the kernels; None to store them on the cluster.
    folder: Path | None = field(kw_only=True)

    def __len__(self) -> int:
        return len(self.y)

    def fitted(
        self, model: BaseMKL, *, scale: bool, watch: ProgressBar
    ) -> tuple[Pipeline, float]:
        """Fit a model, on standardized data if `scale`; return pipeline and score."""
        X = self.X
        if self.folder is not None and model.storage in ("auto", "low_rank"):
            model.set_params(storage=LowRank(folder=str(self.folder)))
        pipeline = with_steps(model, self, scale=scale)
        if scale:
            mean, deviation = (m.compute() for m in (X.mean(), X.std(ddof=0)))
            if not np.isfinite(mean + deviation).all():
                check_limits(self.path, X.abs().max().compute().to_frame().T)
            # These two rows have the mean and the variance of all rows.
            two_rows = pd.DataFrame([mean - deviation, mean + deviation])
            X = X.map_partitions(pipeline["scale"].fit(two_rows).transform, meta=X)
        model.fit(X, self.y, callback=watch)
        return pipeline, score_of(model, self.y, model.predict(X).compute())


def score_of(
    model: BaseEstimator,
    y: NDArray[np.generic],
    predicted: NDArray[np.generic],
    offset: Array | None = None,
) -> float:
    """Return the score of predictions, equal to ``model.score`` on their rows."""
    if hasattr(model, "classes_"):
        return float(accuracy_score(y, predicted))
    deviance = final_estimator(model)._state.deviance
    values = [np.asarray(v)[None] for v in (y, predicted)]
    weights: list[Array | None] = [None]
    if offset is not None:
        values, weights = without_offset(offset[None], values, weights, deviance)
    return explained_deviance(values[0], values[1], weights, deviance)


LOCAL = "local"
"""Value of --dask for a cluster on this machine."""


@contextmanager
def on_cluster(cluster: str | None) -> Iterator[None]:
    """Connect to a Dask cluster ("local" or a scheduler address) during a command."""
    if cluster is None:
        yield
        return
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise ValueError(f"--dask requires Dask: {how_to_install('cli')}.") from error
    # Without an address, the client starts workers on this machine.
    where: dict[str, object] = {"address": cluster, "timeout": "10s"}
    if cluster == LOCAL:
        where = {"threads_per_worker": 1, "dashboard_address": ":0"}
    # 40 logs errors only: otherwise Dask warns that its dashboard is missing.
    with dask.config.set({"distributed.logging.distributed": 40}):
        try:
            client = Client(**where)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"--dask {cluster}: no scheduler responds ({error}). Correct the "
                "address, start a scheduler there, or omit --dask."
            ) from error
        with client:
            yield


def open_partitions(
    path: Path, choice: ColumnChoice, *, small: bool = True
) -> tuple["dask.dataframe.DataFrame", pd.DataFrame, list[str]]:
    """Return files as a Dask data frame, its first rows, and the ignored columns."""
    # The path may be a file, a pattern such as ``rows/*.parquet``, or a folder of
    # Parquet files. Dask chooses the size of partitions unless `small` is True.
    blocksize = BLOCK_BYTES if small else "default"
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise ValueError(
            f"Reading files in partitions requires Dask: {how_to_install('cli')}."
        ) from error
    if path.suffix.lower() == ".csv":
        paths = _files_of(path)
        form = _shared_form(paths)
        head = _frames.read_frame(paths[0], choice=choice, n_rows=LOOK_ROWS)
        settings, marks = _pandas_settings(paths[0], form, head, choice)
        frame = dd.read_csv(str(path), blocksize=blocksize, **settings)
        if marks:
            meta = frame._meta.astype(dict.fromkeys(marks, np.float64))
            frame = frame.map_partitions(_rows_with_numbers, path, marks, meta=meta)
    elif path.suffix.lower() == ".parquet" or path.is_dir():
        _files_of(path)[0].stat()  # raises if there is no file
        with _frames.explain_damage(path, "CSV or Parquet file"):
            row_groups = "adaptive" if small else "infer"
            frame = dd.read_parquet(
                str(path), split_row_groups=row_groups, blocksize=blocksize
            )
            first_rows = frame.head(npartitions=-1)
        # pandas reads categories that are numbers as numbers.
        kinds = first_rows.select_dtypes("category").dtypes
        coded = [
            n for n in kinds.index if kinds[n].categories.dtype.kind in _frames.NUMBERS
        ]
        numeric = dict.fromkeys(coded, np.float64)
        frame, first_rows = frame.astype(numeric), first_rows.astype(numeric)
        columns = choice.split_lists(first_rows.columns)
        head = _frames.without_row_numbers(path, first_rows, columns)
    else:
        raise ValueError(
            f"Cannot read {path} in partitions: the name must end in .csv or .parquet."
        )
    return frame, head, [name for name in frame.columns if name not in head]


def known_partitions(path: Path, choice: ColumnChoice) -> Iterator[Table]:
    """Yield the partitions of a file with the columns of a saved model."""
    frame, _, ignored = open_partitions(path, choice)
    columns = choice.split_lists(frame.columns)
    require_columns(path, frame.columns, columns)
    required = {*(choice.only or frame.columns), *columns.lists}
    unused = [n for n in frame.columns if n not in required and n not in ignored]
    say_ignored("that the model does not use", unused)
    frame = frame.drop(columns=[*unused, *ignored, *columns.drop], errors="ignore")
    columns = replace(columns, drop=())
    with closing(ProgressBar(f"Predicting {path.name}")) as bar:
        for index, partition in enumerate(frame.partitions):
            with _frames.explain_damage(path, "CSV or Parquet file"):
                rows = partition.compute()
            if len(rows):
                yield make_table(path, rows, columns)
                bar.show("", (index + 1) / frame.npartitions)


def read_partitions(
    path: Path, choice: ColumnChoice, folder: Path | None = None
) -> PartitionedTable:
    """Open CSV or Parquet files as partitions, and load the single target column."""
    # `folder` stores low-rank factors; partitions are then small. Without a folder,
    # Dask chooses their size.
    (target,) = choice.target
    frame, head, ignored = open_partitions(path, choice, small=folder is not None)
    columns = choice.split_lists(frame.columns)
    require_columns(path, frame.columns, columns)
    not_features = [*columns.drop, *columns.id, target]
    features = head.drop(columns=not_features, errors="ignore")
    texts = text_columns(frame[[*features]], look=False)
    if texts:
        refuse_odd_cells(features[texts])
        raise ValueError(
            f"{path} has non-numeric columns: {', '.join(texts)}. Ignore these with "
            "--drop. To use them as categories, read the whole file: use --no-stream, "
            "and omit --dask."
        )
    numeric_features(path, features)
    note_ids(features, ())
    with _frames.explain_damage(path, "CSV or Parquet file"):
        y = frame[[target]].compute()
    if path.suffix.lower() == ".csv":
        y = _frames.converted_cells(_files_of(path)[0], y, choice)
    unused = [*dict.fromkeys([*not_features, *ignored])]
    X = frame.drop(columns=unused).astype(np.float64)
    y = read_target(path, y[target].to_numpy(), len(y), target, choice)
    return PartitionedTable(X, y, path=path, folder=folder)


def _files_of(path: Path) -> list[Path]:
    """Return the sorted files that match a pattern; without matches, the path."""
    return [*map(Path, sorted(glob(str(path))))] or [path]


def _shared_form(paths: Sequence[Path]) -> CsvForm:
    """Return the form of CSV files; raise unless all can be read in partitions."""
    forms: dict[object, CsvForm] = {}
    for path in paths:
        with path.open("rb") as file:
            form = find_form(file, path)
        forms.setdefault((form.separator, form.names, form.n_lines), form)
        if len(forms) > 1:
            raise ValueError(
                f"{path} and {paths[0]} begin differently, but files that are read "
                "together must have the same header, the same separator, and the same "
                f"number of lines above the header: rewrite {path} with the separator, "
                f"the columns and the lines above its header as in {paths[0]}."
            )
    (form,) = forms.values()
    odd_name = next((name for name in form.names if len(name.splitlines()) > 1), None)
    if odd_name is not None:
        raise ValueError(
            f"The column name {odd_name!r} of {paths[0]} contains a line break, so the "
            "file cannot be read in partitions: rename the column, or read the whole "
            "file: use --no-stream, and omit --dask."
        )
    return form


def _pandas_settings(
    path: Path, form: CsvForm, head: pd.DataFrame, choice: ColumnChoice
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return settings for pandas, and a mark for each column to convert later."""
    # `head`, the first rows as `read_frame` returns them, decides which columns are
    # numeric. The mark of a column is its decimal mark, "," or "." (see
    # `decimal_mark`), or "true" for truth values. pandas converts numbers with points,
    # unless another column has decimal commas. Other numbers are first read as text.
    with path.open("rb") as file:
        rows = _frames.cells_of(file, form, n_rows=LOOK_ROWS)
    names = choice.split_lists(form.names)
    unused = names.ignored(form.names) - {*names.date, *(names.only or ())}
    texts = names.always_text | unused
    # A fit converts its target as a whole.
    texts |= set() if choice.is_known else {*names.target}
    marks: dict[str, str] = {}
    for name in [n for n in form.names if n in head and n not in texts]:
        if head[name].dtype.kind in _frames.NUMBERS:
            mark = decimal_mark(rows[name].dropna(), form.separator)
            marks[name] = "true" if head[name].dtype.kind == "b" else mark or "."
    has_commas = "," in marks.values()
    numeric = {n for n, mark in marks.items() if mark == "." and not has_commas}
    settings = _frames.pandas_settings(form) | {
        "sample": min(BLOCK_BYTES, 2**18),  # bytes from which Dask infers types
        "skiprows": form.n_lines,
        # A column of integers may have fractions or missing cells in later rows.
        "dtype": {n: np.float64 if n in numeric else str for n in form.names},
        "na_values": {n: ["", *MISSING] if n in marks else [""] for n in form.names},
    }
    return settings, {name: marks[name] for name in marks if name not in numeric}


def _rows_with_numbers(
    rows: pd.DataFrame, path: Path, marks: Mapping[str, str]
) -> pd.DataFrame:
    """Return rows with the text columns in `marks` converted to numbers."""
    columns = {}
    for name, mark in marks.items():
        cells = rows[name].dropna().astype(object)
        odd = [cell for cell in cells if not _is_number(cell, mark)]
        if odd:
            raise _frames.CellError(
                f"Column {name!r} of {path} holds {odd[0]!r}, but its first "
                f"{LOOK_ROWS} rows hold {CONTENTS[mark]}: correct the cell, or ignore "
                f"the column with --drop '{name}'."
            )
        numbers = _frames.marked_numbers(cells, None if mark == "true" else mark)
        columns[name] = pd.Series(numbers, dtype=np.float64).reindex(rows.index)
    return rows.assign(**columns)


def _is_number(cell: str, mark: str) -> bool:
    """Return whether a cell is a number with the decimal mark `mark`."""
    # Columns of truth values have the mark "true" (see `_pandas_settings`).
    if mark == "true":
        return cell.lower() in _frames.TRUTH
    # Beside decimal commas, a point may separate thousands.
    is_ambiguous = mark == "." and "." in cell
    return not is_ambiguous and DECIMALS[mark].fullmatch(cell) is not None
