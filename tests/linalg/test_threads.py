"""BLAS is held to one thread while any thread asks for it, and given back after."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread

import pytest
from threadpoolctl import threadpool_limits

from multikernel.linalg.threads import available_threads, one_blas_thread, run_blocks


@pytest.fixture(autouse=True)
def two_blas_threads() -> Iterator[None]:
    """Start from two threads, also where the environment allows one only."""
    with threadpool_limits(2, user_api="blas"):
        assert available_threads() == 2
        yield


def test_overlapping_users_give_the_threads_back():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert available_threads() == 1
    first.__exit__(None, None, None)
    assert available_threads() == 1, "one user is still inside"
    second.__exit__(None, None, None)
    assert available_threads() == 2


def test_the_last_to_leave_may_be_another_thread_than_the_first_to_enter():
    limit = one_blas_thread()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        one.submit(limit.__enter__).result()
        other.submit(limit.__enter__).result()
        one.submit(limit.__exit__, None, None, None).result()
        assert available_threads() == 1, "one user is still inside"
        other.submit(limit.__exit__, None, None, None).result()
        assert available_threads() == 2


def test_concurrent_users_give_the_threads_back():
    barrier = Barrier(4)

    def use():
        barrier.wait()
        for _ in range(50):
            with one_blas_thread():
                pass

    threads = [Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert available_threads() == 2


def test_a_limit_of_somebody_else_stays_theirs():
    with threadpool_limits(1, user_api="blas"):
        with one_blas_thread():
            assert available_threads() == 1
        assert available_threads() == 1
    assert available_threads() == 2


def test_blocks_run_on_one_blas_thread_each_and_give_the_threads_back():
    seen: list[int] = []
    run_blocks(lambda block: seen.append(available_threads()), range(20))
    assert seen == [1] * 20
    assert available_threads() == 2
