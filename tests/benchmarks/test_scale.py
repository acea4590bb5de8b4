"""The benchmarks of scale run, on few rows."""

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
