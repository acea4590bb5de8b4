"""The benchmarks of large problems, memory maps and streams run, on few rows."""

import json

import pytest


def measured(run, name, output):
    """Run a benchmark on few rows, and return its lines."""
    run(f"scale/{name}.py", "--quick", "--output", output)
    path = output / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def test_steps_are_measured(run, tmp_path):
    rows = measured(run, "solver_steps", tmp_path)
    assert {row["storage"] for row in rows} == {"factors", "dense"}
    assert {row["loss"] for row in rows} == {"hinge", "log_loss", "squared"}
    for row in rows:
        assert row["gap"] <= (1e-3 if row["storage"] == "factors" else 1e-4)
        assert row["newton_steps"] > 0


@pytest.mark.slow
def test_workers_are_measured(run, tmp_path):
    alone, two = measured(run, "workers", tmp_path)
    assert (alone["workers"], two["workers"]) == (0, 2)
    assert max(alone["gap"], two["gap"]) <= 1e-3
    assert abs(alone["objective"] - two["objective"]) <= 2e-3 * two["objective"]
    # Vectors and sums travel, the factors do not.
    assert 0 < two["bytes_out"] < 1e8
    assert two["tasks"] > two["round_trips"] > 0


@pytest.mark.slow
def test_what_is_known_is_not_measured_again(run, tmp_path):
    wanted = "--quick", "--only", "model"
    assert run("scale/targets.py", "--output", tmp_path, *wanted).startswith("model ")
    assert run("scale/targets.py", "--output", tmp_path, *wanted) == ""
    rows = json.loads((tmp_path / "results" / "targets.json").read_text("utf-8"))
    assert rows["model"]["same"]
    assert 0 < rows["model"]["file_bytes"] < rows["model"]["limit_file_bytes"]
    assert rows["model"]["gap"] <= 1e-3
    run("scale/report.py", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "a million predictions" in page


@pytest.mark.slow
def test_every_promise_and_every_rival_is_measured(run, tmp_path):
    run("scale/targets.py", "--output", tmp_path, "--quick")
    run("scale/growth.py", "--output", tmp_path, "--quick")
    run("scale/report.py", "--output", tmp_path)
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
def test_files_are_measured(what, run, tmp_path):
    options = ["--quick", "--remove", "--folder", tmp_path / "files"]
    run("scale/memmap.py", what, *options, "--output", tmp_path)
    path = tmp_path / "results" / f"memmap_{what}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == (2 if what == "maps" else 1)
    assert all(row["gap"] <= (1e-3 if what == "maps" else 1e-2) for row in rows)
    assert len({round(row["objective"], 9) for row in rows}) == 1
    left = (tmp_path / "files").rglob("*")
    assert not any(path.is_file() for path in left)
