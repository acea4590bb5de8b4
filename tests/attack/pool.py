"""Attacks run in processes of their own, so that a crash or a hang is a finding."""

import multiprocessing
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from threadpoolctl import threadpool_limits

LIMIT = 40.0
"""Seconds of CPU, and four times that of wall time, after which a trial is a hang."""


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
        found = run_one(trial)
        if any(category == "hangs" for category, _ in found):
            # The first time may have gone to compiling; the second counts.
            connection.send((trial, None))
            found = run_one(trial)
        connection.send((trial, found))
    connection.send((None, None))


def cpu_seconds(pid):
    """CPU time of a process in seconds, or 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
                self.since = time.monotonic(), cpu_seconds(self.process.pid)
                continue
            for category, sentence in found:
                self.outcome.add(category, trial, sentence)
            self.outcome.trials += 1
            self.left.remove(trial)
            self.trial = None
        if self.trial is not None:
            spent = cpu_seconds(self.process.pid) - self.since[1]
            if spent > self.limit or time.monotonic() - self.since[0] > 4 * self.limit:
                self.process.kill()
                self.process.join()
                return self.skip("hangs", f"killed after {spent:.0f} s of CPU")
        return True

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


def run_trials(function, trials, processes=2, limit=LIMIT):
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
