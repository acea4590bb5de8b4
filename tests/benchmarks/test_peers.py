"""What compares this library with other packages runs, on few kernels."""

import csv
import json
import runpy
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from multikernel.datasets import available
from multikernel.gram import DenseStack

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    """Modules are imported by their place in the repository."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def _benchopt(monkeypatch):
    """Give classes the names of benchopt's bases, of which they need nothing."""
    module = ModuleType("benchopt")
    for name in ("BaseObjective", "BaseDataset", "BaseSolver"):
        setattr(module, name, type(name, (), {}))
    monkeypatch.setitem(sys.modules, "benchopt", module)


def rows_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


@pytest.mark.usefixtures("_benchopt")
def test_solvers_and_a_conic_solver_reach_the_same_optimum(run, tmp_path):
    run("solvers/run.py", "--quick", "--output", tmp_path)
    rows = rows_of(tmp_path / "solvers.json")
    last = {(row["problem"], row["solver"]): row["value"] for row in rows}
    same = {where: value for where, value in last.items() if not np.isnan(value)}
    assert max(same.values()) <= 1e-4
    # Nobody gets below what is proved: conic solvers come near it within 1e-7.
    assert min(row["value"] for row in rows if not np.isnan(row["value"])) >= -1e-7
    problems = {problem for problem, _ in same}
    assert len(problems) == 5
    assert {(problem, "cvxpy") for problem in problems} <= set(same)
    # Half a squared sum of norms, at another strength, has the optimum of the sum.
    for kind in ("InterleavedNewton", "HessianMKL", "SimpleMKL", "SpicyMKL factors"):
        assert ("l1 hinge", f"multikernel {kind}") in same
    ratios = (tmp_path / "solvers_times.csv").read_text(encoding="utf-8")
    assert len(ratios.splitlines()) == 6
    # Targets share no problem: they are told apart by their score alone.
    scores = [row["score"] for row in rows if row["problem"] == "targets squared_error"]
    assert len(scores) >= 3
    assert np.isfinite(scores).all()
    assert (tmp_path / "solvers_l1_hinge.png").exists()
    assert (tmp_path / "solvers_targets_squared_error_score.png").exists()
    again = run("solvers/run.py", "--quick", "--output", tmp_path)
    assert "seconds=" not in again


@pytest.mark.usefixtures("_benchopt")
def test_matrices_of_others_are_kernels_of_trace_n(monkeypatch):
    source = "dti_ic_proteins_kernels"
    if source not in available():
        pytest.skip("MULTIKERNEL_DATA names no folder with these matrices")
    solvers = ROOT / "benchmarks" / "solvers"
    monkeypatch.syspath_prepend(str(solvers))
    dataset = runpy.run_path(str(solvers / "datasets" / "given.py"))["Dataset"]()
    dataset.source, dataset.targets = source, True
    data = dataset.get_data()
    K, n = data["kernels"].K, len(data["y"])
    DenseStack(K)  # takes them as they lie
    np.testing.assert_allclose(np.trace(K, axis1=1, axis2=2), n)
    assert np.linalg.eigvalsh(K).min() > -1e-8
    assert data["K_test"].shape == (len(K), len(data["y_test"]), n)
    # Factors say all of them.
    features = data["kernels"].features
    blocks = np.split(features.matrix, features.offsets[1:-1], axis=1)
    for Z, matrix in zip(blocks, K, strict=True):
        np.testing.assert_allclose(Z @ Z.T, matrix, atol=1e-6)
    del sys.modules["benchmark_utils"]


@pytest.mark.usefixtures("_benchopt")
def test_data_that_are_not_here_are_left_out_with_the_reason(
    run, tmp_path, monkeypatch
):
    run("solvers/run.py", "--quick", "--problems", "hkl squared_error", *to(tmp_path))
    monkeypatch.delenv("MULTIKERNEL_DATA", raising=False)
    printed = run("solvers/run.py", "--only", "views 15", *to(tmp_path))
    assert "views 15 is left out: MULTIKERNEL_DATA names no folder" in printed
    assert "seconds=" not in printed


def to(folder):
    return "--output", folder


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


def test_models_are_ranked_where_all_have_been_measured(run, tmp_path):
    wanted = "--splits", 1, "--output", tmp_path, "--models"
    script = "choosing/run.py"
    run(script, "--only", "diabetes", *wanted, "LpMKL", "random forest")
    # A model that has not seen a set leaves it without ranks, and is measured alone.
    printed = run(script, "--only", "breast_cancer", *wanted, "LpMKL")
    assert printed.count("seconds=") == 1
    rows = rows_of(tmp_path / "results" / "choosing.json")
    assert [row["set"] for row in rows] == ["diabetes", "diabetes", "breast_cancer"]
    assert rows[0]["score"] > 0.3
    assert rows[2]["score"] > 0.9
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| diabetes | 1 |" in page
    assert "breast_cancer" not in page
    first, second = (row["score"] for row in rows[:2])
    ranks = "1.00 | 2.00" if first > second else "2.00 | 1.00"
    assert f"| **mean rank** | | {ranks} |" in page
    assert (tmp_path / "figures" / "tables.png").exists()
