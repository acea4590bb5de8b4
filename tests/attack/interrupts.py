"""Ctrl-C at random moments of every fit: what is left must be a working process.

Run ``python tests/attack/interrupts.py 1000 0`` for 1000 interrupts with seed 0. After
each one the process must be alive, the number of BLAS threads and of Python threads as
before, and the same fit must give the same model bit by bit.
"""

import faulthandler
import json
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info, threadpool_limits

import multikernel as mk
from multikernel.kernels import GaussianKernel
from multikernel.losses import CrammerSingerLoss
from multikernel.solvers.lp_choice import LP_SOLVERS, SPARSE_ONLY

Array = NDArray[np.float64]
Fit = Callable[[], Any]

BLAS_THREADS = 2
HANG_SECONDS = 600.0
SETTLE_SECONDS = 120.0
"""Threads that an interrupt has left may take this long to end their block."""


@dataclass
class Row:
    """What became of the interrupts of one kind of fit.

    `interrupted` fits raised KeyboardInterrupt; `ignored` counts interrupts that met a
    finaliser or the callback of a weak reference, where Python reports an exception and
    goes on, and `lost` those that were none of these. `late` is the longest time in
    seconds from the signal to the end of the fit.
    """

    name: str
    attempts: int = 0
    interrupted: int = 0
    ignored: int = 0
    lost: int = 0
    other_errors: int = 0
    blas_stuck: int = 0
    threads_left: int = 0
    changed: int = 0
    late: float = 0.0

    @property
    def failures(self) -> int:
        """Return the number of broken promises."""
        return (
            self.lost
            + self.other_errors
            + self.blas_stuck
            + self.threads_left
            + self.changed
        )


def samples(n: int = 60) -> tuple[Array, Array, Array]:
    """Return X, labels and real targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    signal_ = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.where(signal_ > 0.0, 1.0, -1.0), signal_


def fits() -> dict[str, Fit]:
    """Return a fit of every kind: loss (so machine), solver, estimator, storage."""
    X, labels, values = samples()
    kernels = [GaussianKernel(width) for width in (0.3, 1.0, 3.0, 10.0)]
    found: dict[str, Fit] = {}

    def add(name: str, kind: Any, y: Array, **settings: Any) -> None:
        def fit() -> Array:
            model = kind(kernels, **settings).fit(X, y)
            return np.asarray(getattr(model, "decision_function", model.predict)(X))

        found[name] = fit

    for loss in ("hinge", "log_loss", "squared_error"):
        add(f"spicy {loss}", mk.SpicyMKLClassifier, labels, loss=loss)
        add(f"uniform {loss}", mk.FixedWeightsMKLClassifier, labels, loss=loss)
    for loss in ("epsilon_insensitive", "squared_error"):
        add(f"spicy {loss}, values", mk.SpicyMKLRegressor, values, loss=loss)
        add(f"uniform {loss}, values", mk.FixedWeightsMKLRegressor, values, loss=loss)
    for solver in LP_SOLVERS:
        for p in (1.0,) if solver in SPARSE_ONLY else (1.0, 1.5):
            # SimpleMKL and Alternating take seconds to small gaps.
            tol = 5e-2 if solver in ("simple", "alternating") else 1e-4
            settings = {"solver": solver, "p": p, "C": 10.0, "tol": tol}
            add(f"{solver} p={p:g}", mk.LpMKLClassifier, labels, **settings)
            add(f"{solver} p={p:g}, values", mk.LpMKLRegressor, values, **settings)
    add("newton log_loss", mk.LpMKLClassifier, labels, loss="log_loss")
    add("greedy", mk.GroupOMPClassifier, labels)
    add("greedy, values", mk.GroupOMPRegressor, values)
    for rule in ("easy", "alignment"):
        add(rule, mk.FixedWeightsMKLClassifier, labels, kernel_weights=rule)
    classes = (values > -1.0).astype(int) + (values > 1.0)
    add("all classes", mk.MKLClassifier, classes, loss=CrammerSingerLoss())
    add("spicy lazy", mk.SpicyMKLClassifier, labels, storage="lazy")
    add("lp lazy", mk.LpMKLClassifier, labels, storage="lazy", C=10.0)
    search = {"cv": 2, "n_jobs": 2}
    add("spicy search", mk.SpicyMKLClassifierCV, labels, n_alphas=5, **search)
    add("lp search", mk.LpMKLClassifierCV, labels, Cs=[1.0, 10.0], ps=[1.5], **search)
    return found


class _Alarm:
    """Raises KeyboardInterrupt as Ctrl-C does, once, after a time."""

    def __init__(self) -> None:
        self.raised = self.ignored = 0

    def __call__(self, *_: object) -> None:
        self.raised += 1
        raise KeyboardInterrupt

    def unraisable(self, args: Any) -> None:
        """Count an interrupt that Python cannot hand on, instead of printing it."""
        self.ignored += issubclass(args.exc_type, KeyboardInterrupt)


def interrupt(fit: Fit, expected: Array, delay: float, row: Row) -> None:
    """Interrupt a fit after `delay` seconds, and see what is left.

    Where the fit is done by then, it is begun again with half the delay, so that every
    interrupt falls into a fit, however fast the machine and however busy.
    """
    alarm = _Alarm()
    signal.signal(signal.SIGALRM, alarm)
    sys.unraisablehook = alarm.unraisable
    row.attempts += 1
    threads, start = _threads(), time.perf_counter()
    try:
        while not alarm.raised:
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, delay)
            fit()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            delay /= 2.0
        row.ignored += alarm.ignored
        row.lost += alarm.raised - alarm.ignored
    except KeyboardInterrupt:
        row.interrupted += 1
        row.late = max(row.late, time.perf_counter() - start - delay)
    except Exception:
        row.other_errors += 1
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    sys.unraisablehook = sys.__unraisablehook__
    row.blas_stuck += not _settles(lambda: _blas_threads() == BLAS_THREADS)
    row.threads_left += not _settles(lambda: _threads() <= threads)
    try:
        row.changed += not np.array_equal(fit(), expected)
    except Exception:
        row.other_errors += 1


def _settles(right: Callable[[], bool]) -> bool:
    """Return whether something becomes true before long."""
    end = time.perf_counter() + SETTLE_SECONDS
    while not right() and time.perf_counter() < end:
        time.sleep(0.01)
    return right()


def _threads() -> int:
    """Return the number of threads, without the stand-ins for those of others."""
    return sum(not thread.name.startswith("Dummy") for thread in threading.enumerate())


def _blas_threads() -> int:
    return min(
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    )


def run(n_interrupts: int, seed: int) -> list[Row]:
    """Interrupt fits of all kinds in turn, each at a random moment.

    Parameters
    ----------
    n_interrupts : int
        How many; the kinds take turns.
    seed : int
        Decides on the moments.

    Returns
    -------
    table : list of Row
        One for every kind.
    """
    rng = np.random.default_rng(seed)
    threadpool_limits(BLAS_THREADS, user_api="blas")
    warnings.simplefilter("ignore")
    before = signal.getsignal(signal.SIGALRM)
    kinds = fits()
    rows = {name: Row(name) for name in kinds}
    expected: dict[str, tuple[Array, float]] = {}
    names = rng.permutation(np.array(list(kinds)))
    for k in range(n_interrupts):
        name = str(names[k % len(names)])
        fit = kinds[name]
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        if name not in expected:
            fit()  # compiles, imports
            start = time.perf_counter()
            values = fit()
            expected[name] = values, time.perf_counter() - start
        values, seconds = expected[name]
        interrupt(fit, values, float(rng.uniform(1e-5, 0.8 * seconds)), rows[name])
    faulthandler.cancel_dump_traceback_later()
    signal.signal(signal.SIGALRM, before)
    return list(rows.values())


def main() -> None:
    """Print the table, and one line of JSON for programs."""
    table = run(int(sys.argv[1]), int(sys.argv[2]))
    columns = list(asdict(table[0]))
    print(" ".join(f"{name:>26}" if k == 0 else name for k, name in enumerate(columns)))
    for row in table:
        cells = list(asdict(row).values())
        print(f"{cells[0]:>26} " + " ".join(
            f"{cell:{len(name)}{'.3f' if name == 'late' else 'd'}}"
            for name, cell in zip(columns[1:], cells[1:], strict=True)
        ))  # fmt: skip
    print(json.dumps([asdict(row) for row in table]))


if __name__ == "__main__":
    main()
