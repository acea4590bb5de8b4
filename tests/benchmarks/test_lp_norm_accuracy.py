"""The accuracy benchmarks of the lp-norm paper run, on tiny sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from multikernel.datasets import available

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "lp_norm"


def start(script, folder):
    """Run a script; return what it printed."""
    line = [sys.executable, str(FOLDER / f"{script}.py"), "--smoke", "--output", folder]
    done = subprocess.run(
        [str(part) for part in line],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(script, folder):
    """Run a script; return what it printed, and the rows that it saved."""
    printed = start(script, folder)
    path = folder / "results" / f"{script}.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["smoke"]
    assert (folder / "figures" / f"{script}.png").stat().st_size > 10_000
    return printed, content["rows"]


def report(folder):
    """Write the report; return it."""
    start("report", folder)
    return (folder / "RESULTS.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(
    "dti_ic_proteins_kernels" not in available(),
    reason="needs MULTIKERNEL_DATA with dti_ic_proteins_kernels",
)
def test_table1(tmp_path):
    printed, rows = run("table1", tmp_path)
    assert "| ion channels |" in printed
    assert {row["p"] for row in rows} == {"1", "2", "inf"}
    # Kernels of proteins tell far better than chance which drugs bind them.
    assert all(0.3 < row["mcc"] <= 1.0 for row in rows)
    assert "ion channels: p =" in report(tmp_path)


@pytest.mark.slow
def test_sparsity(tmp_path):
    printed, rows = run("sparsity", tmp_path)
    assert "| noise kernels |" in printed
    assert {row["p"] for row in rows} == {"1", "4/3", "2", "4", "inf"}
    errors = {
        p: sum(row["error"] for row in rows if (row["p"], row["noise"]) == (p, 0.98))
        for p in ("1", "inf")
    }
    assert errors["1"] < 0.5 * errors["inf"]
    assert "98%: p = " in report(tmp_path)
