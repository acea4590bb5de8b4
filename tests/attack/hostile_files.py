"""Files and command lines from strangers: every attempt must end in one sentence.

Attempts run in a child process, each from a seed of its own, so that one that crashes
the interpreter is counted and the next goes on. Each is held to a limit of time and of
memory.
"""

import contextlib
import io
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from attack.hostile_models import (
    MAX_BYTES,
    MODEL_FILES,
    Attempt,
    loading,
    saved,
    scrambled,
    tree_with_changes,
)
from attack.hostile_parts import PARTS

SLACK = 2**26
"""Memory beyond it that is forgiven: modules imported late, and the allocator's own."""
HARD_LIMIT = 2**31
"""Address space beyond what a child has, so that a defect does not end the machine."""
SECONDS = 300.0
"""Of CPU time; a child that is silent for twice that is a hang."""
FINE = ("accepted", "refused")


def run(n: int, seed: int, share: float = 0.5) -> Counter[tuple[str, str]]:
    """Make hostile model files and command lines, and count how they end.

    Parameters
    ----------
    n : int
        Number of attempts.
    seed : int
        Attempts of one seed are the same on every machine.
    share : float, default=0.5
        How many of them are model files; the others are command lines.

    Returns
    -------
    table : Counter
        Keys are (what was tried, how it ended); see `failures`.
    """
    table: Counter[tuple[str, str]] = Counter()
    done = 0
    while done < n:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        child = multiprocessing.get_context("spawn").Process(
            target=_attempts, args=(theirs, n, seed, share, done), daemon=True
        )
        child.start()
        theirs.close()
        kind = "the start of a child"
        while done < n:
            try:
                kind, ending = ours.recv() if ours.poll(2 * SECONDS) else (kind, 0)
            except EOFError:
                child.join()
                ending = f"crash ({child.exitcode})"
            if ending == "":
                continue  # an announcement
            table[kind, ending or "hang"] += 1
            done += 1
            if ending == 0 or str(ending).startswith("crash"):
                break
        child.kill()
        child.join()
    return table


def failures(table: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return what ended in another way than in success or in the documented error."""
    return {key: count for key, count in table.items() if key[1] not in FINE}


# --------------------------------------------------------------------------------------
# One attempt, with its limits
# --------------------------------------------------------------------------------------


class _OutOfTime(BaseException):
    """Raised by the alarm; nothing may catch it."""


def _attempts(pipe: Any, n: int, seed: int, share: float, first: int) -> None:
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:
        warnings.simplefilter("ignore")
        sys.stderr = nothing
        world = Path(folder)
        os.chdir(world)  # for commands that are told to write to an odd place
        _prepare(world)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (size + HARD_LIMIT, size + HARD_LIMIT))
        for number in range(first, n):
            rng = np.random.default_rng([seed, number])
            files = MODEL_FILES | PARTS
            source = files if rng.random() < share else COMMAND_LINES
            kind = list(source)[rng.integers(len(source))]
            pipe.send((kind, ""))
            pipe.send((kind, _ending(source[kind], rng, world)))
        sys.stderr = sys.__stderr__


def _ending(attempt: Attempt, rng: np.random.Generator, world: Path) -> str:
    act = attempt(rng, world)
    before = _memory("VmRSS")
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        ending = act()
    except _OutOfTime:
        return "too slow"
    except BaseException as error:
        ending = f"{type(error).__name__}: {error}"[:160].replace("\n", " ")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    taken = _memory("VmHWM") - before
    return ending if taken < MAX_BYTES + SLACK else f"took {taken / 2**20:.0f} MiB"


def _ring(*_: object) -> None:
    raise _OutOfTime


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def _calling(*arguments: object) -> Callable[[], str]:
    """Run a command: exit code 0, or 1 or 2 with a sentence on standard error."""
    from command_line import run_command

    def act() -> str:
        result = run_command(*arguments)
        error = result.exception
        if error is not None and not isinstance(error, SystemExit):
            return f"{type(error).__name__}: {error}"[:160].replace("\n", " ")
        if result.exit_code == 0:
            return "accepted"
        if not result.stderr.strip() or "Traceback" in result.stderr:
            return f"no sentence: {result.stderr}"[:160].replace("\n", " ")
        return "refused"

    return act


def _prepare(world: Path) -> None:
    """Make the honest files that attempts start from."""
    import pandas as pd
    import skops.io  # noqa: F401 - late imports are not an attempt's own memory
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from multikernel import FixedWeightsMKLRegressor, SpicyMKLClassifier
    from multikernel.kernels import GaussianKernel, LinearKernel
    from multikernel.persistence import save

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((30, 2)), columns=["age", "dose"])
    y = np.where(X["age"] > 0, "yes", "no")
    kernels = [GaussianKernel(1.0), LinearKernel()]
    pipeline = make_pipeline(StandardScaler(), SpicyMKLClassifier(kernels)).fit(X, y)
    values = {
        "array": np.array([["a", None], [1, 2.5]], dtype=object),
        "mask": np.ma.MaskedArray([1.0, 2.0], [True, False]),
        "state": np.random.RandomState(0),
        "ordered": OrderedDict(a=b"bytes", b=slice(1, 2), c={1, 2}, d=np.float64(2)),
        "part": LogisticRegression().fit(X, y),
        "model": FixedWeightsMKLRegressor(kernels).fit(X, X["dose"]),
    }
    save(pipeline, world / "0.skops")
    save(values, world / "1.skops")
    assert [loading(world / f"{number}.skops")() for number in (0, 1)] == [
        "accepted"
    ] * 2
    save({"not": "a model"}, world / "dict.skops")
    save([1, 2], world / "list.skops")
    save(StandardScaler().fit(X), world / "scaler.skops")
    save(SpicyMKLClassifier(kernels), world / "unfitted.skops")
    X.assign(y=y).to_csv(world / "data.csv", index=False)
    X.assign(y=y).to_parquet(world / "data.parquet", index=False)
    np.savez(world / "data.npz", X=X.to_numpy(), y=y)
    _calling("fit", world / "data.csv", "-t", "y", "--kernels", "linear")()


# --------------------------------------------------------------------------------------
# Command lines
# --------------------------------------------------------------------------------------

FIT = ("--target", "y", "--kernels", "linear")
VALUES = (
    "1", "0", "-1", "nan", "inf", "-inf", "1e400", "9" * 400, "1e-300", "null", "true",
    "[1]", "[[1, 2], [3]]", "{}", '{"yes": 1}', '{"no": "x"}', "[", '"x"', "", "yes",
    "[" * 2000, "[/]", "\x00", "-0", "1.5", '["hinge"]', "precomputed", "trace",
)  # fmt: skip
OPTIONS = (
    "--alpha", "-C", "-p", "--cv", "--tol", "--method", "--task", "--loss", "--kernels",
    "--drop", "--target", "--set", "--n-alphas", "--ratio", "--rows", "--output",
)  # fmt: skip


FIELDS = (
    "1", "2.5", "", "nan", "inf", "-inf", "1e400", "9" * 400, "a", '"', "1,1", "  ",
    "1e-161", "True", "1+2j", "2020-01-01", "\x00", "é", "0x10",
)  # fmt: skip


def odd_settings(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    from multikernel.cli._methods import METHODS

    method = list(METHODS)[rng.integers(len(METHODS))]
    chooses = rng.random() < 0.3 and METHODS[method].search is not None
    words = ["fit", world / "data.csv", *FIT, "--method", method]
    words += ["--cv", "2"] * chooses
    kind = METHODS[method].estimator("classification", cv=chooses)
    names = [*kind().get_params(), "no_such_thing"]
    for _ in range(rng.integers(1, 3)):
        name = names[rng.integers(len(names))]
        words += ["--set", f"{name}={VALUES[rng.integers(len(VALUES))]}"]
    return _calling(*words)


def odd_options(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    command = ("fit", "path")[rng.integers(2)]
    words = [command, world / "data.csv", *FIT]
    for _ in range(rng.integers(1, 3)):
        words += [
            OPTIONS[rng.integers(len(OPTIONS))],
            VALUES[rng.integers(len(VALUES))],
        ]
    return _calling(*words)


def odd_arrays(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """An npz file whose arrays have odd kinds, shapes and names."""
    arrays: dict[str, Any] = {
        "X": _odd_array(rng, (20, 2)),
        "y": _odd_array(rng, (20,)),
    }
    if rng.random() < 0.5:
        arrays["feature_names"] = _odd_array(rng, (2,))
    if rng.random() < 0.3:
        arrays["K"] = _odd_array(rng, (2, 20, 20))
        arrays["kernel_names"] = _odd_array(rng, (2,))
    for name in [name for name in arrays if rng.random() < 0.1]:
        del arrays[name]
    np.savez(world / "odd.npz", allow_pickle=False, **arrays)
    drop = ["--drop", "x0"] * (rng.random() < 0.2)
    return _calling("fit", world / "odd.npz", *FIT, *drop)


def _odd_array(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    honest = rng.standard_normal(shape)
    odd: list[Any] = [
        honest.astype("datetime64[s]"),
        honest.astype("timedelta64[s]"),
        honest + 1j,
        honest.astype(np.longdouble),
        honest.astype(np.float16),
        np.zeros(shape),
        np.full(shape, 1e-161),
        honest * 1e-161,
        honest * 1e300,
        np.full(shape, np.nan),
        np.where(honest > 1, np.inf, honest),
        np.array(0.0),
        np.zeros((0, *shape[1:])),
        honest[..., None],
        honest > 0,
        honest.astype("S3"),
        honest.astype("U3"),
        np.zeros(shape, dtype=[("a", float), ("b", int)]),
        np.zeros(shape, dtype="V4"),
        np.full(shape, 2**63, dtype=np.uint64),
        np.arange(np.prod(shape)).reshape(shape),
        np.arange(len(shape) + 3),
    ]
    return odd[rng.integers(len(odd))] if rng.random() < 0.4 else honest


def odd_table(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """A CSV file with odd fields, or any file scrambled or under a foreign name."""
    kind = rng.random()
    ending = ("csv", "parquet", "npz")[rng.integers(3)]
    path = world / f"odd.{ending}"
    if kind < 0.4:
        fields = np.array(FIELDS)
        cells = rng.choice(fields[: rng.integers(2, len(fields))], (12, 3))
        lines = ["age,dose,y", *(",".join(row) for row in cells)]
        path = saved(world / "odd.csv", "\n".join(lines).encode())
    elif kind < 0.8:
        saved(path, scrambled((world / f"data.{ending}").read_bytes(), rng))
    else:
        other = sorted(world.glob("[!o]*"))
        source = other[rng.integers(len(other))]
        saved(path, source.read_bytes())
        if rng.random() < 0.3:
            buffer = io.BytesIO()
            np.save(buffer, np.eye(4))
            saved(path, buffer.getvalue())
    return _calling("fit", path, *FIT)


def odd_model(rng: np.random.Generator, world: Path) -> Callable[[], str]:
    """Predict with, or look into, what is no fitted model, or one that was changed."""
    models = ("dict", "list", "scaler", "unfitted", "0", "1")
    path = world / f"{models[rng.integers(len(models))]}.skops"
    if rng.random() < 0.6:
        path = tree_with_changes(rng, world)
    if rng.random() < 0.4:
        return _calling("inspect", path, *(["--json"] * (rng.random() < 0.5)))
    data = world / f"data.{('csv', 'parquet', 'npz')[rng.integers(3)]}"
    words = ["predict", path, data, "--drop", "y"]
    words[3:] = ["--target", "y"] if rng.random() < 0.5 else words[3:]
    return _calling(*words, *(["--proba"] * (rng.random() < 0.3)))


COMMAND_LINES: dict[str, Attempt] = {
    f"command line: {attempt.__name__.replace('_', ' ')}": attempt
    for attempt in (odd_settings, odd_options, odd_arrays, odd_table, odd_model)
}
