"""The benchmarks of the lp-norm paper run, on tiny sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "lp_norm"


def run(script, folder):
    """Run a script; return what it printed."""
    line = [sys.executable, str(FOLDER / script), "--smoke", "--output", str(folder)]
    # Threads that wait for each other make a test on a busy machine crawl.
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=one_thread)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(folder, name):
    content = json.loads((folder / f"results/{name}.json").read_text(encoding="utf-8"))
    assert content["smoke"]
    return content["rows"]


def test_speed(tmp_path):
    assert "passes" in run("speed.py", tmp_path)
    assert all(row["gap"] <= 1e-4 for row in rows(tmp_path, "speed"))


@pytest.mark.slow  # seven processes that import and compile
def test_speed_figure_and_report(tmp_path):
    run("speed.py", tmp_path)
    run("figure1.py", tmp_path)
    found = rows(tmp_path, "figure1")
    methods = {row["method"] for row in found}
    assert {"newton", "cutting_plane", "silp", "simple", "hessian"} <= methods
    assert all(row.get("reached", True) for row in found)
    assert (tmp_path / "figures/figure1.png").stat().st_size > 10_000
    assert "CONVERGED" in run("on_the_fly.py", tmp_path)
    assert "median ratio" in run("smo_vs_libsvm.py", tmp_path)
    run("search_speed.py", tmp_path)
    (row,) = rows(tmp_path, "search_speed")
    assert len(row["milliseconds"]) == 6
    # The accuracy benchmarks have tests of their own.
    run("report.py", tmp_path)
    report = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "Speed targets" in report
    assert "SMO beside LIBSVM" in report
    assert "| breast_cancer |" in report
    assert "SimpleMKL takes" in report
