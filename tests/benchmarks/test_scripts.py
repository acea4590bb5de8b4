"""Every script of the benchmarks is run by a test, some of them by those here."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


def scripts():
    """Yield folder and name of every script."""
    for path in sorted(BENCHMARKS.rglob("*.py")):
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8"):
            yield path.parent.name, path.stem


def copied(folder, tmp_path, name):
    """Copy results, and what is stored on rows of them that were measured again."""
    for path in (folder / name, folder / "again.json"):
        if path.exists():
            (tmp_path / path.name).write_bytes(path.read_bytes())


def test_every_script_is_named_by_a_test():
    texts = [
        path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py")
    ]

    def named(*words):
        return any(all(re.search(rf"\b{w}\b", t) for w in words) for t in texts)

    # Others start child and rivals of scale, child and report of spicymkl.
    assert [each for each in scripts() if not named(*each)] == []


@pytest.mark.slow
def test_many_outputs_beside_one(run, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    assert "100 targets" in run("outputs/speed.py", "regression", "--smoke")
    printed = run("outputs/targets.py", 1)
    assert printed.count("R2 0.") == 2
    small = "--columns", 8, "--samples", 60, "--only", "spicy"
    printed = run("outputs/targets.py", 1, 12, *small)
    assert printed.count("SpicyMKLRegressorCV") == printed.count(" MB") == 2


def test_an_ablation(monkeypatch):
    # In a process of its own, because the mechanism stays disabled and the system ends
    # the process after some more minutes of the processor.
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.measure import in_child

    found = in_child(str(BENCHMARKS / "ablation/run.py"), "thinning", "lp, p = 1")
    assert 0.0 < found["gap"] < 1e-3


def test_ablations_replace_attributes_that_exist():
    tree = ast.parse((BENCHMARKS / "ablation/run.py").read_text(encoding="utf-8"))
    replaced = 0
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        nodes, names = list(ast.walk(function)), {}
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), "imports", "exec"), names)
        for target in (
            t for n in nodes if isinstance(n, ast.Assign) for t in n.targets
        ):
            owner = ast.unparse(target).rpartition(".")[0]
            if owner.partition(".")[0] in names:
                replaced += 1
                assert hasattr(eval(owner, names), target.attr), ast.unparse(target)
    assert replaced > 30


@pytest.mark.data("mfeat_digits_6views")
def test_many_classes_beside_one(run):
    printed = run("outputs/speed.py", "classes", "ufo", "--smoke")
    assert printed.count("UFOMKL") == 12


@pytest.mark.slow
def test_pairs_of_a_genome(run):
    printed = json.loads(
        run("interactions/genome.py", "--child", "--lines", "a pass, 1000 x 1000")
    )
    assert printed["products"] > 0.0


def test_fits_on_a_device(run):
    """The script for a card runs where there is none, by NumPy."""
    rows = [json.loads(line) for line in run("device/run.py", "--dry").splitlines()]
    assert [row["case"] for row in rows] == ["gaussians", "genotypes", "targets"]
    assert all(row["gap"] <= 1e-3 for row in rows)
    assert rows[0]["apart"] < 1e-9


@pytest.mark.slow
def test_default_searches_and_tiny_fits(run, tmp_path):
    kinds = "two classes", "hinge"
    options = "--methods", "SpicyMKL", "--quick", "--output", tmp_path
    run("typical/run.py", "--kinds", *kinds, *options)
    rows = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["rows"]
    assert {row["kind"] for row in rows} == set(kinds)
    assert all(row["seconds"] > 0.0 for row in rows)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| SVM grid |" in page


@pytest.mark.slow
def test_levels_of_tests_of_association(run, tmp_path):
    run("association/run.py", "levels", "power", "--draws", 2, "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| covariates | 2 |" in page
    assert "of stability selection" in page


def test_areas_under_a_spectrum(run, tmp_path):
    run("papers/local_rademacher/figure1.py", "--smoke", "--output", tmp_path)
    assert (tmp_path / "figures" / "figure1.png").stat().st_size > 10_000


def test_the_page_of_hkl_is_that_of_its_results(run, tmp_path):
    page = BENCHMARKS / "papers" / "hkl" / "RESULTS.md"
    run("papers/hkl/report.py", "--output", tmp_path / "RESULTS.md")
    found = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert found == page.read_text(encoding="utf-8")


@pytest.mark.data("liver")
def test_the_last_evaluation(run):
    options = "--sets", "liver", "--repeats", 1
    printed = run("papers/spicymkl/final_evaluation.py", *options)
    assert "largest share with a sparse model" in printed


def test_interactions(run, tmp_path):
    options = "--smoke", "--output", tmp_path
    run("interactions/run.py", "--kinds", "pass", "recovery", *options)
    rows = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["rows"]
    assert {row["kind"] for row in rows} == {"pass", "recovery"}
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| rough_forms |" in page
    assert "| both in front of other pairs |" in page


def test_the_page_of_interactions_is_that_of_its_results(run, tmp_path):
    folder = BENCHMARKS / "interactions"
    copied(folder, tmp_path, "results.json")
    run("interactions/run.py", "--kinds", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page == (folder / "RESULTS.md").read_text(encoding="utf-8")


def test_a_page_states_which_rows_were_measured_again(run, tmp_path):
    """The command benchmarks.again compares rows of equal facts, to three digits."""
    folder = BENCHMARKS / "middle"
    copied(folder, tmp_path, "sets.json")
    (tmp_path / "again.json").unlink(missing_ok=True)
    stored, new = tmp_path / "sets.json", tmp_path / "new.json"
    rows = json.loads(stored.read_text(encoding="utf-8"))["rows"][:3]
    scores = [rows[0]["score"] + 1e-3, rows[1]["score"] + 0.1, rows[2]["score"]]
    found = [
        r | {"score": s, "commit": "abc"} for r, s in zip(rows, scores, strict=True)
    ]
    new.write_text(json.dumps({"rows": found}), encoding="utf-8")
    run("again.py", stored, new, "set,model", "score")
    run("middle/sets.py", "--sets", "--output", tmp_path)
    page = (tmp_path / "SETS.md").read_text(encoding="utf-8")
    assert "at commit abc, 3 of 40 rows" in page
    assert "measured again; 2 agree in score to three digits" in page
    assert "mean change +0.034" in page


def test_integers_that_may_be_codes(run, tmp_path):
    options = "--tables", "balance", "counts", "--output", tmp_path
    printed = run("interactions/codes.py", *options)
    assert (
        printed.strip() == (tmp_path / "CODES.md").read_text(encoding="utf-8").strip()
    )
    assert printed.count("| mean |") == 2


@pytest.mark.slow
def test_intervals(run, tmp_path):
    """One draw of the posterior bands, and their page."""
    options = "--part", "bands", "--draws", 1, "--output", tmp_path
    run("intervals/run.py", *options)
    rows = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["rows"]
    assert {row["part"] for row in rows} == {"bands"}
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert all(0.0 <= row["coverage"] <= 1.0 for row in rows)
    assert all(f"| {row['case']} |" in page for row in rows)


@pytest.mark.slow
def test_default_fits_of_the_middle(run, tmp_path):
    options = "--methods", "SVC", "SpicyMKL", "--rows", 60, "--output", tmp_path
    run("middle/run.py", *options)
    rows = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["rows"]
    assert {row["method"] for row in rows} == {"SVC", "SpicyMKL"}
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "## Relative duality gap" in page
    assert "### Steps" in page
    folder = BENCHMARKS / "middle"
    copied(folder, tmp_path, "results.json")
    run("middle/run.py", "--rows", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page == (folder / "RESULTS.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_tables_of_many_rows_and_columns(run, tmp_path):
    names = ["adult 10 000 x 14", "counts 50 000 x 10"]
    options = "--share", 0.006, "--models", "fit", "boosting", "--output", tmp_path
    run("tables/run.py", "--tables", *names, *options)
    rows = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["rows"]
    assert {(row["table"], row["model"]) for row in rows} == {
        (names[0], "fit"),
        *((name, "boosting") for name in names),
    }
    assert all(row["seconds"] > 0.0 for row in rows)


def test_the_page_of_tables_is_that_of_its_results(run, tmp_path):
    folder = BENCHMARKS / "tables"
    copied(folder, tmp_path, "results.json")
    run("tables/run.py", "--tables", "--output", tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page == (folder / "RESULTS.md").read_text(encoding="utf-8")


def test_real_tables_of_the_middle(run, tmp_path):
    folder = BENCHMARKS / "middle"
    copied(folder, tmp_path, "sets.json")
    run("middle/sets.py", "--sets", "--output", tmp_path)
    page = (tmp_path / "SETS.md").read_text(encoding="utf-8")
    assert page == (folder / "SETS.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_interactions_in_processes_of_their_own(run, tmp_path):
    options = "--smoke", "--output", tmp_path
    run("interactions/run.py", *options)  # starts child.py
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| 60 x 8 | 36 |" in page
    assert "| Group-OMP |" in page
    assert "| 60 x 6 | HKL |" in page


@pytest.mark.slow
def test_the_simulation_of_skim_fa(run, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    options = "--seeds", 1, "--columns", 6, "--output", tmp_path
    run("interactions/skim_fa.py", *options)
    rows = json.loads((tmp_path / "skim_fa.json").read_text(encoding="utf-8"))
    assert all(row["found"] == ["x0", "x1", "x2 × x3"] for row in rows)
    assert all(row["r2"] <= 0.95 and row["gap"] <= 1e-3 for row in rows)
    page = (tmp_path / "SKIM_FA.md").read_text(encoding="utf-8")
    assert page.count("3 of 3") >= len(rows) == 3
