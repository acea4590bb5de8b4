"""The benchmarks of HKL run, on tiny sizes, and go on where they were stopped."""

import json

import pytest


@pytest.fixture
def start(run):
    def quick(script, results, *options):
        script = f"papers/hkl/{script}.py"
        return run(script, "--quick", "--results", results, *options)

    return quick


def test_a_table_is_measured(start, tmp_path):
    results = tmp_path / "table2.jsonl"
    chosen = ("--kernels", "pol4", "--methods", "HKL", "--scales", "1")
    page = start("table2", results, *chosen)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["method"] for row in rows] == ["HKL", "HKL"]  # by both scalings
    assert all(0.0 <= row["error"] < 40.0 for row in rows)
    assert "| twonorm | pol4 | range |" in page
    assert "2.9±0.5" in page  # what the paper prints


@pytest.mark.parametrize("script", ["table2", "figure2"])
def test_inputs_are_scaled(script, start, tmp_path):
    results = tmp_path / f"{script}.jsonl"
    chosen = ("--kernels", "pol4", "--methods", "L2", "HKL", "--scales", "1", "0.4")
    page = start(script, results, *chosen)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    errors = {}
    for row in rows:
        errors.setdefault((row["method"], row["scale"]), []).append(row["error"])
    assert set(errors) == {(m, s) for m in ("L2", "HKL") for s in (1.0, 0.4)}
    assert errors["L2", 1.0] != errors["L2", 0.4]
    assert all(row["commit"] and len(row["sources"]) == 12 for row in rows)
    assert "| method | scale 0.4 | scale 1 | best |" in page


def test_rows_of_before_scales_are_those_of_inputs_as_they_are(start, tmp_path):
    results = tmp_path / "table2.jsonl"
    chosen = ("--kernels", "pol4", "--methods", "L2")
    start("table2", results, *chosen, "--scales", "1")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    for row in rows:
        del row["scale"]
    old = "".join(json.dumps(row) + "\n" for row in rows)
    results.write_text(old)
    start("table2", results, *chosen, "--scales", "1")
    assert results.read_text() == old


@pytest.mark.slow
def test_a_table_goes_on_where_it_was_stopped(start, tmp_path):
    results = tmp_path / "table2.jsonl"
    start("table2", results, "--kernels", "pol4", "--methods", "L2")
    start("table2", results, "--kernels", "pol4", "--methods", "L2", "HKL")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["method"] for row in rows] == ["L2"] * 8 + ["HKL"] * 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param("table1", marks=pytest.mark.data("delve_boston")),
        "table2",
        "figure2",
    ],
)
def test_all_methods_run(script, start, tmp_path):
    page = start(script, tmp_path / "rows.jsonl")
    assert "HKL" in page


@pytest.mark.data("delve_pumadyn_32nm")
@pytest.mark.parametrize("what", ["sums", "path", "certified"])
def test_targets_are_measured(what, run):
    page = run("papers/hkl/targets.py", what, "--quick")
    assert ("sources: " in page) == (what == "sums")
    assert ("total gap " in page) == (what != "sums")


def test_the_hull_is_looked_for(start, tmp_path):
    results = tmp_path / "recovery.jsonl"
    page = start("recovery", results)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["correlated"] for row in rows] == [False, True]
    assert all(row["found"] == (row["wrong_nodes"] == 0) for row in rows)
    assert "| 32 | " in page
