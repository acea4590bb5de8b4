"""The benchmark of the defaults runs, on one small set."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "defaults"


def start(script, *options):
    """Run a script."""
    line = [sys.executable, FOLDER / f"{script}.py", *options]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dictionaries", "normalize", "grids", "memory"])
def test_the_defaults_are_measured(command, tmp_path):
    start("run", command, "--quick", "--output", tmp_path)
    path = tmp_path / "results" / f"{command}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    # Breast cancer is easy, and near-identity kernels are in one table only.
    best = max(row["score"] for row in rows)
    assert best > 0.9
    assert len(rows) >= 2
    start("report", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 1
    assert "Measured at commit" in page


def test_a_quick_run(tmp_path):
    start("run", "memory", "--quick", "--output", tmp_path)
    path = tmp_path / "results" / "memory.json"
    narrow, middle = json.loads(path.read_text(encoding="utf-8"))["rows"]
    # A sixteenth of the median distance memorises, the median itself learns.
    assert narrow["ratio"] < 0.25 < middle["ratio"]
    assert narrow["score"] < narrow["constant"] + 0.05
    assert middle["score"] > 0.9
    assert narrow["outside"] < 0.5 < middle["outside"]
