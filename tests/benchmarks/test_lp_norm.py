"""The benchmarks of the lp-norm paper run, on tiny sizes."""

import json

import pytest


@pytest.fixture
def smoke(run, tmp_path):
    """Run a script on tiny sizes; return what it printed."""
    return lambda name: run(f"papers/lp_norm/{name}", "--smoke", "--output", tmp_path)


def rows(folder, name):
    content = json.loads((folder / f"results/{name}.json").read_text(encoding="utf-8"))
    assert content["smoke"]
    return content["rows"]


def test_speed(smoke, tmp_path):
    assert "passes" in smoke("speed.py")
    assert all(row["gap"] <= 1e-4 for row in rows(tmp_path, "speed"))


def test_the_papers_own_steps(smoke, tmp_path):
    smoke("published.py")
    text = (tmp_path / "results/published.jsonl").read_text(encoding="utf-8")
    (row,) = map(json.loads, text.splitlines())
    assert len(row["found"]) == 4 * 3
    # Certified, as ours are: the same optimum.
    assert all(found["reached"] and found["gap"] <= 1e-4 for found in row["found"])
    smoke("report.py")
    report = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "The paper's own steps" in report


@pytest.mark.slow  # many scripts
def test_speed_figure_and_report(smoke, tmp_path):
    smoke("speed.py")
    smoke("figure1.py")
    found = rows(tmp_path, "figure1")
    methods = {row["method"] for row in found}
    assert {"newton", "cutting_plane", "silp", "simple", "hessian"} <= methods
    assert all(row.get("reached", True) for row in found)
    assert (tmp_path / "figures/figure1.png").stat().st_size > 10_000
    assert "CONVERGED" in smoke("on_the_fly.py")
    assert "median ratio" in smoke("smo_vs_libsvm.py")
    smoke("search_speed.py")
    (row,) = rows(tmp_path, "search_speed")
    assert len(row["milliseconds"]) == 6
    # The accuracy benchmarks have tests of their own.
    smoke("report.py")
    report = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "Speed targets" in report
    assert "SMO beside LIBSVM" in report
    assert "| breast_cancer |" in report
    assert "SimpleMKL takes" in report
