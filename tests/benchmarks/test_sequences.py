"""The benchmarks on sequences run, on tiny sizes."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def smoke(run, tmp_path):
    """Run a script on tiny sizes; return what it printed, and the rows it saved."""

    def measured(script):
        printed = run(script, "--smoke", "--output", tmp_path)
        path = tmp_path / "results" / f"{Path(script).stem}.json"
        return printed, json.loads(path.read_text(encoding="utf-8"))["rows"]

    return measured


@pytest.mark.slow
@pytest.mark.data("dna_ecoli_promoter_81")
def test_figure2(smoke, tmp_path):
    printed, rows = smoke("papers/lp_norm/figure2.py")
    assert "| promoters, AUC [%] |" in printed
    found = [row for row in rows if "auc" in row]
    assert {row["p"] for row in found} == {"1", "4/3", "2", "4", "inf"}
    # DNA tells promoters from genes far better than chance, even from 60 of them.
    assert all(0.75 < row["auc"] <= 1.0 for row in found)
    assert (tmp_path / "figures" / "figure2.png").stat().st_size > 10_000
    # Nothing is measured twice.
    _, again = smoke("papers/lp_norm/figure2.py")
    assert again == rows


@pytest.mark.slow
@pytest.mark.data("dna_ecoli_promoter_81")
def test_curve_speed(smoke, tmp_path):
    printed, rows = smoke("papers/lp_norm/curve_speed.py")
    assert "(limit 30: met)" in printed
    assert [row["part"] for row in rows] == ["kernels", "n = 60"]
    assert all(row["seconds"] > 0.0 for row in rows)


@pytest.mark.slow
@pytest.mark.data("dna_celegans_acceptor_141", "multiloc_protein_sequences")
def test_speed(smoke, tmp_path):
    _, rows = smoke("sequences/speed.py")
    assert len(rows) == 7
    assert "64 motif kernels" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
