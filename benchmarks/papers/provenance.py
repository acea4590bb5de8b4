"""What a result was measured with: the commit, and the code of its solvers.

A page of results is older than the library where the code of the solvers has changed
since. Commits do not tell that, as most change other things; so a result stores a hash
of the solvers' code too. Docstrings and comments do not count.
"""

import ast
import hashlib
import io
import json
import platform
import subprocess
import tokenize
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "multikernel"

RUNS = "solvers/machine_runs.py"

SOLVERS = {
    "spicymkl": ("solvers/spicy", "solvers/comparison", "solvers/lp", RUNS),
    "lp_norm": ("solvers/lp", "solvers/comparison", "machines/smo", RUNS),
    "group_omp": ("solvers/group_omp", "solvers/lp", "solvers/spicy", RUNS),
    "hkl": ("solvers/hkl", "kernels/graph"),
    "local_rademacher": (
        "solvers/local_rademacher.py",
        "solvers/lp",
        "machines/smo",
        RUNS,
    ),
}
"""Folders and files of the library whose code a paper's results rest on."""


RENAMED = {
    "e8fdc8fe4ee2": "48efa17ee5df",
    "cedf9f11bfc0": "c3dff60e12aa",
    "7603af7aa525": "2780d564ec8f",
    "6426fa288ea9": "a93963c09274",
    "2afea8bcf263": "48efa17ee5df",
    "bd70c1b39686": "0403fa2eb572",
    "774a36ad28ab": "c3dff60e12aa",
    "6faad8a806ae": "2780d564ec8f",
    "45deb6464a53": "a93963c09274",
    "556ffd988f2e": "0403fa2eb572",
    "1e03296a9436": "a93963c09274",
    "c8921d81ae51": "0403fa2eb572",
    "891e7064163e": "a93963c09274",
    "15bd8348c7a2": "0403fa2eb572",
    "c97a3754353c": "48efa17ee5df",
    "41257f3e955c": "c3dff60e12aa",
    "9394eb642322": "2780d564ec8f",
    "a7650b14c5b3": "a93963c09274",
    "a87b78cd389d": "0403fa2eb572",
    "128c606bfcf5": "a93963c09274",
    "3a2f1dc27c01": "48efa17ee5df",
    "2fb0515de4a8": "0403fa2eb572",
    "c77bbb9a2b4f": "c3dff60e12aa",
    "fcc33927acde": "2780d564ec8f",
    "d207e9c1d6cc": "a93963c09274",
    "cef463fd1c08": "0403fa2eb572",
    "8b2a00ffd791": "c3dff60e12aa",
    "b5b1f6a4d80b": "c3dff60e12aa",
    "24248e468f5f": "a93963c09274",
    "7d1324467986": "0403fa2eb572",
    "ac6abddb1f8b": "a93963c09274",
    "e81fa33f4566": "0403fa2eb572",
}
"""Hashes of code, and of the same code before names or texts of messages changed.

Commits cec6abca and 7956193b have equal syntax trees for lp_norm, hkl and
local_rademacher, up to names. For the next seven, the syntax trees are those of commit
4f366934, up to texts of messages, the name of the setting `inward_share`, and the local
name `outward` in `solvers/spicy/sides.py`. With the next two, SpicyMKL and GroupOMP
also refuse unpenalized columns, the first Newton step on factors stores no identity
matrix (96 fits are equal to the last bit), and SpicyMKL may start on a part of the
samples: only if factors have at most one column for 200 samples, as no stored run has.

The next five differ in private names. In the first two of these, Newton's method in the
weights also uses the certificate of all other solvers: in 220 fits the iterations are
the same, models differ relatively by at most 2e-14, and gaps by at most 3e-11, except
one Poisson fit, whose gap is 6.1e-5 instead of 4.9e-5.

With the next two, the augmented Lagrangian returns to its former dual point if Newton's
method fails and the objective has grown. In 80 fits with the logistic and hinge losses
this never happens, and all are equal to the last bit.

The next five have fewer helpers. HKL stores no conjugates, and Group-OMP on factors no
spare rows, which made calls slower by at most a fourth. In 393 fits of all methods,
all numbers are equal to the last bit.

With the next three, HKL computes p-values of strong nodes only and stores more factors,
and the first step with machines leaves out kernels that are zero, which ended in an
error before; other changes are names. The same 393 fits are equal to the last bit. On
400 digits of 61 columns, gaps of HKL change by 2e-11 and decision values by 1e-14.

With the next one, HKL has fewer private classes and one cache of forms. Twelve fits of
four losses and five graphs are equal to the last bit.

With the last four, Newton's method in the weights sums and factorizes matrices in one
loop, and warm starts use the decision values of the model (the last two differ in warm
starts from other targets). Of the 393 fits, 318 are
equal to the last bit; without a warm start the iterations are the same and decision
values differ relatively by at most 2e-10, in one fit on sampled rows by 7e-7. Searches
and paths start every solve warm: the chosen strengths are the same up to rounding, and
decision values differ by at most 4e-3 at a tolerance of 1e-3.
"""


def is_current(stored: str | None, paper: str) -> bool:
    """Return whether the code of a paper's solvers is that of a stored hash."""
    now = sources(paper)
    return RENAMED.get(stored or "", stored) == RENAMED.get(now, now)


def provenance(paper: str) -> dict[str, str]:
    """Return what is stored beside a result."""
    return {"commit": commit(), "sources": sources(paper)}


@cache
def commit() -> str:
    """Return the commit of this tree, with a mark if files differ from it."""
    line = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=HERE, check=False)
    return done.stdout.strip() or "unknown"


def processor() -> str:
    """Return the processor's name where the system tells it."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


@cache
def sources(paper: str) -> str:
    """Return the hash of the code of a paper's solvers, as it is now."""
    places = [SOURCE / name for name in SOLVERS[paper]]
    files = [place for place in places if place.is_file()]
    found_in = [path for place in places for path in place.rglob("*.py")]
    paths = sorted({*files, *found_in})
    found = hashlib.sha256()
    for path in paths:
        found.update(path.relative_to(SOURCE).as_posix().encode())
        found.update(code(path.read_text(encoding="utf-8")).encode())
    return found.hexdigest()[:12]


def code(text: str) -> str:
    """Return a module without what does not run: comments, docstrings, empty lines.

    The text itself, and not what Python makes of it: that differs by its version.
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if _is_text(node):
            lines[node.lineno - 1 : node.end_lineno] = [""] * _height(node)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    value = getattr(node, "value", None)
    return isinstance(node, ast.Expr) and isinstance(getattr(value, "value", None), str)


def _height(node: ast.Expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of one JSON object a line, none where there is none."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def append(path: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Write a row to the end of such a file; return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return row
