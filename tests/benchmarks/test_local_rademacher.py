"""The benchmarks of the local Rademacher paper run, on tiny sizes, and resume."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "local_rademacher"


def run(script, *options):
    """Run a script; return what it printed."""
    line = [sys.executable, str(FOLDER / script), *map(str, options)]
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=one_thread)
    assert done.returncode == 0, done.stderr
    return done.stdout


SMALL = ("--set", "generated", "--n", 40, "--samples", 120, "--smoke")


def test_figure_2_measures(tmp_path):
    run("figure2.py", "measure", "--splits", 1, *SMALL, "--output", tmp_path)
    row = json.loads((tmp_path / "results/figure2_generated.jsonl").read_text())
    assert {line[0] for line in row["rows"]} == {"l1", "l2", "unif", "conv", "dc"}
    assert len(row["rows"]) == 3 * 2 + 2 * 2 * 2 * 2


@pytest.mark.slow
def test_figure_2_resumes_and_reports(tmp_path):
    options = (*SMALL, "--output", tmp_path)
    run("figure2.py", "measure", "--splits", 1, *options)
    path = tmp_path / "results/figure2_generated.jsonl"
    first = path.read_text()
    assert run("figure2.py", "measure", "--splits", 2, *options).count("\n") == 1
    assert path.read_text().startswith(first)
    shown = run("figure2.py", "report", *options)
    assert "| 40 | 2 |" in shown
    assert "| conv |" in shown


@pytest.mark.slow
def test_targets_are_measured():
    shown = run("targets.py", "--smoke")
    assert "| Gaussian |" in shown
    assert "LpMKL" in shown


@pytest.mark.slow
def test_table_1_measures_and_reports(tmp_path):
    run("table1.py", "measure", "--smoke", "--splits", 1, "--output", tmp_path)
    assert "| proteinfold | conv | 59.6 ± 2.4 |" in run(
        "table1.py", "report", "--output", tmp_path
    )
