"""Where commands write: never over what they read, and to pipes as to files."""

import io
import os
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from multikernel import SpicyMKLClassifier, load, save
from multikernel.cli._outputs import find_output
from multikernel.kernels import ColumnKernel, LinearKernel

FIT = ("--target", "outcome", "--drop", "amount", "--kernels", "linear")
DROP = ("--drop", "outcome", "--drop", "amount")

posix = pytest.mark.skipif(sys.platform == "win32", reason="has no such files")


@pytest.fixture
def model(frame, tmp_path):
    path = tmp_path / "model.skops"
    kernels = [ColumnKernel(LinearKernel(), "dose")]
    X = frame[["age", "dose", "width"]]
    save(SpicyMKLClassifier(kernels).fit(X, frame["outcome"]), path)
    return path


COMMANDS = {
    "fit": ("fit", "DATA", *FIT, "-o", "DATA"),
    "fit in batches": ("fit", "DATA", *FIT, "--stream", "-o", "DATA"),
    "fit on a cluster": ("fit", "DATA", *FIT, "--dask", "local", "-o", "DATA"),
    "predict": ("predict", "MODEL", "DATA", *DROP, "-o", "DATA"),
    "predict in batches": ("predict", "MODEL", "DATA", *DROP, "--stream", "-o", "DATA"),
    "predict as JSON": ("predict", "MODEL", "DATA", *DROP, "--json", "-o", "DATA"),
    "predict, model": ("predict", "MODEL", "DATA", *DROP, "-o", "MODEL"),
    "report": ("report", "MODEL", "DATA", *DROP, "-o", "DATA"),
    "report, model": ("report", "MODEL", "DATA", *DROP, "-o", "MODEL"),
    "path": ("path", "DATA", *FIT, "--n-alphas", "2", "--plot", "DATA"),
}


LINKED = [(c, k) for c in ("fit", "predict", "path") for k in ("symbolic", "hard")]


@pytest.mark.parametrize(
    ("command", "link"), [*((command, "none") for command in COMMANDS), *LINKED]
)
def test_an_output_that_is_an_input_ends_the_command(
    run, csv, model, tmp_path, command, link
):
    before = {path: path.read_bytes() for path in (csv, model)}
    words = [{"DATA": csv, "MODEL": model}.get(w, w) for w in COMMANDS[command]]
    if link != "none":
        words[-1] = tmp_path / "link"
        os.symlink(csv, words[-1]) if link == "symbolic" else os.link(csv, words[-1])
    result = run(*words)
    assert result.exit_code == 1
    assert "it is an input" in result.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert len(os.listdir(tmp_path)) == 2 + (link != "none")


@posix
def test_standard_streams_are_no_way_around(csv, tmp_path, monkeypatch):
    other, stdin = tmp_path / "other.skops", os.dup(0)
    other.hardlink_to(csv)
    with csv.open("a") as file:
        monkeypatch.setattr(sys, "stdout", file)
        for output in (None, Path("-"), other):
            with pytest.raises(ValueError, match=r"Cannot write to .*: it is an input"):
                find_output(output, [csv])
        monkeypatch.undo()
        os.dup2(file.fileno(), 0)
    try:
        with pytest.raises(ValueError, match="it is an input file, /dev/stdin"):
            find_output(other, [Path("-")])
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)


@posix
def test_a_link_is_followed(run, model, csv, tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    link.symlink_to(real.name)
    result = run("predict", model, csv, *DROP, "-o", link)
    assert result.exit_code == 0, result.stderr
    assert link.is_symlink()
    assert len(pd.read_csv(real)) == 60


def test_predictions_on_standard_output(run, model, csv):
    plain = run("predict", model, csv, *DROP)
    for more in ((), ("--stream",)):
        dashed = run("predict", model, csv, *DROP, "-o", "-", *more)
        assert dashed.exit_code == 0, dashed.stderr
        assert dashed.stdout == plain.stdout
    assert len(pd.read_csv(io.StringIO(plain.stdout))) == 60


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("fit", "DATA", *FIT), b"PK"),
        (("report", "MODEL", "DATA", *DROP), b"<!doctype html>"),
        (("path", "DATA", *FIT, "--n-alphas", "2"), b"\x89PNG"),
    ],
    ids=["fit", "report", "path"],
)
def test_standard_output_has_one_thing_only(
    rendered, run, model, csv, tmp_path, words, begins
):
    words = [{"DATA": csv, "MODEL": model}.get(w, w) for w in words]
    option = "--plot" if words[0] == "path" else "--output"
    result = run(*words, option, "-")
    assert result.exit_code == 0, result.stderr
    assert result.stdout_bytes.startswith(begins)
    assert b"kernels" not in result.stdout_bytes[-100:]
    if words[0] == "fit":
        (tmp_path / "copy.skops").write_bytes(result.stdout_bytes)
        assert load(tmp_path / "copy.skops").predict(pd.read_csv(csv).iloc[:, :3]).size
        assert "kernels in use" in result.stderr


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_json_and_an_output_share_no_stream(run, model, csv, command):
    words = (csv, *FIT) if command == "fit" else (model, csv, *DROP)
    result = run(command, *words, "--json", "-o", "-")
    assert result.exit_code == 1
    assert "both write to standard output" in result.stderr
    assert not result.stdout


def test_json_beside_a_file_of_predictions(run, model, csv, tmp_path):
    output = tmp_path / "predictions.csv"
    result = run("predict", model, csv, *DROP, "--json", "-o", output)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("{")
    assert len(pd.read_csv(output)) == 60


@posix
@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=str)
@pytest.mark.parametrize("name", ["pipe", "pipe.parquet"])
def test_predictions_go_through_a_pipe(run, model, csv, tmp_path, name, stream):
    pipe, found = tmp_path / name, []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    result = run("predict", model, csv, *DROP, "-o", pipe, *stream)
    reader.join()
    assert result.exit_code == 0, result.stderr
    read = pd.read_parquet if name.endswith("t") else pd.read_csv
    assert len(read(io.BytesIO(found[0]))) == 60


@posix
@pytest.mark.parametrize("words", COMMANDS)
def test_devices_are_a_sentence(run, model, csv, words):
    places = {"DATA": csv, "MODEL": model}
    words = [places.get(word, word) for word in COMMANDS[words][:-1]]
    result = run(*words, "/dev/zero")
    assert result.exit_code == 1
    assert "Cannot save to /dev/zero: it is a device, not a file." in result.stderr


def test_the_demo_draws_into_folders(run, tmp_path):
    (tmp_path / "file").write_text("x")
    for output in ("-", tmp_path / "file"):
        result = run("demo", "-o", output)
        assert result.exit_code == 1
        assert "pass a folder" in result.stderr


def test_formats_are_settled_before_the_work(run, model, csv):
    result = run("predict", model, "missing.csv", "-o", "x.xlsx")
    assert "must end in one of .csv, .parquet, .npz" in result.stderr
    result = run("path", "missing.csv", *FIT, "--plot", "x.csv")
    assert "must end in one of .png, " in result.stderr
