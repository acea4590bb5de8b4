"""BLAS is held to one thread while any thread asks for it, and given back after."""

import signal
from collections.abc import Iterator
from threading import Barrier, Event, Lock, Thread, main_thread
from time import sleep

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from multikernel.estimators import LpMKLClassifier
from multikernel.estimators.fit import ONE_THREAD
from multikernel.kernels import LinearKernel
from multikernel.linalg import threads
from multikernel.linalg.threads import (
    add_blocks,
    aside,
    available_threads,
    run_blocks,
    uninterrupted,
    with_one_blas_thread,
)


@pytest.fixture(autouse=True)
def two_blas_threads() -> Iterator[None]:
    """Start from two threads, also where the environment allows one only."""
    with threadpool_limits(2, user_api="blas"):
        assert available_threads() == 2
        yield


def hold(entered: Event, leave: Event) -> None:
    def work() -> None:
        entered.set()
        leave.wait()

    with_one_blas_thread(work)


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_last_of_overlapping_users_gives_the_threads_back(first_out):
    users = [(Event(), Event()) for _ in range(2)]
    threads = [Thread(target=hold, args=user) for user in users]
    for thread, (entered, _) in zip(threads, users, strict=True):
        thread.start()
        entered.wait()
    assert available_threads() == 1
    users[first_out][1].set()
    threads[first_out].join()
    assert available_threads() == 1, "one user is still inside"
    users[1 - first_out][1].set()
    threads[1 - first_out].join()
    assert available_threads() == 2


def test_concurrent_users_give_the_threads_back():
    barrier = Barrier(4)

    def use():
        barrier.wait()
        for _ in range(50):
            with_one_blas_thread(available_threads)

    threads = [Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert available_threads() == 2


def test_a_limit_of_somebody_else_stays_theirs():
    with threadpool_limits(1, user_api="blas"):
        assert with_one_blas_thread(available_threads) == 1
        assert available_threads() == 1
    assert available_threads() == 2


def test_blocks_run_on_one_blas_thread_each_and_give_the_threads_back():
    seen: list[int] = []
    run_blocks(lambda block: seen.append(available_threads()), range(20))
    assert seen == [1] * 20
    assert available_threads() == 2


def test_parts_are_added_in_the_order_of_their_blocks() -> None:
    others_ended = Event()
    computed: list[int] = []
    added: list[int] = []

    def work(block: int) -> int:
        if block == 0:
            others_ended.wait()
        computed.append(block)
        if len(computed) == 5:
            others_ended.set()
        return block

    add_blocks(work, range(40), added.append)
    assert computed.index(0) >= 5, "the first ends after some others"
    assert added == list(range(40))


def test_a_part_that_fails_is_waited_for_by_nobody() -> None:
    def work(block: int) -> int:
        if block == 0:
            sleep(0.1)  # until the other thread waits
            raise ZeroDivisionError
        return block

    with pytest.raises(ZeroDivisionError):
        add_blocks(work, range(20), lambda part: None)
    assert available_threads() == 2


def test_a_limit_within_a_limit_is_the_outer_one():
    def within():
        with_one_blas_thread(available_threads)
        return available_threads()

    assert with_one_blas_thread(within) == 1
    assert available_threads() == 2


def test_an_interrupt_does_not_wait_for_what_is_done_aside() -> None:
    may_end, ended = Event(), Event()

    def work() -> None:
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        may_end.wait()
        ended.set()

    # A process that runs tests beside others may be told to ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            aside(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not ended.is_set()
    may_end.set()
    ended.wait()


class InterruptedLock:
    """A lock whose second acquisition succeeds, and is followed by an interrupt."""

    def __init__(self) -> None:
        self.lock, self.n_acquired = Lock(), 0
        self.release = self.lock.release

    def acquire(self, timeout: float = -1) -> bool:
        is_acquired = self.lock.acquire(timeout=timeout)
        self.n_acquired += 1
        if self.n_acquired == 2:
            raise KeyboardInterrupt
        return is_acquired


def test_an_interrupt_just_after_a_lock_is_acquired_is_raised(monkeypatch) -> None:
    """Python 3.14 looks for interrupts there: the fit waited for its own lock."""
    monkeypatch.setattr(threads, "Lock", InterruptedLock)
    ended: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(lambda: ended.append(1))
    assert ended == [1]


def test_an_interrupt_while_the_limit_is_set_gives_the_threads_back(monkeypatch):
    lower, calls = threads._set_threads, []

    def interrupted(blas, n_threads):
        calls.append(n_threads)
        lower(blas, n_threads)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(threads, "_set_threads", interrupted)
    with pytest.raises(KeyboardInterrupt):
        with_one_blas_thread(available_threads)
    assert available_threads() == 2
    other = Thread(target=with_one_blas_thread, args=(available_threads,), daemon=True)
    other.start()
    other.join(10)
    assert not other.is_alive()


@pytest.mark.parametrize(("n_samples", "n_threads"), [(60, 1), (ONE_THREAD + 1, 2)])
def test_fits_of_few_samples_run_blas_on_one_thread(n_samples, n_threads):
    X = np.random.default_rng(0).standard_normal((n_samples, 2))
    seen: list[int] = []
    model = LpMKLClassifier([LinearKernel()], tol=0.1)
    model.fit(X, X[:, 0] > 0, callback=lambda _: seen.append(available_threads()))
    assert set(seen) == {n_threads}
    assert available_threads() == 2


def test_what_is_done_aside_returns_and_raises() -> None:
    assert aside(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        aside(lambda: 1 // 0)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_block_is_worked_off_once(n_threads):
    done, lock = [], Lock()

    def work(block):
        with lock:
            done.append(block)

    run_blocks(work, iter(range(100)), n_threads)
    assert sorted(done) == list(range(100))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_stops_the_other_blocks(n_threads):
    started = []

    def work(block):
        started.append(block)
        if block == 2:
            raise ValueError("block 2")

    with pytest.raises(ValueError, match="block 2"):
        run_blocks(work, iter(range(10**6)), n_threads)
    assert len(started) < 10**6
