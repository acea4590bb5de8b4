"""The pages of claims say what the result files say."""

import inspect
import json
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "benchmarks" / "papers"
sys.path.append(str(PAPERS))

claims = import_module("claims")
spot = import_module("spot")
provenance = import_module("provenance")
finding = import_module("findings.finding")

CLAIMS = claims.load()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.says[:40])
def test_every_claim_has_a_verdict_and_what_it_rests_on(claim):
    assert claim.judged in claims.VERDICTS
    assert claim.protocol
    if claim.test:
        place, name = claim.test.split("::")
        assert f"def {name}(" in (ROOT / place).read_text(encoding="utf-8")
    if claim.find:
        assert claim.results
        assert claim.found.text
        assert bool(claim.verdict) is (claim.found.cases == 0)
    else:
        assert claim.test or (claim.verdict in claims.MISSING and claim.why)


@pytest.mark.parametrize("paper", claims.PAPERS)
def test_no_finding_is_left_out(paper):
    module = import_module(f"findings.{paper}")
    found = {
        name
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    used = {claim.find for claim in CLAIMS if claim.paper == paper and claim.find}
    assert found == used | {"conclusion"}


MADE_ANEW = "the page is older than its results or its solvers: run `make claims`"


def test_the_page_is_that_of_the_results():
    page = (PAPERS / "CLAIMS.md").read_text(encoding="utf-8")
    assert page == claims.page(CLAIMS), MADE_ANEW


@pytest.mark.parametrize("paper", claims.PAPERS)
def test_each_paper_opens_with_its_claims(paper):
    page = (PAPERS / paper / "RESULTS.md").read_text(encoding="utf-8")
    assert page == claims.opened(page, CLAIMS, paper), MADE_ANEW
    assert page.index("<!-- claims -->") < page.index("\n## Claims") < 2000


PAPER = ROOT / "paper" / "paper.md"


@pytest.mark.skipif(not PAPER.exists(), reason="the sdist has no paper")
def test_the_paper_counts_the_claims_as_the_page_does():
    text = " ".join(PAPER.read_text(encoding="utf-8").split())
    (said,) = re.findall(
        r"identified (\d+) claims .* measured (\d+) of them .*: (\d+) were reproduced, "
        r"(\d+) in part, and (\d+) contradicted",
        text,
    )
    page = (PAPERS / "CLAIMS.md").read_text(encoding="utf-8")
    table = page.split("\n\n## ")[0].split("\n\n")[-1].splitlines()
    heads, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table
    ]
    n = {
        head: sum(int(cell or 0) for cell in cells)
        for head, *cells in list(zip(heads, *rows, strict=True))[1:]
    }
    verdicts = [n["reproduced"], n["partly"], n["contradicts"]]
    assert [*map(int, said)] == [sum(n.values()), sum(verdicts), *verdicts]


def test_contradictions_come_first():
    said = [claims.VERDICTS.index(c.judged) for c in claims.by_verdict(CLAIMS)]
    assert said == sorted(said)
    assert claims.VERDICTS[0] == "contradicts"


@pytest.mark.parametrize(
    ("held", "cases", "verdict"),
    [
        (3, 3, "reproduced"),
        (2, 4, "partly"),
        (1, 3, "contradicts"),
        (0, 1, "contradicts"),
    ],
)
def test_a_verdict_counts_cases(held, cases, verdict):
    assert claims.judgement(finding.Finding("", held, cases)) == verdict


def test_figures_and_verdict_follow_the_results(tmp_path):
    folder = PAPERS / "lp_norm" / "results"
    shutil.copy(folder / "figure2.json", tmp_path)
    find = import_module("findings.lp_norm").two_is_best
    content = json.loads((tmp_path / "figure2.json").read_text(encoding="utf-8"))
    for row in content["rows"]:
        if row.get("p") == "2":
            row["auc"] = 1.0
    (tmp_path / "figure2.json").write_text(json.dumps(content), encoding="utf-8")
    before, after = (find(finding.Results(place)) for place in (folder, tmp_path))
    assert before.held < after.held == after.cases
    assert re.search(rf"p = 2 at {after.cases}\b", after.text)


def test_exponents_are_those_of_a_power():
    rows = [{"n": n, "seconds": 3.0 * n**2.5} for n in (500, 1000, 2000)]
    rows.append({"n": 10, "seconds": 1e9})  # below the range
    assert finding.exponents(rows, "n", 500)[()] == pytest.approx(2.5)


def test_a_result_of_other_solvers_is_noticed():
    now = {"commit": "abc", "sources": provenance.sources("hkl")}
    assert claims.measured_at([now], "hkl", ()) == "abc"
    old = now | {"sources": "another hash"}
    assert claims.measured_at([now, old], "hkl", ()) == "abc; solver since changed"
    old = {"commit": "abc"}
    assert claims.measured_at([old], "hkl", ()) == "abc; solver since changed"


def test_a_change_of_names_alone_keeps_results(monkeypatch):
    monkeypatch.setattr(provenance, "sources", lambda paper: "new")
    monkeypatch.setattr(provenance, "RENAMED", {"new": "old"})
    assert provenance.is_current("new", "hkl")
    assert provenance.is_current("old", "hkl")
    assert not provenance.is_current("another hash", "hkl")
    assert not provenance.is_current(None, "hkl")


def test_rows_drawn_anew_speak_for_older_ones(monkeypatch):
    old = {"commit": "abc", "sources": "another hash"}
    checks = {"one": {"agree": 9, "drawn": 10, "measured": 10, "commit": "def"}}
    monkeypatch.setattr(claims, "rows_of", lambda paper, name: [old])
    monkeypatch.setattr(claims, "drawn_again", lambda paper, name: checks.get(name))
    text = claims.measured_at([old], "hkl", ("one",))
    assert text == "abc; 9 of 10 rows measured again agree at def"
    text = claims.measured_at([old], "hkl", ("one", "two"))
    assert text == "abc; solver since changed"
    checks["one"]["drawn"] = 12
    text = claims.measured_at([old], "hkl", ("one",))
    assert text.endswith(
        "9 of 10 rows measured again agree at def (2 more were not measured)"
    )


@pytest.mark.parametrize("one_a_line", [True, False])
def test_rows_are_drawn_measured_and_compared(monkeypatch, tmp_path, one_a_line):
    script = tmp_path / "toy" / "squares.py"
    script.parent.mkdir()
    script.write_text(GROWN if one_a_line else WHOLE, encoding="utf-8")
    stored = [{"n": n, "square": float(n * n), "cpu": 9.0} for n in range(10)]
    stored[3]["square"] += 1.0  # as other solvers had it
    results = script.parent / "results"
    results.mkdir()
    if one_a_line:
        text = "".join(json.dumps(row) + "\n" for row in stored)
        (results / "squares.jsonl").write_text(text, encoding="utf-8")
    else:
        stored.append({"kernel_seconds": 3.0})  # of no row in particular
        text = json.dumps({"rows": stored, "commit": "abc"})
        (results / "squares.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(spot, "HERE", tmp_path)
    monkeypatch.setattr(spot, "sources", lambda paper: "a hash")
    part = spot.Part(("squares.py",), ("n",))
    monkeypatch.setitem(spot.PARTS, "toy/squares", part)
    every = spot.measured_again("toy/squares", share=1.0, seed=0)
    assert (every["drawn"], every["measured"], every["agree"]) == (10, 10, 9)
    assert [row["n"] for row, _ in every["differ"]] == [3]
    some = spot.measured_again("toy/squares", share=0.25, seed=0)
    assert some["drawn"] == some["measured"] == 3


def test_fits_of_a_split_are_counted_one_by_one():
    row, other = {"fits": [[1.0, 2.0], [3.0, 4.0]]}, {"fits": [[1.0, 2.0], [3.0, 4.1]]}
    pairs = spot.Part(("squares.py",), ("n",), inside="fits").counted(row, other)
    assert [spot.agrees(*pair) for pair in pairs] == [True, False]


MEASURE = """
for n in sorted(set(range(10)) - {row.get("n") for row in rows}):
    rows.append({"n": n, "square": float(n * n), "cpu": 0.1})
"""

GROWN = f"""
import json, pathlib, sys
path = pathlib.Path(sys.argv[sys.argv.index("--output") + 1], "results/squares.jsonl")
rows = [json.loads(line) for line in path.read_text().splitlines()]
{MEASURE}
path.write_text("".join(json.dumps(row) + chr(10) for row in rows))
"""

WHOLE = f"""
import json, pathlib, sys
path = pathlib.Path(sys.argv[sys.argv.index("--output") + 1], "results/squares.json")
rows = json.loads(path.read_text())["rows"]
{MEASURE}
path.write_text(json.dumps({{"rows": rows}}))
"""


def test_comments_are_no_code():
    code = "def f(x):\n    return x\n"
    commented = (
        '"""A module."""\n\n\ndef f(x):\n    """Say."""\n    return x  # itself\n'
    )
    assert provenance.code(code) == provenance.code(commented)
    assert provenance.code(code) != provenance.code(code.replace("x\n", "-x\n"))
