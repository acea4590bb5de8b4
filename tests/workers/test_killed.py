"""A worker that dies in mid-fit costs time, and not the result."""

import os
import signal
import threading
import time
from pathlib import Path

import distributed
import numpy as np
import pytest
from workers.problems import classifier, partitioned, table


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


@pytest.mark.slow
def test_workers_killed_at_random_moments():
    X, y = problem()
    rng, killed = np.random.default_rng(0), 0
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**settings, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        classifier(tol=1e-2).fit(X, y)  # compiles
        start = time.perf_counter()
        expected = classifier(tol=1e-6).fit(X, y)
        seconds = time.perf_counter() - start
        for _ in range(20):
            client.wait_for_workers(2)
            pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
            victim = pids[int(rng.integers(len(pids)))]
            moment = rng.uniform(0.0, 0.9 * seconds)
            timer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
            timer.start()
            model = classifier(tol=1e-6).fit(X, y)
            timer.cancel()
            timer.join()
            killed += not Path(f"/proc/{victim}").exists()
            assert_equal(model, expected)
    # On a busy machine a fit may end before its moment has come.
    assert killed >= 5
