"""Disks that fill up while something is written: nothing is lost, nothing is left.

A limit on the size of files stands for a full disk: the system answers a write beyond
it as it does one on a full disk, by an error and not by a signal. Each trial does some
work that writes files, once without a limit and then under a random one: it succeeds,
or fails in one sentence, and the folder is then what it was. No file of a work that
succeeds ends at the limit: it would have been cut there without a word.
"""

import gc
import os
import resource
import signal
import tempfile
import warnings
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from attack.inputs import INTERNAL, described

SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where trials write: in memory, as what is synchronized to a disk takes its time."""


@contextmanager
def files_up_to(n_bytes):
    """Let no file grow beyond a size."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


def contents(folder):
    """Return the bytes of all files below a folder."""
    gc.collect()  # what an error's traceback holds has files
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@cache
def data():
    """Return samples, targets, kernels, and a fitted model."""
    from multikernel import SpicyMKLRegressor
    from multikernel.kernels import GaussianKernel, LinearKernel

    X = np.random.default_rng(0).standard_normal((30, 3))
    y = X[:, 0]
    kernels = [LinearKernel(), GaussianKernel(1.0), GaussianKernel(2.0)]
    return X, y, kernels, SpicyMKLRegressor(kernels).fit(X, y)


def saves(folder):
    """Write a model over an older one."""
    from multikernel import save

    save(data()[-1], folder / "model.skops")


def fits_in_files(folder, **settings):
    """Fit with a storage of files."""
    from multikernel import SpicyMKLRegressor

    X, y, kernels, _ = data()
    SpicyMKLRegressor(kernels, **settings).fit(X, y)


def fits_on_factors(folder):
    """Fit on factors in a folder."""
    from multikernel.gram import LowRank

    fits_in_files(folder, storage=LowRank(folder=folder / "factors"))


def fits_on_partitions(folder):
    """Fit on partitions, whose rows and factors are in files."""
    import dask.array as da

    from multikernel import SpicyMKLRegressor
    from multikernel.gram import LowRank

    X, y, kernels, _ = data()
    storage = LowRank(folder=folder / "factors")
    SpicyMKLRegressor(kernels, storage=storage).fit(da.from_array(X, chunks=15), y)


def reports(folder):
    """Write a report over an older one."""
    from multikernel import report

    X, y, _, model = data()
    report(model, X, y, path=folder / "report.html")


def commands(*arguments):
    """Return what runs a command in a folder; a refusal is an OSError with its text."""

    def run(folder):
        from command_line import run_command

        words = [
            str(folder / word[1:]) if word[0] == "@" else word for word in arguments
        ]
        result = run_command(*words)
        if isinstance(result.exception, SystemExit) and result.exit_code:
            raise OSError(result.stderr)
        if result.exception is not None:
            raise result.exception

    run.__name__ = f"command {arguments[0]}"
    return run


DROP = ("--drop", "y")
LINEAR = ("--kernels", "linear", "--target", "y")

STREAM = ("@old.skops", "@data.csv", *DROP, "--stream")

WORK = (
    saves,
    fits_on_factors,
    fits_on_partitions,
    reports,
    commands("fit", "@data.csv", *LINEAR, "--output", "@model.skops"),
    commands("predict", "@old.skops", "@data.csv", *DROP, "--output", "@predicted.csv"),
    commands("predict", *STREAM, "--output", "@predicted.csv"),
    commands("predict", *STREAM, "--output", "@predicted.parquet"),
    commands("fit", "@data.csv", *LINEAR, "--stream", "--output", "@model.skops"),
    commands("report", "@old.skops", "@data.csv", *DROP, "--output", "@page.html"),
)


OLDER = ("model.skops", "report.html", "predicted.csv", "page.html")
"""Files that work writes over."""

TEMPORARY = 8 * 30 * 30 * 3
"""Bytes of the kernels, for work whose files are gone when it ends."""


def prepare(folder):
    """Write the files that work reads, and older ones that it writes over."""
    from multikernel import save

    X, y, _, model = data()
    rows = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
    (folder / "data.csv").write_text("\n".join(["x0,x1,x2,y", *rows]))
    save(model, folder / "old.skops")
    for name in OLDER:
        (folder / name).write_text("an older file")


@contextmanager
def temporary_files_in(folder):
    """Have temporary files in a folder, where one that is left is seen."""
    old = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = old


@contextmanager
def prepared():
    """Lend a folder with what work reads and writes over, and its contents."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as place:
        folder = Path(place)
        with temporary_files_in(folder):
            prepare(folder)
            yield folder, contents(folder)


@cache
def largest(work):
    """Do some work without a limit; return the bytes of the largest file of it."""
    with prepared() as (folder, before):
        work(folder)
        written = changed(before, contents(folder))
    return max(map(len, written.values()), default=TEMPORARY)


def changed(before, after):
    """Return the files that are new or others, None standing for what is gone."""
    paths = sorted(before.keys() | after.keys())
    return {p: after.get(p) for p in paths if before.get(p) != after.get(p)}


def run_one(seed):
    """Return the findings of one full disk: (category, sentence) pairs."""
    rng = np.random.default_rng([seed, 29])
    work = WORK[int(rng.integers(len(WORK)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The third power, as small files are cut by small limits only.
        limit = int(1.2 * largest(work) * rng.random() ** 3)
        with prepared() as (folder, before):
            return list(findings(work, folder, before, limit))


def findings(work, folder, before, limit):
    """Yield what is wrong with some work under a limit."""
    name = work.__name__
    try:
        with files_up_to(limit):
            work(folder)
    except OSError as error:
        yield from judge(error)
    except Exception as error:
        yield "exceptions", f"{name}: {described(error)}"
    else:
        for path, text in changed(before, contents(folder)).items():
            if text is None or len(text) == limit:
                yield "inconsistent", f"{name}: {path} is gone, or cut"
        return
    for path in changed(before, contents(folder)):
        state = "has changed" if path in before else "is left"
        yield "inconsistent", f"{name}: {path} {state}"
    try:
        work(folder)
    except Exception as error:
        yield "inconsistent", f"{name} again: {described(error)}"


def judge(error):
    """An error about a disk is a sentence that says what could not be written."""
    text = str(error)
    words = len(text.split())
    if os.sep not in text or words < 4 or "None" in text or INTERNAL.search(text):
        return [("sentences", described(error))]
    return []
