"""What compares this library with other packages runs, on few samples."""

import csv
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    """Modules are imported by their place in the repository."""
    monkeypatch.syspath_prepend(str(ROOT))


def rows_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def test_tasks_beside_other_packages(run, tmp_path):
    run("comparison/run.py", "--quick", "--only", "bands", "--output", tmp_path)
    scores = {
        row["method"]: row["score"] for row in rows_of(tmp_path / "comparison.json")
    }
    assert scores["bands_spicy"] > scores["bands_ridge"] + 0.1
    with (tmp_path / "bands.csv").open(encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    assert head[:4] == ["package", "lines", "seconds", "R²"]
    assert lines[0][:2] == ["multikernel, SpicyMKLRegressorCV", "5"]
