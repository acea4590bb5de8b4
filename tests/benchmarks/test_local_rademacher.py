"""The benchmarks of the local Rademacher paper run, on tiny sizes, and resume."""

import json

import pytest

FIGURE_2, TARGETS, TABLE_1 = (
    f"papers/local_rademacher/{name}.py" for name in ("figure2", "targets", "table1")
)
SMALL = ("--set", "generated", "--n", 40, "--samples", 120, "--smoke")


def test_figure_2_measures(run, tmp_path):
    run(FIGURE_2, "measure", "--splits", 1, *SMALL, "--output", tmp_path)
    row = json.loads((tmp_path / "results/figure2_generated.jsonl").read_text())
    assert {line[0] for line in row["rows"]} == {"l1", "l2", "unif", "conv", "dc"}
    assert len(row["rows"]) == 3 * 2 + 2 * 2 * 2 * 2


@pytest.mark.slow
def test_figure_2_resumes_and_reports(run, tmp_path):
    options = (*SMALL, "--output", tmp_path)
    run(FIGURE_2, "measure", "--splits", 1, *options)
    path = tmp_path / "results/figure2_generated.jsonl"
    first = path.read_text()
    assert run(FIGURE_2, "measure", "--splits", 2, *options).count("\n") == 1
    assert path.read_text().startswith(first)
    shown = run(FIGURE_2, "report", *options)
    assert "| 40 | 2 |" in shown
    assert "| conv |" in shown
    assert (tmp_path / "figures/figure2.png").stat().st_size > 10_000


@pytest.mark.slow
def test_targets_are_measured(run):
    shown = run(TARGETS, "--smoke")
    assert "| Gaussian |" in shown
    assert "LpMKL" in shown


@pytest.mark.slow
@pytest.mark.data("proteinfold_kernels_rank27")
def test_table_1_measures_and_reports(run, tmp_path):
    for kind in ("separate", "ufo"):
        options = ("--smoke", "--kind", kind, "--splits", 1, "--output", tmp_path)
        run(TABLE_1, "measure", *options)
    shown = run(TABLE_1, "report", "--output", tmp_path)
    assert "| proteinfold | conv | 59.6 ± 2.4 |" in shown
    assert "| proteinfold | conv, UFO-MKL | 59.6 ± 2.4 |" in shown
