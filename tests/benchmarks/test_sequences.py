"""The benchmarks on sequences run, on tiny sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from multikernel.datasets import available

FOLDER = Path(__file__).parents[2] / "benchmarks"
NEEDS_PROMOTERS = pytest.mark.skipif(
    "dna_ecoli_promoter_81" not in available(),
    reason="needs MULTIKERNEL_DATA with dna_ecoli_promoter_81",
)


def run(script, folder):
    line = [sys.executable, FOLDER / script, "--smoke", "--output", folder]
    done = subprocess.run(
        [str(part) for part in line],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    path = folder / "results" / f"{Path(script).stem}.json"
    return done.stdout, json.loads(path.read_text(encoding="utf-8"))["rows"]


@pytest.mark.slow
@NEEDS_PROMOTERS
def test_figure2(tmp_path):
    printed, rows = run("papers/lp_norm/figure2.py", tmp_path)
    assert "| promoters, AUC [%] |" in printed
    found = [row for row in rows if "auc" in row]
    assert {row["p"] for row in found} == {"1", "4/3", "2", "4", "inf"}
    # DNA tells promoters from genes far better than chance, even from 60 of them.
    assert all(0.75 < row["auc"] <= 1.0 for row in found)
    assert (tmp_path / "figures" / "figure2.png").stat().st_size > 10_000
    # Nothing is measured twice.
    _, again = run("papers/lp_norm/figure2.py", tmp_path)
    assert again == rows


@pytest.mark.slow
@NEEDS_PROMOTERS
def test_curve_speed(tmp_path):
    printed, rows = run("papers/lp_norm/curve_speed.py", tmp_path)
    assert "(limit 30: met)" in printed
    assert [row["part"] for row in rows] == ["kernels", "n = 60"]
    assert all(row["seconds"] > 0.0 for row in rows)


@pytest.mark.skipif(
    not {"dna_celegans_acceptor_141", "multiloc_protein_sequences"} <= {*available()},
    reason="needs MULTIKERNEL_DATA with DNA and proteins",
)
def test_speed(tmp_path):
    _, rows = run("sequences/speed.py", tmp_path)
    assert len(rows) == 7
    assert "64 motif kernels" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(
    "multiloc_protein_sequences" not in available(),
    reason="needs MULTIKERNEL_DATA with multiloc_protein_sequences",
)
def test_table1_on_proteins(tmp_path):
    printed, rows = run("papers/lp_norm/table1_proteins.py", tmp_path)
    assert "| MultiLoc proteins |" in printed
    assert {row["p"] for row in rows} == {"1", "2", "inf"}
    # The ends of proteins tell the two largest classes apart.
    assert all(0.1 < row["mcc"] <= 1.0 for row in rows)
