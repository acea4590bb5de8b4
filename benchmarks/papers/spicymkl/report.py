"""RESULTS.md from the JSON files: our figures beside what the paper says."""

from collections.abc import Callable, Sequence
from typing import Any

import report_figures
import report_summary
import report_targets
from output import Options, options

Rows = Sequence[dict[str, Any]]
Section = Callable[[Rows], str]

INTRODUCTION = """\
# SpicyMKL: our figures beside the paper's

Suzuki and Tomioka (2009), *SpicyMKL*, METR 2009-45, section 5. This page is written by
`run.py` from the files in `results/`; nothing in it is typed by hand. `make
bench-spicymkl` measures what is not there yet, with `MULTIKERNEL_DATA` naming a folder
that holds the data sets: two hours of one core from nothing. It can be stopped and goes
on; remove a file to measure it anew.

The paper's C is meant for kernels of unit trace and summed losses: the same problem has
`alpha = C / sqrt(n)` in our estimators. A *pass* is the quadratic forms of all kernels
with one random vector by plain BLAS, timed right before and after what it is compared
with; times are medians.

<!-- claims -->
<!-- end of claims -->
"""

SMOKE = """
**These are tiny sizes that show that the scripts run. No figure here means anything.**
"""

SECTIONS: dict[str, Section] = {
    **report_targets.SECTIONS,
    **report_figures.SECTIONS,
}


def run(task: Options) -> None:
    """Write RESULTS.md."""
    text = INTRODUCTION + (SMOKE if task.smoke else "")
    loaded = {name: task.load(name) for name in SECTIONS}
    found = {name: content for name, content in loaded.items() if content}
    text += "\n" + _machines(found)
    rows = {name: content["rows"] for name, content in found.items()}
    for name in report_figures.SECTIONS:
        if name in found:
            text += "\n" + SECTIONS[name](rows[name])
    text += "\n## Targets of our own\n\n" + report_summary.summary(rows)
    for name in report_targets.SECTIONS:
        if name in found:
            text += "\n" + SECTIONS[name](rows[name])
    missing = [name for name in SECTIONS if name not in found]
    if missing:
        text += f"\nNot measured yet: {', '.join(missing)}.\n"
    task.output.mkdir(parents=True, exist_ok=True)
    (task.output / "RESULTS.md").write_text(text, encoding="utf-8")
    print(f"\nwrote {task.output / 'RESULTS.md'}")


def _machines(found: dict[str, dict[str, Any]]) -> str:
    """Say where and when the parts were measured, one line per environment."""
    groups: dict[str, list[str]] = {}
    for name, content in found.items():
        if "environment" in content:  # rows that come one by one name their commit
            groups.setdefault(_sentence(content["environment"]), []).append(name)
    if len(groups) == 1:
        return next(iter(groups)) + "\n"
    return "".join(f"- {', '.join(n)}: {text}\n" for text, n in groups.items())


def _sentence(facts: dict[str, Any]) -> str:
    versions = ", ".join(
        f"{name} {facts[name]}"
        for name in ("multikernel", "numpy", "scipy", "scikit-learn", "numba")
    )
    commit = facts.get("commit", "unknown")
    return (
        f"Measured on {facts['date']}: {facts['processor']}, {facts['cores']} cores, "
        f"{facts['memory_gb']} GB; {facts['threads']} threads; {facts['system']}, "
        f"Python {facts['python']}, {versions}, {', '.join(facts['blas'])}; "
        f"commit {commit}."
    )


if __name__ == "__main__":
    run(options(__doc__))
