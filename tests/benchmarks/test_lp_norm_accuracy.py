"""The accuracy benchmarks of the lp-norm paper run, on tiny sizes."""

import json

import pytest


@pytest.fixture
def smoke(run, tmp_path):
    """Run a script on tiny sizes; return what it printed, and the rows it saved."""

    def measured(script):
        printed = run(f"papers/lp_norm/{script}.py", "--smoke", "--output", tmp_path)
        assert (tmp_path / "figures" / f"{script}.png").stat().st_size > 10_000
        (path,) = (tmp_path / "results").glob(f"{script}.json*")
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            return printed, [json.loads(line) for line in text.splitlines()]
        content = json.loads(text)
        assert content["smoke"]
        return printed, content["rows"]

    return measured


@pytest.fixture
def report(run, tmp_path):
    """Write the report; return it."""

    def written():
        run("papers/lp_norm/report.py", "--smoke", "--output", tmp_path)
        return (tmp_path / "RESULTS.md").read_text(encoding="utf-8")

    return written


@pytest.mark.slow
@pytest.mark.data("dti_ic_proteins_kernels")
def test_table1(smoke, report):
    printed, rows = smoke("table1")
    assert "| ion channels |" in printed
    assert [row["split"] for row in rows] == [0, 1]
    for row in rows:
        assert row["mcc"].keys() == {"1", "2", "inf"}
        # Kernels of proteins tell far better than chance which drugs bind them.
        assert all(0.3 < mcc <= 1.0 for found in row["mcc"].values() for mcc in found)
    # Nothing is measured twice.
    assert smoke("table1")[1] == rows
    assert "ion channels: p =" in report()


@pytest.mark.slow
def test_sparsity(smoke, report):
    printed, rows = smoke("sparsity")
    assert "| noise kernels |" in printed
    assert {row["p"] for row in rows} == {"1", "4/3", "2", "4", "inf"}
    errors = {
        p: sum(row["error"] for row in rows if (row["p"], row["noise"]) == (p, 0.98))
        for p in ("1", "inf")
    }
    assert errors["1"] < 0.5 * errors["inf"]
    assert "98%: p = " in report()
