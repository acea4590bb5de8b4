"""Outputs: what is written to, what is followed, what is refused."""

import os
import socket
import stat
import sys
import threading

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLRegressor, load, report, save
from multikernel.persistence.places import find_place, write_to

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="links, pipes and devices are otherwise there"
)


def write_whole(path, data, inputs=()):
    write_to(find_place(path, inputs), data)


def test_a_link_is_followed(tmp_path):
    file, link, far = tmp_path / "file", tmp_path / "link", tmp_path / "far"
    file.write_bytes(b"old")
    link.symlink_to("file")
    far.symlink_to("link")
    write_whole(far, b"new")
    assert far.is_symlink()
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    file.unlink()
    write_whole(far, b"made")
    assert file.read_bytes() == b"made"
    link.unlink()
    link.symlink_to("nowhere/file")
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere does not exist"):
        write_whole(far, b"")
    link.unlink()
    link.symlink_to("far")
    with pytest.raises(OSError, match=r"Cannot save to .*far: Too many levels"):
        write_whole(far, b"")


def read_in_a_thread(pipe):
    """Return a list that gets what is read from a pipe, and the thread that reads."""
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    return found, reader


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "model.skops"
    os.mkfifo(pipe)
    found, reader = read_in_a_thread(pipe)
    save(StandardScaler(), pipe)
    reader.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    (tmp_path / "copy.skops").write_bytes(found[0])
    assert isinstance(load(tmp_path / "copy.skops"), StandardScaler)


def test_devices_sockets_and_folders_are_a_sentence(tmp_path):
    with pytest.raises(OSError, match=r"Cannot save to /dev/null: it is a device"):
        save(StandardScaler(), "/dev/null")
    (tmp_path / "link").symlink_to("/dev/null")
    with pytest.raises(OSError, match=r"Cannot save to .*link: it is a device"):
        write_whole(tmp_path / "link", b"")
    with socket.socket(socket.AF_UNIX) as door:
        # Names of sockets are short.
        here = os.getcwd()
        os.chdir(tmp_path)
        try:
            door.bind("door")
        finally:
            os.chdir(here)
        with pytest.raises(OSError, match="it is a socket"):
            write_whole(tmp_path / "door", b"")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_whole(tmp_path, b"")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_standard_output_is_written_to(tmp_path, monkeypatch):
    path = tmp_path / "shown"
    with path.open("w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        file.write("before\n")
        assert find_place(f"/dev/fd/{file.fileno()}").is_standard_output
        write_whole(path, b"data")
        monkeypatch.undo()
    assert path.read_bytes() == b"before\ndata"


@pytest.mark.parametrize("how", ["name", "symlink", "hard link", "dots"])
def test_an_input_is_no_output(tmp_path, how):
    data, output = tmp_path / "data.csv", tmp_path / "output.csv"
    data.write_bytes(b"precious")
    if how == "symlink":
        output.symlink_to(data)
    elif how == "hard link":
        output.hardlink_to(data)
    else:
        output = data if how == "name" else tmp_path / ".." / tmp_path.name / data.name
    for inputs in ([tmp_path / "missing", data], [tmp_path], [f"{tmp_path}/d*.csv"]):
        with pytest.raises(ValueError, match=r"Cannot write to .*: it is an input"):
            write_whole(output, b"", inputs)
    assert data.read_bytes() == b"precious"
    write_whole(output, b"asked for")
    assert output.read_bytes() == b"asked for"


def test_a_report_writes_over_no_matrices_that_it_reads(tmp_path):
    x = np.linspace(-1.0, 1.0, 6)
    grams = np.exp(-((x[:, None] - x) ** 2))[None]
    np.save(tmp_path / "new.npy", grams)
    model = SpicyMKLRegressor("precomputed", alpha=0.1)
    model.fit(np.moveaxis(grams, 0, -1), np.sin(2.0 * x))
    with pytest.raises(ValueError, match="it is an input"):
        report(model, tmp_path / "new.npy", path=tmp_path / "new.npy")
    mapped = np.moveaxis(np.load(tmp_path / "new.npy", mmap_mode="r"), 0, -1)
    with pytest.raises(ValueError, match="it is an input"):
        report(model, mapped, path=tmp_path / "new.npy")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/stderr")
def test_standard_error_in_a_file_is_written_to(tmp_path, monkeypatch):
    with (tmp_path / "log").open("w+") as log:
        monkeypatch.setattr(sys, "stderr", log)
        log.write("before\n")
        write_whole(tmp_path / "log", b"whole\n")
        log.write("after\n")
        log.flush()
        assert (tmp_path / "log").read_text() == "before\nwhole\nafter\n"
