"""The benchmarks of large problems, memory maps and streams run, on few rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "scale"


def measured(name, output):
    """Run a benchmark on few rows, and return its lines."""
    line = [sys.executable, FOLDER / f"{name}.py", "--quick", "--output", output]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    path = output / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def test_steps_are_measured(tmp_path):
    rows = measured("solver_steps", tmp_path)
    assert {row["storage"] for row in rows} == {"factors", "dense"}
    assert {row["loss"] for row in rows} == {"hinge", "log_loss", "squared"}
    for row in rows:
        assert row["gap"] <= (1e-3 if row["storage"] == "factors" else 1e-4)
        assert row["newton_steps"] > 0


@pytest.mark.slow
def test_workers_are_measured(tmp_path):
    alone, two = measured("workers", tmp_path)
    assert (alone["workers"], two["workers"]) == (0, 2)
    assert max(alone["gap"], two["gap"]) <= 1e-3
    assert abs(alone["objective"] - two["objective"]) <= 2e-3 * two["objective"]
    # Vectors and sums travel, the factors do not.
    assert 0 < two["bytes_out"] < 1e8
    assert two["tasks"] > two["round_trips"] > 0


def start(script, folder, *arguments):
    """Run a script on few rows; return what it said."""
    line = [sys.executable, FOLDER / script, "--output", folder, *arguments]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow  # seven processes that import and compile
def test_what_is_known_is_not_measured_again(tmp_path):
    wanted = "--quick", "--only", "model"
    assert start("targets.py", tmp_path, *wanted).startswith("model ")
    assert start("targets.py", tmp_path, *wanted) == ""
    rows = json.loads((tmp_path / "results" / "targets.json").read_text("utf-8"))
    assert rows["model"]["same"]
    assert 0 < rows["model"]["file_bytes"] < rows["model"]["limit_file_bytes"]
    assert rows["model"]["gap"] <= 1e-3
    start("report.py", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "a million predictions" in page


@pytest.mark.slow
def test_every_promise_and_every_rival_is_measured(tmp_path):
    start("targets.py", tmp_path, "--quick")
    start("growth.py", tmp_path, "--quick")
    start("report.py", tmp_path)
    for name in ("targets", "growth"):
        text = (tmp_path / "results" / f"{name}.json").read_text(encoding="utf-8")
        rows = json.loads(text)
        # The environment of the tests has neither himalaya nor scMKL.
        failed = [key for key, row in rows.items() if "failed" in row]
        assert all(key.endswith(("himalaya", "scmkl")) for key in failed), failed
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 7
    assert (tmp_path / "figures" / "generated.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["maps", "stream"])
def test_files_are_measured(what, tmp_path):
    options = ["--quick", "--remove", "--folder", tmp_path / "files"]
    line = [sys.executable, FOLDER / "memmap.py", what, *options]
    done = subprocess.run(
        [*line, "--output", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    path = tmp_path / "results" / f"memmap_{what}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == (2 if what == "maps" else 1)
    assert all(row["gap"] <= (1e-3 if what == "maps" else 1e-2) for row in rows)
    assert len({round(row["objective"], 9) for row in rows}) == 1
    left = (tmp_path / "files").rglob("*")
    assert not any(path.is_file() for path in left)
