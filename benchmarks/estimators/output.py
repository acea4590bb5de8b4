"""What both measurements write, and the page that is made of it."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

HEAD = """# The time that estimators add to their solvers

This page measures the parts of a fit, a search and a stability selection outside the
solver, on two cores. To repeat it:

```
cd benchmarks/estimators
python precomputed.py
python search.py
python stability.py
```

Each script writes its file in `results/` and this page.
"""

PAGES = {
    "precomputed": """## Precomputed kernels

The data are {n_kernels} matrices of {n_samples} x {n_samples}. The unit is a pass: the
quadratic forms of all matrices with one vector. *own part* is the time of a fit outside
the solver: reading, checks, symmetry, publishing. Figures are medians of {repeat} fits
at commit {commit}.

| layout | own part | target |
| --- | --- | --- |
| of `stack_grams` | {stacked:.2f} passes | 2 |
| of `stack_grams`, one thread | {stacked_alone:.2f} passes | 2 |
| samples first, C-ordered: beyond `stack_grams`'s | {copy:.2f} copies' time | |
| samples first, C-ordered: memory beyond X | {copied:.2f} stacks | 1 |

A copy's time is that of `numpy.ascontiguousarray` on the same array, on one thread.
""",
    "search": """## A search

The search is `SpicyMKLClassifierCV` on breast cancer with 837 kernels, 5 folds and 30
strengths, as two jobs with one BLAS thread each, and includes the final model. It is
compared with one path over all samples, with two BLAS threads. Both use
`storage="dense"`. Measured at commit {commit}.

| | measured | target |
| --- | --- | --- |
| search | {search_seconds:.1f} s | |
| one path, kernels computed | {path_seconds:.1f} s | |
| computing the kernels | {build_seconds:.1f} s | |
| search over path | {ratio:.2f} | 2.5 |
| search over path without computing the kernels | {ratio_without_building:.2f} | |
| memory of the search over that of the stack | {stacks:.2f} | 1.5 |
""",
    "stability": """## Stability selection

The call is `stability_selection` with 100 halves of breast cancer, 837 kernels,
`alpha={alpha}` and storage {storage!r}, as two jobs with one BLAS thread each. It
includes the fit on all samples from which the halves start. The single fit has two BLAS
threads and computes the kernels. Measured at commit {commit}.

| | measured | target |
| --- | --- | --- |
| one fit | {fit_seconds:.2f} s | |
| 100 halves | {halves_seconds:.1f} s | |
| halves over fit | {ratio:.1f} | 20 |
| halves over fit, processor time | {cpu_ratio:.1f} | |
| kernels chosen on a half | {n_selected:.1f} | |
| kernels chosen on 3 of 4 halves | {n_stable:.0f} | |
| of these by chance, at most | {expected_false:.2f} | |
""",
}


def commit() -> str:
    """Return the commit that is measured."""
    line = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=HERE, check=False)
    return done.stdout.strip() or "unknown"


def write(folder: Path, name: str, found: Mapping[str, Any]) -> None:
    """Store what was measured, and make the page anew."""
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=1)
    (results / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
    parts = [HEAD]
    for each, page in PAGES.items():
        path = results / f"{each}.json"
        if path.exists():
            parts.append(page.format(**json.loads(path.read_text(encoding="utf-8"))))
    (folder / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")
