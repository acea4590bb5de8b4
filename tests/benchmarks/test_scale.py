"""The benchmark of SpicyMKL's steps runs, on few rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
