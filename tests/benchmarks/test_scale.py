"""The benchmarks of steps, of memory maps and of streams run, on few rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "scale" / "solver_steps.py"


def test_steps_are_measured(tmp_path):
    line = [sys.executable, SCRIPT, "--quick", "--output", tmp_path]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "results" / "solver_steps.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert {row["storage"] for row in rows} == {"factors", "dense"}
    assert {row["loss"] for row in rows} == {"hinge", "log_loss", "squared"}
    for row in rows:
        assert row["gap"] <= (1e-3 if row["storage"] == "factors" else 1e-4)
        assert row["newton_steps"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("what", ["maps", "stream"])
def test_files_are_measured(what, tmp_path):
    options = ["--quick", "--remove", "--folder", tmp_path / "files"]
    line = [sys.executable, SCRIPT.parent / "memmap.py", what, *options]
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
