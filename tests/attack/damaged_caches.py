"""Damaged files of compiled code: the loop answers, and its code is kept again.

Each trial compiles a loop into an empty folder, damages one or both of its files, and
calls the loop again as a new process would.
"""

import logging
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from attack.hostile_models import scrambled
from attack.inputs import described


def add(x, y):
    return x + y


def damages(rng):
    """Return a function from the bytes of a file to damaged ones."""
    choices = (
        lambda data: b"",
        lambda data: data[: rng.integers(len(data))],
        lambda data: rng.bytes(int(rng.integers(1, 2000))),
        lambda data: flipped(data, int(rng.integers(8 * len(data)))),
        lambda data: scrambled(data, rng),
        lambda data: data + rng.bytes(3),
        lambda data: data[:-32],
    )
    return choices[rng.integers(len(choices))]


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@contextmanager
def folder_of_code():
    """Lend an empty folder where numba keeps compiled code."""
    import numba

    old = numba.config.CACHE_DIR
    with tempfile.TemporaryDirectory() as folder:
        numba.config.CACHE_DIR = folder
        try:
            yield Path(folder)
        finally:
            numba.config.CACHE_DIR = old


@contextmanager
def quiet():
    """Keep what the library logs of damaged files to itself."""
    log = logging.getLogger("multikernel")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def run_one(seed):
    """Return the findings of one damaged folder: (category, sentence) pairs."""
    from multikernel.linalg import jit

    rng = np.random.default_rng([seed, 31])
    with quiet(), folder_of_code() as folder:
        jit.loop()(add)(1, 2)
        files = sorted(folder.rglob("*.nb[ci]"))
        if rng.random() < 0.8:
            files = [files[rng.integers(len(files))]]
        for path in files:
            path.write_bytes(damages(rng)(path.read_bytes()))
        try:
            answers = [jit.loop()(add)(1, 2)]
            last = jit.loop()(add)
            answers.append(last(1, 2))
        except Exception as error:
            return [("exceptions", described(error))]
        if answers != [3, 3] or not last.stats.cache_hits:
            return [("inconsistent", f"{answers}, kept: {bool(last.stats.cache_hits)}")]
    return []
