"""The benchmarks of what estimators cost around their solvers run, on small sizes."""

import json

import pytest


def measured(run, script, folder):
    """Run a script on small sizes, and return what it found."""
    run(f"estimators/{script}.py", "--quick", "--output", folder)
    page = (folder / "RESULTS.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 1
    return json.loads((folder / "results" / f"{script}.json").read_text())


@pytest.mark.slow
def test_precomputed_kernels_are_read_not_copied(run, tmp_path):
    found = measured(run, "precomputed", tmp_path)
    assert found["n_kernels"] == 100
    # One copy of an array that has samples first, and what the solver holds.
    assert 1.0 <= found["copied"] < 1.5
    assert found["stacked"] > 0.0


@pytest.mark.slow
def test_the_search_is_compared_with_a_path(run, tmp_path):
    found = measured(run, "search", tmp_path)
    assert found["ratio"] == found["search_seconds"] / found["path_seconds"]
    assert found["stacks"] > 0.0


@pytest.mark.slow
def test_halves_are_compared_with_a_fit(run, tmp_path):
    found = measured(run, "stability", tmp_path)
    assert found["ratio"] == found["halves_seconds"] / found["fit_seconds"]
    assert found["n_selected"] > 0.0
