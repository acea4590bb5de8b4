"""Figures 2 to 4 and other methods beside what the paper says of them."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from figure1 import TOL
from figure2 import LONGEST
from figure3 import medians
from findings.finding import exponents, groups
from output import markdown
from report_figure1 import LOSSES, figure1, names, statements, trials
from rival_sizes import METHODS, MOST_FOR_SIMPLE

Rows = Sequence[dict[str, Any]]


def rivals(rows: Rows) -> str:
    """Return the other methods' times, accuracies and kernels."""
    cells = []
    for (data, C, method), mine in groups(rows, "data", "C", "method").items():
        means = {
            key: float(np.mean([row[key] for row in mine]))
            for key in ("cpu_seconds", "accuracy", "n_active", "n_shared")
            if key in mine[0]
        }
        ratio = float(np.median([row["ratio"] for row in mine]))
        facts = {"data": data, "C": C, "method": method, "M": mine[0]["M"]}
        cells.append({**facts, **means, "ratio": ratio, "splits": len(mine)})
    columns = {
        "data": ("data", "s"),
        "C": ("C", "g"),
        "method": ("method", "s"),
        "M": ("M", "d"),
        "splits": ("splits", "d"),
        "cpu_seconds": ("CPU [s]", ".3f"),
        "ratio": ("in times of SpicyMKL's", ".1f"),
        "accuracy": ("test accuracy", ".3f"),
        "n_active": ("kernels", ".1f"),
        "n_shared": ("of SpicyMKL's", ".1f"),
    }
    ranges = [
        (f"{method}: {claim}.", _range(rows, method))
        for method, claim in (
            ("SimpleMKL", "a factor of 5 to 80"),
            ("HessianMKL", "slower when M is large"),
            ("SILP", "named, without a factor"),
        )
        if any(row["method"] == method for row in rows)
    ]
    early = ", ".join(
        f"{row['method']} on {row['data']} at C = {row['C']:g} (gap {row['gap']:.2g})"
        for row in rows
        if row["gap"] > TOL
    )
    ended = "Nothing is stopped before its gap" + (
        f", but by the library's rule for solvers without progress: {early}"
        * bool(early)
    )
    return (
        "## Other methods on the same problems, hinge, gap 0.01\n\n"
        "All methods are this library's own, on the same stack, one thread; the "
        "strength of the squared penalty is C over the sum of norms, so that the "
        "minimizers agree. Seconds of the processor, beside other work. "
        f"{ended}. Means over the random splits that the table counts (the paper: 10); "
        "accuracies of SimpleMKL are of fewer splits, so not to be held against those "
        "above them; the ratio is the median.\n\n"
        + markdown(cells, columns)
        + "\n"
        + statements(ranges)
    )


def _range(rows: Rows, method: str) -> str:
    ratios = [row["ratio"] for row in rows if row["method"] == method]
    return f"SpicyMKL is faster by a factor of {min(ratios):.1f} to {max(ratios):.0f}"


def figure2_rivals(rows: Rows) -> str:
    """Return where the curves of all methods end."""
    ends = [
        row | dict(zip(("cpu", "gap", "n_active"), row["curve"][-1], strict=True))
        for row in rows
    ]
    columns = {
        "C": ("C", "g"),
        "loss": ("loss", "s"),
        "method": ("method", "s"),
        "cpu": ("CPU [s]", ".2f"),
        "gap": ("gap", ".1e"),
        "n_active": ("kernels", "d"),
    }
    return (
        "### All methods on the same split, to a gap of 0.01\n\n"
        f"No method begins an iteration after {LONGEST:.0f} s; one of SimpleMKL solves "
        "as many machines as its line search takes. The lower panels have the curves "
        f"at one C.\n\n{markdown(ends, columns)}"
    )


def figure2(rows: Rows) -> str:
    """Return the history of the gap."""
    cells = []
    for loss in names(rows, "loss"):
        for C in names(rows, "C"):
            curve = [r for r in rows if r["loss"] == loss and r["C"] == C]
            first = next((r for r in curve if r["gap"] <= 0.01), curve[-1])
            cells.append(
                {
                    "loss": loss,
                    "C": C,
                    "hundredth": first["seconds"],
                    "seconds": curve[-1]["seconds"],
                    "gaps": ", ".join(f"{r['gap']:.0e}" for r in curve),
                    "counts": ", ".join(str(r["n_active"]) for r in curve),
                }
            )
    columns = {
        "loss": ("loss", "s"),
        "C": ("C", "g"),
        "hundredth": ("gap 0.01 after [s]", ".3f"),
        "seconds": ("gap 1e-6 after [s]", ".3f"),
        "gaps": ("gap after each outer step", "s"),
        "counts": ("kernels with a nonzero norm", "s"),
    }
    return (
        "## Figure 2: gap and active kernels against time\n\n"
        "![figure 2](figures/figure2.png)\n\nOne split of ionosphere, as in the "
        "paper; seconds of the processor on one thread.\n\n"
        + markdown(cells, columns)
        + "\n"
        + statements(
            [
                (
                    "The duality gap of SpicyMKL rapidly drops.",
                    f"the first outer step divides it by {_factor(rows, 0):.1f}, the "
                    f"last by {_factor(rows, -1):.0f} (medians over losses and C)",
                ),
                (
                    "The number of kernels falls rapidly from all of them.",
                    "it starts from none instead: only kernels that violate the dual "
                    "constraints are ever looked at in the inner iteration",
                ),
            ]
        )
    )


def _factor(rows: Rows, step: int) -> float:
    """Return by what an outer step divides the gap, the median over curves."""
    factors = []
    for key in dict.fromkeys((r["loss"], r["C"]) for r in rows):
        gaps = [r["gap"] for r in rows if (r["loss"], r["C"]) == key]
        ratios = [a / max(b, 1e-16) for a, b in pairwise(gaps)]
        factors.append(ratios[step])
    return float(np.median(factors))


def figure3(rows: Rows) -> str:
    """Return time against the number of kernels."""
    cells = _grid(rows, "M", ["pass_seconds"])
    near = min(names(rows, "M"), key=lambda M: abs(M - 3000))
    slowest = max(row["seconds"] for row in rows if row["M"] == near)
    return (
        "## Figure 3: time against the number of kernels, n = 200, gap 0.01\n\n"
        f"![figure 3](figures/figure3.png)\n\nMedian seconds over {trials(rows)}; "
        "inputs are standardized.\n\n"
        + markdown(cells, _grid_columns(rows, "M") | {"pass_seconds": ("pass", ".4f")})
        + "\n"
        + statements(
            [
                (
                    "3000 kernels are trained in less than 10 seconds.",
                    f"{near} kernels: at most {slowest:.2f} s over all splits, losses "
                    "and C",
                ),
                (
                    "The dependency on the number of kernels is mild.",
                    _growth(rows, "M", "kernels"),
                ),
            ]
        )
    )


def figure4(rows: Rows) -> str:
    """Return time against the sample size."""
    return (
        "## Figure 4: time against the sample size, 20 kernels, gap 0.01\n\n"
        f"![figure 4](figures/figure4.png)\n\nMedian seconds over {trials(rows)}; "
        "inputs are standardized.\n\n"
        + markdown(_grid(rows, "n", []), _grid_columns(rows, "n"))
        + "\n"
        + statements(
            [
                (
                    "Scaling with the sample size is comparable to other methods.",
                    _growth(rows, "n", "samples"),
                )
            ]
        )
    )


def _grid(rows: Rows, key: str, shared: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row per set and size, a column per loss and strength."""
    cells = []
    for data in names(rows, "data"):
        for size in names(rows, key):
            facts = {"data": data, key: size}
            line: dict[str, Any] = dict(facts)
            for loss in LOSSES:
                for C in names(rows, "C"):
                    found = medians(rows, "seconds", **facts, C=C, loss=loss)
                    line[f"{loss} {C:g}"] = found
            line |= {name: medians(rows, name, **facts) for name in shared}
            cells.append(line)
    return cells


def _grid_columns(rows: Rows, key: str) -> dict[str, tuple[str, str]]:
    columns = {"data": ("data", "s"), key: (key, "d")}
    for loss in LOSSES:
        for C in names(rows, "C"):
            columns[f"{loss} {C:g}"] = (f"{loss}, C = {C:g}", ".3f")
    return columns


def _growth(rows: Rows, key: str, things: str) -> str:
    """Return the power that time grows with: over the upper half of the sizes.

    Small sizes are mostly overhead, so the power over all of them flatters.
    """
    sizes = sorted(names(rows, key))
    middle = sizes[min(len(sizes) // 2, len(sizes) - 2)]  # a power takes two sizes
    upper, whole = (
        exponents(rows, key, low, "data", "loss", "C").values()
        for low in (middle, sizes[0])
    )
    return (
        f"from {middle} to {sizes[-1]} {things} time grows like {key} to the power of "
        f"{min(upper):.2f} to {max(upper):.2f} (from {sizes[0]} on, where overhead "
        f"counts, {min(whole):.2f} to {max(whole):.2f})"
    )


def rival_sizes(rows: Rows) -> str:
    """Return the times of all methods over numbers of kernels and of samples."""
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        facts = {key: row[key] for key in ("figure", "data", "C", "M", "n")}
        cell = cells.setdefault(tuple(facts.values()), facts)
        cell.setdefault(row["method"], []).append(row["cpu_seconds"])
    for cell in cells.values():
        for method in METHODS:
            cell[method] = float(np.median(cell[method])) if method in cell else None
    columns = {
        "data": ("data", "s"),
        "C": ("C", "g"),
        "M": ("M", "d"),
        "n": ("n", "d"),
        **{method: (method, ".3f") for method in METHODS},
    }
    return (
        "## SimpleMKL and HessianMKL over the sizes of figures 3 and 4, hinge\n\n"
        f"![sizes](figures/rival_sizes.png)\n\nSeconds of one core, {trials(rows)}, "
        "gap 0.01, nothing stopped before; SimpleMKL with at most "
        f"{MOST_FOR_SIMPLE} kernels; the picture has C = 0.05.\n\n"
        + markdown(list(cells.values()), columns)
    )


SECTIONS: dict[str, Callable[[Rows], str]] = {
    "figure1": figure1,
    "rivals": rivals,
    "figure2": figure2,
    "figure2_rivals": figure2_rivals,
    "figure3": figure3,
    "figure4": figure4,
    "rival_sizes": rival_sizes,
}
