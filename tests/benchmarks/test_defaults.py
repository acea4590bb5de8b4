"""The benchmark of the defaults runs, on one small set."""

import json

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["dictionaries", "normalize", "grids", "memory", "sums", "strengths"]
)
def test_the_defaults_are_measured(command, run, tmp_path):
    run("defaults/run.py", command, "--quick", "--output", tmp_path)
    path = tmp_path / "results" / f"{command}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    # Breast cancer is easy, and near-identity kernels are in one table only.
    best = max(row["score"] for row in rows)
    assert best > 0.9
    assert len(rows) >= 2
    run("defaults/report.py", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 1
    assert "Measured at commit" in page


def test_a_quick_run(run, tmp_path):
    run("defaults/run.py", "memory", "--quick", "--output", tmp_path)
    path = tmp_path / "results" / "memory.json"
    narrow, middle = json.loads(path.read_text(encoding="utf-8"))["rows"]
    # A sixteenth of the median distance memorizes, the median itself learns.
    assert narrow["ratio"] < 0.25 < middle["ratio"]
    assert narrow["score"] < narrow["constant"] + 0.05
    assert middle["score"] > 0.9
    assert narrow["outside"] < 0.5 < middle["outside"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["paths", "columns", "pairs"])
def test_default_searches_are_measured(command, run, tmp_path):
    run("defaults/searches.py", command, "--quick", "--output", tmp_path)
    path = tmp_path / "results" / f"{command}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert all(row["score"] > 0.3 for row in rows)
    run("defaults/report.py", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 1


@pytest.mark.slow
def test_the_strength_of_lp_norms_is_measured(run, tmp_path):
    run("defaults/margins.py", "--quick", "--output", tmp_path)
    run("defaults/report.py", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page.count("sets:") == 3
    assert "| C = 1 |" in page
