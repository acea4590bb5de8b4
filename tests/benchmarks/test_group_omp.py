"""The benchmarks of the MKL-GOMP paper run, on tiny sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from multikernel.datasets import available

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "group_omp"


def run(script, *options):
    """Run a script; return what it printed."""
    line = [sys.executable, str(FOLDER / script), "--smoke", *map(str, options)]
    # Threads that wait for each other make a test on a busy machine crawl.
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=one_thread)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(folder, name):
    content = json.loads((folder / f"results/{name}.json").read_text(encoding="utf-8"))
    assert content["smoke"]
    return content["rows"]


def test_figure1(tmp_path):
    printed = run("figure1.py", "--output", tmp_path)
    assert "| noise kernels |" in printed
    found = rows(tmp_path, "figure1")
    assert {row["method"] for row in found} == {"MKL-GOMP", "1", "4/3", "2", "4", "inf"}
    assert len({row["noise"] for row in found}) == 6
    assert all(0.0 < row["error"] < 0.5 for row in found)
    assert (tmp_path / "figures/figure1.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.skipif(
    "dti_ic_proteins_kernels" not in available(),
    reason="needs MULTIKERNEL_DATA with dti_ic_proteins_kernels",
)
def test_figure2(tmp_path):
    printed = run("figure2.py", "--output", tmp_path)
    assert "| ion channels |" in printed
    found = rows(tmp_path, "figure2")
    assert [row["method"] for row in found] == [
        "MKL-GOMP", "joint MKL", "sparse MKL", "sum", "single"
    ]  # fmt: skip
    run("figure2.py", "--output", tmp_path)
    assert rows(tmp_path, "figure2") == found  # nothing is measured again
    assert all(0.3 < row["score"] <= 1.0 for row in found)
    assert (tmp_path / "figures/figure2.png").stat().st_size > 10_000


@pytest.mark.slow
def test_speed():
    printed = run("speed.py")
    assert "selections" in printed
