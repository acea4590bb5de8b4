"""Temporary folders: locked while they are in use, swept when their process is dead."""

import gc
import os
import signal
import sys
import tempfile
import warnings

import numpy as np
import pytest

from multikernel import SpicyMKLRegressor
from multikernel.gram import LowRank
from multikernel.gram.temporary import OURS, TemporaryFolder
from multikernel.kernels import GaussianKernel, LinearKernel, ListDictionary

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no processes are forked there, and no files locked"
)

X = np.random.default_rng(0).normal(size=(30, 3))
KERNELS = ListDictionary([GaussianKernel(1.0), LinearKernel()])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Have temporary files in a folder of their own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def killed(work, end=signal.SIGKILL):
    """Do some work in a process that ends by a signal, if that does not end it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of BLAS do not matter to a file
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work(lambda *_, **__: os.kill(os.getpid(), end))
        os.kill(os.getpid(), end)
    assert os.waitpid(child, 0)[1] == end


def map_and_die(die):
    array = TemporaryFolder().scratch((3, 3), "float64")
    die(array)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("work", [map_and_die])
def test_what_a_killed_process_leaves_is_swept_by_the_next(folder, work, end):
    killed(work, end)
    assert len(os.listdir(folder)) == 1
    array = TemporaryFolder().scratch((3, 3), "float64")
    (used,) = folder.iterdir()
    assert OURS.fullmatch(used.name)
    assert len(os.listdir(used)) == 1
    del array
    gc.collect()
    assert not os.listdir(folder)


def test_factors_of_a_killed_fit_are_swept_from_their_folder(tmp_path):
    def work(die):
        storage = LowRank(folder=tmp_path / "factors")
        SpicyMKLRegressor(KERNELS, storage=storage).fit(X, X[:, 0], callback=die)

    killed(work)
    assert len(os.listdir(tmp_path / "factors")) == 1
    TemporaryFolder(tmp_path / "factors").remove()
    assert not os.listdir(tmp_path / "factors")


def test_what_somebody_uses_stays(folder):
    ours, (asks, tells) = TemporaryFolder(), os.pipe()

    def work(_):
        theirs = TemporaryFolder()
        os.write(tells, bytes(theirs.path))
        signal.pause()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        work(None)
    theirs = os.read(asks, 1000).decode()
    os.close(asks)
    os.close(tells)
    try:
        TemporaryFolder().remove()
        assert os.path.isdir(theirs)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    TemporaryFolder().remove()
    assert os.listdir(folder) == [ours.path.name]


@pytest.mark.parametrize("name", ["multikernel-demo", "multikernel-abcdefgh", "x.tmp"])
def test_folders_of_the_user_stay(folder, name):
    (folder / name).mkdir(mode=0o700)
    TemporaryFolder().remove()
    assert os.listdir(folder) == [name]


def test_folders_that_others_can_read_and_links_stay(folder):
    (folder / "multikernel-abcdefgh.tmp").mkdir()
    (folder / "target").mkdir(mode=0o700)
    (folder / "multikernel-abcdefgi.tmp").symlink_to("target")
    TemporaryFolder().remove()
    assert len(os.listdir(folder)) == 3


def test_a_fork_leaves_the_folder_alone(folder):
    array = TemporaryFolder().scratch((3, 3), "float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        del array
        gc.collect()
        os._exit(len(os.listdir(folder)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert len(os.listdir(folder)) == 1
