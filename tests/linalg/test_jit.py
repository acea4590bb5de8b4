"""Compiled loops are kept where a folder can be written, and work without one."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.caching import FunctionCache

from multikernel.linalg import jit

FIT_WITHOUT_FOLDERS = """
from numba.core.caching import FunctionCache
FunctionCache._impl_class._locator_classes = []
from multikernel import LpMKLClassifier
from multikernel.kernels import LinearKernel
model = LpMKLClassifier([LinearKernel()])
print(model.fit([[0.0], [1.0], [2.0]], [0, 1, 1]).status_)
"""
"""Numba looks for a folder in none of the places that it knows."""


def test_fits_work_where_nothing_can_be_written():
    line = [sys.executable, "-c", FIT_WITHOUT_FOLDERS]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    assert run.stdout == "converged\n"
    assert run.stderr == jit.NOT_CACHED % jit.NO_FOLDER + "\n"
    assert "NUMBA_CACHE_DIR" in run.stderr


COLD_SEARCH = """
from collections import Counter
from numba.core import event
from sklearn.datasets import make_classification
from multikernel import LpMKLClassifierCV


counts = Counter()

class Count(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        counts[f"{function.__module__}.{function.__name__}"] += 1

    def on_end(self, event):
        pass

event.register("numba:compile", Count())
X, y = make_classification(40, 4, random_state=0)
LpMKLClassifierCV(Cs=[0.1, 1.0], cv=2).fit(X, y)
print(*(f"{name} {count}" for name, count in counts.items()), sep="\\n")
"""


@pytest.mark.slow
def test_a_first_search_compiles_every_loop_for_one_kind_of_arrays(tmp_path):
    """Two kinds, such as arrays that may and may not be written to, take twice as long.

    Arrays that loops make themselves take half a second more.
    """
    cold = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    line = [sys.executable, "-c", COLD_SEARCH]
    run = subprocess.run(line, capture_output=True, text=True, check=True, env=cold)
    counts = dict(line.split() for line in run.stdout.splitlines())
    ours = {name for name in counts if name.startswith("multikernel.")}
    assert "multikernel.machines.smo.loops.solve_pairs" in ours
    assert {name: counts[name] for name in ours} == dict.fromkeys(ours, "1")
    assert not [name for name in counts if name.startswith("numba.np.arrayobj")]


@pytest.fixture
def new_loop(tmp_path, monkeypatch):
    """Makes loops of the package, each with a folder that holds none of its code."""

    def make():
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))

        def add(x, y):
            return x + y

        add.__module__ = "multikernel.linalg.jit"
        return jit.loop()(add)

    return make


class Clock:
    """Tells the seconds that it was told of."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """What a teller of the test's own looks at; that of the process is off."""
    clock = Clock()
    teller = jit.CompilationLog(clock)
    event.unregister("numba:compile", jit.COMPILATIONS)
    with event.install_listener("numba:compile", teller), monkeypatch.context() as mine:
        mine.setattr(jit, "COMPILATIONS", teller)
        yield clock
    event.register("numba:compile", jit.COMPILATIONS)


class Slow(event.Listener):
    """Lets so many seconds pass in every compilation."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, seconds

    def on_start(self, event):
        self.clock.now += self.seconds

    def on_end(self, event):
        pass


def test_what_takes_long_is_said_once_while_it_lasts(clock, caplog, new_loop):
    with event.install_listener("numba:compile", Slow(clock, 0.6 * jit.PATIENCE)):
        for number, n_lines in ((1, 0), (2, 0), (0.5, 1), (2.5, 1)):
            add = new_loop()
            assert add(number, number) == 2 * number
            assert len(caplog.messages) == n_lines
    assert "compiles its loops" in caplog.text


def test_where_code_is_kept_nothing_is_compiled_again(clock, caplog, new_loop):
    add = new_loop()
    assert add(1, 2) == 3
    again = jit.loop()(add.py_func)
    assert again(1, 2) == 3
    assert [list(each.stats.cache_hits.values()) for each in (add, again)] == [[], [1]]


def test_loops_of_others_are_theirs_to_speak_of(clock, caplog):
    clock.now = 10.0 * jit.PATIENCE
    assert numba.njit(lambda x: x + 1)(1) == 2
    assert caplog.messages == []


def test_code_that_can_only_be_read_is_used(clock, caplog, new_loop, monkeypatch):
    """Images are made once, and run with a read-only root."""
    add = new_loop()
    assert add(1, 2) == 3

    def read_only(dir):
        raise PermissionError(errno.EROFS, "Read-only file system", dir)

    # How numba learns whether it may write.
    monkeypatch.setattr("numba.core.caching.tempfile.TemporaryFile", read_only)
    again = jit.loop()(add.py_func)
    assert again(1, 2) == 3
    assert list(again.stats.cache_hits.values()) == [1]
    assert caplog.messages == []


def test_a_full_disk_ends_no_fit(clock, caplog, new_loop, monkeypatch):
    def full(self, sig, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)
    assert [new_loop()(1, 2), new_loop()(1.0, 2.0)] == [3, 3.0]
    assert len(caplog.messages) == 1
    assert "No space left on device" in caplog.text
    assert "NUMBA_CACHE_DIR" in caplog.text


def kept_files(ending):
    """Return the files of compiled code in the folder of the last loop."""
    return sorted(Path(numba.config.CACHE_DIR).rglob(f"*.{ending}"))


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def by_a_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: os.truncate(path, 200),
    "half": lambda path: path.write_bytes(
        path.read_bytes()[: path.stat().st_size // 2]
    ),
    "random": lambda path: path.write_bytes(np.random.default_rng(0).bytes(999)),
    "flipped": flipped,
    "replaced by a folder": by_a_folder,
}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_code_is_compiled_and_written_again(
    damage, ending, clock, caplog, new_loop
):
    add = new_loop()
    assert add(1, 2) == 3
    (path,) = kept_files(ending)
    damage(path)
    again = jit.loop()(add.py_func)
    assert again(1, 2) == 3
    assert list(again.stats.cache_hits.values()) == []
    assert len(caplog.messages) == 1
    if damage is not by_a_folder:  # which is not ours to remove
        assert "cannot load" in caplog.text
        assert path.name in caplog.text
        third = jit.loop()(add.py_func)
        assert third(1, 2) == 3
        assert list(third.stats.cache_hits.values()) == [1]


def test_code_without_a_checksum_is_not_loaded(clock, caplog, new_loop):
    """Versions without checksums read files that have one, but not the reverse."""
    add = new_loop()
    assert add(1, 2) == 3
    for path in kept_files("nb?"):
        path.write_bytes(path.read_bytes()[:-32])
    assert jit.loop()(add.py_func)(1, 2) == 3
    assert "from another version" in caplog.text
    assert FunctionCache(add.py_func)._cache_file._load_index() != {}


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_folders_that_others_can_write_to_are_named_once(clock, caplog, new_loop):
    assert new_loop()(1, 2) == 3
    assert caplog.messages == []
    for _ in range(2):
        add = new_loop()
        Path(numba.config.CACHE_DIR).chmod(0o777)
        assert add(1, 2) == 3
        assert len(caplog.messages) == 1
    assert "mode 700" in caplog.text


def test_every_loop_is_kept_in_this_way():
    folder = Path(jit.__file__).parents[1]
    texts = {path: path.read_text("utf-8") for path in folder.rglob("*.py")}
    assert [name for name, text in texts.items() if "cache=True" in text] == []
    assert sum("jit import loop" in text for text in texts.values()) >= 9
