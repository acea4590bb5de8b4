"""A worker that dies in mid-fit costs time, and not the result."""

import os
import signal
import threading
from pathlib import Path

import distributed
import numpy as np
import pytest
from workers.problems import classifier, partitioned, table

from multikernel.gram.factors.row_blocks import RowBlocks


def problem():
    X, f = table()
    return partitioned(X, np.where(f > 0.0, "far", "near"))


def assert_equal(model, expected):
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.kernel_weights_, expected.kernel_weights_)
    assert model.objective_ == expected.objective_
    assert model.duality_gap_ == expected.duality_gap_ <= model.tol


def test_worker_that_is_gone():
    X, y = problem()
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    lost = []

    with (
        distributed.LocalCluster(**settings, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        expected = classifier(tol=1e-6).fit(X, y)

        def drop(progress):
            if progress.iteration == 1:
                # What it holds is not handed on.
                address, worker = next(iter(cluster.scheduler.workers.items()))
                lost.extend(task.key for task in worker.has_what)
                cluster.sync(
                    cluster.scheduler.remove_worker, address, stimulus_id="a test"
                )

        model = classifier(tol=1e-6).fit(X, y, callback=drop)
    assert lost
    assert_equal(model, expected)


def started(client):
    """Return the processes of two workers that are up: one that only starts is lost."""
    pids = {}
    while len(pids) < 2:
        client.wait_for_workers(2, timeout=120)
        pids = client.run(os.getpid, on_error="ignore")
    return list(pids.values())


@pytest.mark.slow
def test_workers_killed_at_random_moments(monkeypatch):
    X, y = problem()
    rng, calls, deaths = np.random.default_rng(0), [0], {}
    plain = RowBlocks._run

    def counting(self, function, parts):
        calls[0] += 1
        if calls[0] in deaths:
            # Some milliseconds later, so that it dies in the middle of its tasks.
            victim, moment = deaths.pop(calls[0]), rng.uniform(0.0, 0.02)
            threading.Timer(moment, os.kill, (victim, signal.SIGKILL)).start()
        return plain(self, function, parts)

    monkeypatch.setattr(RowBlocks, "_run", counting)
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**settings, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        expected = classifier(tol=1e-6).fit(X, y)
        most = calls[0] - 5
        for _ in range(20):
            victim = started(client)[int(rng.integers(2))]
            calls[0] = 0
            deaths[int(rng.integers(1, most))] = victim
            model = classifier(tol=1e-6).fit(X, y)
            assert not deaths
            assert not Path(f"/proc/{victim}").exists()
            assert_equal(model, expected)
