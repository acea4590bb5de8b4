"""The examples of the gallery run, and say nothing that only we can read."""

import contextlib
import runpy
import subprocess
import warnings
from pathlib import Path

import pytest
from command_line import run_command

pytest.importorskip("matplotlib", reason="the examples draw")
from matplotlib import pyplot as plt

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").rglob("plot_*.py"))


START = subprocess.run


def run_here(command, **settings):
    """Run our command line in this process: to start one takes longer than it does."""
    if command[1:3] != ["-m", "multikernel.cli"]:
        return START(command, **settings)
    with contextlib.chdir(settings["cwd"]):
        done = run_command(*command[3:])
    assert done.exit_code == 0, done.output
    return subprocess.CompletedProcess(command, 0, done.stdout, done.stderr)


QUICK = ("plot_many_targets", "plot_norms", "plot_interactions")
"""Examples that run by default: `make docs` runs all of them as well."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path.stem in QUICK else pytest.mark.slow)
        for path in EXAMPLES
    ],
    ids=lambda path: path.stem,
)
def test_example_runs(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", run_here)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader would stumble over them
        runpy.run_path(str(path), run_name="__main__")
    assert list(tmp_path.iterdir()) == []
    assert plt.get_fignums(), "an example without a picture has no thumbnail"
    assert "environ" not in path.read_text("utf-8")
    plt.close("all")


@pytest.mark.parametrize(
    "path",
    sorted((Path(__file__).parents[1] / "docs" / "charts").glob("*.py")),
    ids=lambda path: path.stem,
)
def test_charts_are_drawn_from_what_there_is(path):
    drawn = runpy.run_path(str(path))["figure"]
    assert all(ax.lines or ax.patches or ax.collections for ax in drawn.axes)
    plt.close("all")


def test_there_are_examples():
    assert len(EXAMPLES) >= 8
