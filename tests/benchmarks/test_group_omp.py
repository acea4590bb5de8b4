"""The benchmarks of the MKL-GOMP paper run, on tiny sizes."""

import json

import pytest

SCRIPTS = "papers/group_omp"


def rows(folder, name):
    content = json.loads((folder / f"results/{name}.json").read_text(encoding="utf-8"))
    assert content["smoke"]
    return content["rows"]


@pytest.mark.slow
def test_figure1(run, tmp_path):
    printed = run(f"{SCRIPTS}/figure1.py", "--smoke", "--output", tmp_path)
    assert "| noise kernels |" in printed
    found = rows(tmp_path, "figure1")
    norms = {"1", "4/3", "2", "4", "inf"}
    hinge = {"elastic net, hinge", "1, hinge"}
    assert {row["method"] for row in found} == {"MKL-GOMP", *norms, *hinge}
    assert all(row["smallest_lambda"] <= row["lambda"] for row in found)
    assert len({row["noise"] for row in found}) == 6
    assert all(0.0 < row["error"] < 0.5 for row in found)
    assert (tmp_path / "figures/figure1.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.data("dti_ic_proteins_kernels")
def test_figure2(run, tmp_path):
    printed = run(f"{SCRIPTS}/figure2.py", "--smoke", "--output", tmp_path)
    assert "| ion channels |" in printed
    found = rows(tmp_path, "figure2")
    assert [row["method"] for row in found] == [
        "MKL-GOMP", "joint MKL", "sparse MKL", "sum", "single"
    ]  # fmt: skip
    run(f"{SCRIPTS}/figure2.py", "--smoke", "--output", tmp_path)
    assert rows(tmp_path, "figure2") == found  # nothing is measured again
    assert all(0.3 < row["score"] <= 1.0 for row in found)
    assert (tmp_path / "figures/figure2.png").stat().st_size > 10_000


@pytest.mark.slow
def test_speed(run):
    printed = run(f"{SCRIPTS}/speed.py", "--smoke")
    assert "selections" in printed
