"""What compares this library with other packages runs, on few kernels."""

import csv
import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

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


@pytest.mark.slow
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


@pytest.mark.data("dti_ic_proteins_kernels")
@pytest.mark.usefixtures("_benchopt")
def test_matrices_of_others_are_kernels_of_trace_n(monkeypatch):
    source = "dti_ic_proteins_kernels"
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_models_are_ranked_where_all_have_been_measured(run, tmp_path):
    wanted = "--splits", 1, "--output", tmp_path, "--kinds"
    tables = *wanted, "small tables", "--models", "LpMKL", "random forest"
    script = "choosing/run.py"
    run(script, *tables, "--only", "diabetes")
    # A model that has not seen a set leaves it without ranks, and is measured alone.
    printed = run(script, *tables[:-1], "--only", "breast_cancer")
    assert printed.count("seconds=") == 1
    assert "seconds=" not in run(script, *tables, "--only", "diabetes")
    targets = *wanted, "many targets", "--models", "SpicyMKL", "ridge"
    run(script, *targets, "--only", "digits")
    rows = rows_of(tmp_path / "results" / "choosing.json")
    sets = [row["set"] for row in rows]
    assert sets == ["diabetes", "diabetes", "breast_cancer", "digits", "digits"]
    assert all(row["score"] > low for row, low in zip(rows, LEVELS, strict=True))
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "breast_cancer" not in page
    first, second = (row["score"] for row in rows[:2])
    ranks = "1.00 | 2.00" if first > second else "2.00 | 1.00"
    assert f"| **mean rank** | {ranks} |" in page
    for name in ("small_tables", "many_targets", "decisions"):
        assert (tmp_path / "figures" / f"{name}.png").exists()
    said = (tmp_path / "choosing_measured.txt").read_text(encoding="utf-8")
    better = "SpicyMKL" if rows[3]["score"] > rows[4]["score"] else "ridge"
    assert f"the best mean ranks have {better} (1.0)" in said


LEVELS = (0.3, 0.3, 0.9, 0.2, 0.2)
"""Scores of choosing's rows that nobody misses who learns anything."""


def compared(**scores):
    """Return rows of two sets by model, a stopped one without score."""
    return [
        {
            "kind": "small tables",
            "set": name,
            "split": 0,
            "model": model.replace("_", " "),
        }
        | {"seconds": 1.0, "used": None, "measure": "accuracy"}
        | ({} if value is None else {"score": value})
        for model, values in scores.items()
        for name, value in zip(("liver", "sonar"), values, strict=True)
    ]


def test_page_of_models_says_who_is_better():
    from benchmarks.choosing.report import kind_of, sentences, summary

    rows = compared(
        SpicyMKL_CV=(0.7, 0.8),
        SVM_grid=(0.8, 0.9),
        boosting=(0.75, None),
        EBM=(0.6, 0.85),
    )
    kind = kind_of("small tables", rows)
    np.testing.assert_array_equal(kind.ranks, [3.0, 1.0, 3.0, 3.0])
    text = " ".join(sentences(kind))
    assert "best mean ranks SVM grid (1.0)" in text
    assert "SpicyMKL CV has place 2 of 4, behind SVM grid" in text
    assert (
        "Compared with SVM grid, SpicyMKL CV is better on 0 and worse on 2 "
        "(liver -0.100, sonar -0.100), counting differences above 0.01."
    ) in text
    assert "ranked last on these sets: boosting on 1." in text
    assert summary([kind]).endswith(
        "a worse one than the best of other packages on small tables (SVM grid). "
        "All differences may be due to chance."
    )
    # Ahead of all others it says so, and behind two it names both.
    won = kind_of("small tables", compared(SpicyMKL_CV=(0.9, 0.9), EBM=(0.6, 0.85)))
    assert "than all other packages on small tables." in summary([won])
    many = replace(won, sets=won.sets * 10, scores=np.tile(won.scores, (1, 10)))
    assert "The difference exceeds chance only on small tables." in summary([many])
    third = compared(SpicyMKL_CV=(0.1, 0.1), EBM=(0.6, 0.8), boosting=(0.55, 0.7))
    text = " ".join(sentences(kind_of("small tables", third)))
    assert "behind EBM and boosting of other packages" in text


def test_methods_are_stopped_at_their_time():
    from benchmarks.choosing import run as choosing

    def search():
        while True:
            try:
                sum(range(1000))
            except Exception:  # as a search survives what fails in a fold
                continue

    with pytest.raises(choosing.Stopped):
        choosing.limited(search, 0.05)
    assert choosing.limited(lambda: 3, 0.05)[0] == 3


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
@pytest.mark.data(
    "omics_tcga_brca_3views", "dti_ic_proteins_kernels", "dna_uci_promoters"
)
@pytest.mark.parametrize(
    ("kind", "name", "models"),
    [
        ("views and kernels", "omics_tcga_brca_3views", ["SpicyMKL", "SVM on the sum"]),
        (
            "views and kernels",
            "dti_ic_proteins_kernels",
            ["LpMKL", "best single kernel"],
        ),
        ("sequences", "dna_uci_promoters", ["Group-OMP", "best single kernel"]),
        ("many targets", "omics_tcga_brca_3views", ["LpMKL", "ridge"]),
    ],
)
def test_models_on_other_kinds_of_data(kind, name, models):
    from benchmarks.choosing.models import MODELS
    from benchmarks.choosing.run import SCORES
    from benchmarks.choosing.sets import split_of

    split = split_of(kind, name, 0)
    for model in models:
        found, used = MODELS[model](split)
        score = SCORES[split.measure](split.y_test, found)
        assert score > {"accuracy": 0.8, "AUC": 0.8, "R²": -0.5}[split.measure]
        assert model == "ridge" or used >= 1


def test_page_of_models_follows_from_its_rows(tmp_path):
    from benchmarks.choosing.report import write

    choosing, guide = ROOT / "benchmarks" / "choosing", ROOT / "docs" / "user_guide"
    write(choosing / "results" / "choosing.json", tmp_path, tmp_path)
    for folder, name in ((choosing, "RESULTS.md"), (guide, "choosing_measured.txt")):
        found = (tmp_path / name).read_text(encoding="utf-8")
        assert found == (folder / name).read_text(encoding="utf-8")
