"""Write the page of all claims, and the table of claims on each paper's page.

Run ``python benchmarks/papers/claims.py``. Claims are in claims.toml; `findings`
computes figures and verdicts from the result files.
"""

import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any

sys.path.append(str(Path(__file__).parent))

from findings.finding import Finding, Results
from provenance import is_current

HERE = Path(__file__).parent

PAPERS = {
    "spicymkl": "SpicyMKL (Suzuki and Tomioka, 2009)",
    "lp_norm": "lp-norm MKL (Kloft and others, 2009)",
    "group_omp": "MKL-GOMP (Sindhwani and Lozano, 2011)",
    "hkl": "HKL (Bach, 2008)",
    "local_rademacher": "Local Rademacher MKL (Cortes, Kloft and Mohri, 2013)",
}
CONTRADICTS, PARTLY, REPRODUCED = "contradicts", "partly", "reproduced"
MISSING = ("not measured", "not available")
VERDICTS = (CONTRADICTS, PARTLY, REPRODUCED, *MISSING)
"""In the order of the page."""

REPEATS = ("split", "repeat", "seed")
GROUP = ("data", "set", "task", "kernel", "method", "scale", "n", "M")
BLOCK = re.compile(r"<!-- claims -->\n.*?<!-- end of claims -->\n", re.DOTALL)
COLUMNS = ("claim", "here", "same protocol?", "splits", "commit", "verdict")

INTRODUCTION = """\
# Does the literature hold?

This page lists every claim from the experiments of the five papers, and what we
measured. `benchmarks/papers/claims.py` (`make claims`) computes figures and verdicts
from `claims.toml` and the files in `results/`. Each claim is checked on one or more
cases, such as data sets. The verdict is "reproduced" if the claim holds in all of them,
"partly" if in at least half, and "contradicts" otherwise; it gives the number of cases.
If the paper's data or sizes are not available, the column "same protocol?" names the
replacement, and the verdict refers to the replacement.

The column "splits" counts random splits, draws or seeds: ours, and the paper's in
brackets. The column "commit" names the commit at which we measured; "before X" means
that only the commit X is known, which recorded the result. If the code of the solvers
has changed since, the page says "solver since changed" or, if `spot.py` has measured a
random tenth of the rows again, how many of these agree to three digits.
"""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper in claims.toml.

    Parameters
    ----------
    paper : str
        The folder of its results.
    says : str
        What the paper claims, and where.
    protocol : str
        Whether our protocol is the paper's, and differences.
    find : str
        Function of `findings` that computes the result; empty if nothing was measured.
    results : tuple of str
        The files that it reads.
    only : mapping
        Values of the rows whose splits are counted; all rows by default.
    paper_splits : str
        Splits of the paper.
    test : str
        Test of the claim, instead of a result.
    verdict : str
        Verdict if nothing is computed: "not measured", "not available", or "reproduced"
        by a test.
    why : str
        Explanation of a difference.
    """

    paper: str
    says: str
    where: str
    protocol: str
    find: str = ""
    results: tuple[str, ...] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    paper_splits: str = ""
    test: str = ""
    verdict: str = ""
    why: str = ""

    @cached_property
    def found(self) -> Finding | None:
        """Return the finding, or None if nothing was measured."""
        if not self.find:
            return None
        module = import_module(f"findings.{self.paper}")
        found: Finding = getattr(module, self.find)(results(self.paper))
        return found

    @property
    def judged(self) -> str:
        """Return the verdict."""
        if self.found is None or not self.found.cases:
            return self.verdict
        return judgement(self.found)

    def cells(self) -> dict[str, str]:
        """Return the row of the page."""
        verdict = self.judged
        if self.found and self.found.cases:
            verdict += f" ({self.found.held} of {self.found.cases})"
        here = self.found.text if self.found else ""
        if self.test:
            here = f"{'refuted' if verdict == CONTRADICTS else 'held'} by `{self.test}`"
        texts = (here, self.why)
        rows = [row for name in self.results for row in rows_of(self.paper, name)]
        rows = [row for row in rows if self.only.items() <= row.items()]
        return {
            "claim": f"{self.says} ({self.where})",
            "here": "; ".join(text for text in texts if text),
            "same protocol?": self.protocol,
            "splits": splits(rows, self.paper_splits),
            "commit": measured_at(rows, self.paper, self.results),
            "verdict": f"**{verdict}**" if verdict.startswith(CONTRADICTS) else verdict,
        }


def judgement(found: Finding) -> str:
    """Return the verdict from the number of cases that hold."""
    if found.held == found.cases:
        return REPRODUCED
    return PARTLY if 2 * found.held >= found.cases else CONTRADICTS


def results(paper: str) -> Results:
    """Return the results of a paper."""
    return Results(HERE / paper / "results")


def rows_of(paper: str, name: str) -> list[dict[str, Any]]:
    """Return the rows of a file, each with its commit and hash of the code."""
    content = results(paper).content(name)
    rows: list[dict[str, Any]] = content["rows"]
    if any("commit" in row for row in rows):
        # A file that grew knows the tree of every row, or does not.
        return rows
    around = content.get("environment", {})
    known = {key: around[key] for key in ("commit", "sources") if key in around}
    return [known | row for row in rows]


def splits(rows: list[dict[str, Any]], paper: str) -> str:
    """Return the smallest and largest number of splits of a group."""
    counts: dict[Any, set[Any]] = {}
    for row in rows:
        mine = [row[key] for key in REPEATS if key in row]
        if mine:
            group = tuple(row.get(key) for key in GROUP)
            counts.setdefault(group, set()).add(mine[0])
    sizes = sorted({len(found) for found in counts.values()})
    ours = "–" if not sizes else f"{sizes[0]}"
    if len(sizes) > 1:
        ours += f" to {sizes[-1]}"
    return f"{ours} ({paper})" if paper else ours


def measured_at(rows: list[dict[str, Any]], paper: str, names: Sequence[str]) -> str:
    """Return the commits of rows, and whether older ones agree with today's code."""
    if not rows:
        return "–"
    commits = dict.fromkeys(row["commit"].removesuffix("-dirty") for row in rows)
    text = ", ".join(commits)
    if not is_older(rows, paper):
        return text
    older = [name for name in names if is_older(rows_of(paper, name), paper)]
    checks = [drawn_again(paper, name) for name in older]
    counted = [check for check in checks if check is not None]
    if not counted or len(counted) < len(checks):
        return f"{text}; solver since changed"
    agree, measured, drawn = (
        sum(check[key] for check in counted) for key in ("agree", "measured", "drawn")
    )
    at = ", ".join(
        dict.fromkeys(check["commit"].removesuffix("-dirty") for check in counted)
    )
    rest = f" ({drawn - measured} more were not measured)" * (measured < drawn)
    return f"{text}; {agree} of {measured} rows measured again agree at {at}{rest}"


def drawn_again(paper: str, name: str) -> dict[str, Any] | None:
    """Return the result of `spot.py` for a file, if it is from today's code."""
    path = HERE / paper / "results" / "spot.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    check: dict[str, Any] | None = known.get(name)
    return check if check and is_current(check["sources"], paper) else None


def is_older(rows: list[dict[str, Any]], paper: str) -> bool:
    """Return whether results were measured with other code, or store no hash of it."""
    return not all(is_current(row.get("sources"), paper) for row in rows)


def load(path: Path = HERE / "claims.toml") -> list[Claim]:
    """Return all claims, in the order of the file."""
    with path.open("rb") as file:
        content = tomllib.load(file)
    return [
        Claim(paper, **{k: tuple(v) if k == "results" else v for k, v in row.items()})
        for paper, rows in content.items()
        for row in rows
    ]


def by_verdict(claims: list[Claim]) -> list[Claim]:
    """Return claims with the contradictions first."""
    return sorted(claims, key=lambda claim: VERDICTS.index(claim.judged))


def table(rows: list[Mapping[str, str]], columns: tuple[str, ...]) -> str:
    """Return a table of Markdown."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(row[c] for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def conclusion(paper: str, heading: str = "") -> str:
    """Return our conclusion on a paper."""
    text = import_module(f"findings.{paper}").conclusion(results(paper))
    return fill(heading + text, 88, break_on_hyphens=False)


def overview(claims: list[Claim]) -> str:
    """Return how many claims have which verdict, a line per paper."""
    rows = []
    for paper, name in PAPERS.items():
        counts = Counter(claim.judged for claim in claims if claim.paper == paper)
        rows.append({"paper": name} | {v: str(counts[v] or "") for v in VERDICTS})
    return table(rows, ("paper", *VERDICTS))


def page(claims: list[Claim]) -> str:
    """Return the page of all claims."""
    short = {paper: name.split(" (")[0] for paper, name in PAPERS.items()}
    rows = [{"paper": short[c.paper], **c.cells()} for c in by_verdict(claims)]
    ends = "\n".join(conclusion(p, f"**{short[p]}.** ") + "\n" for p in PAPERS)
    columns = (COLUMNS[0], "paper", *COLUMNS[1:])
    return (
        f"{INTRODUCTION}\n{overview(claims)}\n## What we conclude\n\n{ends}\n"
        f"## Claims, the contradictions first\n\n{table(rows, columns)}"
    )


def section(claims: list[Claim], paper: str) -> str:
    """Return the first section of the page of a paper."""
    rows = [claim.cells() for claim in by_verdict(claims) if claim.paper == paper]
    return (
        "<!-- claims -->\n## Claims, the contradictions first\n\n"
        f"{table(rows, COLUMNS)}\n{conclusion(paper)}\n<!-- end of claims -->\n"
    )


def opened(text: str, claims: list[Claim], paper: str) -> str:
    """Return the page of a paper with its current claims."""
    if not BLOCK.search(text):
        raise ValueError(f"The page of {paper} has no section for its claims.")
    return BLOCK.sub(lambda _: section(claims, paper), text, count=1)


def main() -> None:
    """Write all pages."""
    claims = load()
    (HERE / "CLAIMS.md").write_text(page(claims), encoding="utf-8")
    for paper in PAPERS:
        place = HERE / paper / "RESULTS.md"
        text = opened(place.read_text(encoding="utf-8"), claims, paper)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
