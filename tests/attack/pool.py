"""Attacks run in processes of their own, so that a crash or a hang is a finding."""

import multiprocessing
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module

import psutil
from threadpoolctl import threadpool_limits

WATCHDOG = 600.0
"""Seconds of its process after which a trial is a hang; the longest take a few. What
fits may take is counted instead (see `attack.problems.overlong`)."""

IDLE = 6.0
"""So many times as long by the clock is a hang as well, of a process that waits. Beside
seven others a fit of nine seconds took more than 600."""


@dataclass
class Outcome:
    """What an attack found.

    ``counts`` holds the number of findings per category, ``findings`` the first ones as
    (category, trial, sentence), ``seconds`` the wall time.
    """

    trials: int = 0
    counts: Counter = field(default_factory=Counter)
    findings: list = field(default_factory=list)
    seconds: float = 0.0

    def add(self, category, trial, sentence):
        self.counts[category] += 1
        self.findings.append((category, trial, sentence))


def work(connection, function, trials):
    """Run trials and send what each found; the body of a worker."""
    module, name = function.split(":")
    run_one = getattr(import_module(module), name)
    # Two threads each, so that a limit that is not lifted again shows.
    threadpool_limits(2, user_api="blas")
    for trial in trials:
        connection.send((trial, None))
        connection.send((trial, run_one(trial)))
    connection.send((None, None))


class Worker:
    """One process with trials still to do, restarted after a crash or a hang."""

    def __init__(self, function, trials, outcome, limit):
        self.function, self.left, self.outcome = function, list(trials), outcome
        self.limit = limit
        self.process = None
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(other, self.function, self.left)
        )
        self.process.start()
        other.close()
        self.trial = None

    def step(self):
        """Take what arrived; return whether there is more to come."""
        while self.connection.poll(0.05):
            try:
                trial, found = self.connection.recv()
            except EOFError:
                return self.died()
            if trial is None:
                self.process.join()
                return False
            if found is None:
                self.trial = trial
                self.since, self.before = time.monotonic(), self.spent()
                continue
            for category, sentence in found:
                self.outcome.add(category, trial, sentence)
            self.outcome.trials += 1
            self.left.remove(trial)
            self.trial = None
        if self.trial is not None and self.hangs():
            self.process.kill()
            self.process.join()
            return self.skip("hangs", f"killed after {self.limit:.0f} s")
        return True

    def hangs(self):
        """Whether a trial has used up its seconds, by the process or by the clock."""
        waited = time.monotonic() - self.since
        if waited <= self.limit:
            return False
        return waited > IDLE * self.limit or self.spent() - self.before > self.limit

    def spent(self):
        """Seconds that the process has worked; none any more where it has ended."""
        try:
            return psutil.Process(self.process.pid).cpu_times().user
        except psutil.NoSuchProcess:
            return 0.0

    def died(self):
        self.process.join()
        return self.skip("crashes", f"exit code {self.process.exitcode}")

    def skip(self, category, sentence):
        """Note the trial that ended the process, and go on behind it."""
        trial = self.left[0] if self.trial is None else self.trial
        self.outcome.add(category, trial, sentence)
        self.outcome.trials += 1
        self.left.remove(trial)
        if not self.left:
            return False
        self.start()
        return True


def run_trials(function, trials, processes=2, limit=WATCHDOG):
    """Run ``module:function`` on every trial and return the `Outcome`.

    The function takes a trial and returns a list of (category, sentence).
    """
    outcome = Outcome()
    start = time.perf_counter()
    trials = list(trials)
    stripes = [trials[k::processes] for k in range(processes)]
    all_workers = [Worker(function, each, outcome, limit) for each in stripes if each]
    try:
        workers = all_workers
        while workers:
            workers = [worker for worker in workers if worker.step()]
    finally:
        for worker in all_workers:
            worker.process.kill()
    outcome.seconds = time.perf_counter() - start
    return outcome
