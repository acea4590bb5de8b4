"""The benchmarks of the SpicyMKL paper run, on tiny sizes."""

import json

import pytest

TARGETS = (
    "accuracy",
    "speed",
    "cancer",
    "path",
    "build",
    "memory",
    "imports",
    "first_fit",
    "million",
)
FIGURES = ("figure1", "figure2", "figure3", "figure4")
ALL = (*FIGURES, "rivals", "rival_sizes")

pytestmark = pytest.mark.data("liver", "ringnorm", "splice")


def measured(run, folder, *parts):
    """Run some parts; return the names of what they wrote, and RESULTS.md."""
    options = ["--smoke", "--output", folder, "--only", *parts]
    run("papers/spicymkl/run.py", *options)
    for path in (folder / "results").glob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["rows"]
        assert content["environment"]["numpy"]
    written = {path.name for path in folder.rglob("*") if path.is_file()}
    return written, (folder / "RESULTS.md").read_text(encoding="utf-8")


def test_a_figure(run, tmp_path):
    written, text = measured(run, tmp_path, "figure4")
    assert written == {"RESULTS.md", "figure4.json", "figure4.png"}
    assert "## Figure 4" in text
    assert "tiny sizes" in text


@pytest.mark.slow
def test_figures(run, tmp_path):
    written, text = measured(run, tmp_path, *ALL)
    assert written == {
        "RESULTS.md",
        "figure2_rivals.jsonl",
        "rivals.jsonl",
        *(f"{name}.json" for name in ALL if name != "rivals"),
        *(f"{name}.png" for name in (*FIGURES, "rival_sizes")),
    }
    assert all(f"## Figure {number}" in text for number in (1, 2, 3, 4))
    assert "tiny sizes" in text


def test_sizes_that_are_there_are_not_measured_again(run, tmp_path):
    measured(run, tmp_path, "rival_sizes")
    path = tmp_path / "results" / "rival_sizes.json"
    before = json.loads(path.read_text(encoding="utf-8"))
    half = [row for row in before["rows"] if row["figure"] == 3]
    path.write_text(json.dumps(before | {"rows": half}), encoding="utf-8")
    measured(run, tmp_path, "rival_sizes")
    after = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert after[: len(half)] == half  # seconds included
    facts = ("figure", "M", "n", "method", "commit")
    assert [[row[key] for key in facts] for row in after] == [
        [row[key] for key in facts] for row in before["rows"]
    ]


@pytest.mark.slow
def test_targets(run, tmp_path):
    written, text = measured(run, tmp_path, "targets")
    assert written == {"RESULTS.md", *(f"target_{name}.json" for name in TARGETS)}
    accuracy = json.loads((tmp_path / "results/target_accuracy.json").read_text())
    assert all(row["gap"] <= row["limit"] for row in accuracy["rows"])
    assert text.count("### ") == len(TARGETS)
