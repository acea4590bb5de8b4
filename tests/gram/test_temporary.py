"""Temporary folders go with what uses them, and only in the process that made them."""

import errno
import gc
import os
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

from multikernel.gram.temporary import TemporaryFolder, create_folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Have temporary files in a folder of their own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_goes_with_its_last_array(folder):
    made = TemporaryFolder()
    first, second = (made.scratch((3, 3), "float64") for _ in range(2))
    (used,) = folder.iterdir()
    del made, first
    gc.collect()
    assert len(os.listdir(used)) == 1
    assert second.shape == (3, 3)
    del second
    gc.collect()
    assert not os.listdir(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="no processes are forked there")
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


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_file_where_a_folder_is_meant_is_a_sentence(tmp_path, inside):
    file = tmp_path / "data.csv"
    file.write_text("a,b\n")
    with pytest.raises(NotADirectoryError, match="must be a folder, but this path or"):
        create_folder(file / inside)
    assert file.read_text() == "a,b\n"


def test_a_file_that_cannot_be_written_says_why(folder, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    made = TemporaryFolder()
    monkeypatch.setattr(Path, "open", refuse)
    message = r"Cannot write .*: Permission denied \(800 bytes needed, .* free\)"
    with pytest.raises(OSError, match=message):
        made.scratch((10, 10), "float64")
