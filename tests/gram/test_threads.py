"""BLAS is held to one thread while any thread asks for it, and given back after."""

from threading import Barrier, Thread

from multikernel.gram.threads import available_threads, one_blas_thread


def test_overlapping_users_give_the_threads_back():
    before = available_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert available_threads() == 1
    first.__exit__(None, None, None)
    assert available_threads() == 1, "one user is still inside"
    second.__exit__(None, None, None)
    assert available_threads() == before


def test_concurrent_users_give_the_threads_back():
    before = available_threads()
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
    assert available_threads() == before
