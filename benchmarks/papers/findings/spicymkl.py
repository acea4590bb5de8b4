"""The claims of SpicyMKL (Suzuki and Tomioka, 2009)."""

from collections.abc import Hashable
from itertools import pairwise

import numpy as np

from findings.finding import (
    Finding,
    Results,
    Rows,
    exponents,
    finding,
    groups,
    means,
    span,
)

LOSSES = ("hinge", "log_loss")
UPPER_M, UPPER_N = 1000, 500
"""Where the upper half of the sizes of figures 3 and 4 begins."""


def _rivals(results: Results, method: str) -> list[dict]:
    return [row for row in results("rivals") if row["method"] == method]


def _splits(rows: Rows, name: object) -> int:
    return len({row["split"] for row in rows if row["data"] == name})


def simple_mkl(results: Results) -> Finding:
    """Faster than SimpleMKL by a factor of 5 to 80."""
    rows = _rivals(results, "SimpleMKL")
    sets = dict.fromkeys(row["data"] for row in rows)
    factors = (
        f"{span((r['ratio'] for r in rows if r['data'] == name), '.0f')} times on "
        f"{name}"
        for name in sets
    )
    splits = ", ".join(str(_splits(rows, name)) for name in sets)
    gap = max(row["gap"] for row in rows)
    text = (
        f"{' and '.join(factors)} (splits: {splits}), each to its end (gap {gap:.2g} "
        "or less)"
    )
    return finding(text, (row["ratio"] >= 5.0 for row in rows))


def hessian_mkl(results: Results) -> Finding:
    """Faster than HessianMKL when M is large."""
    rows = _rivals(results, "HessianMKL")
    large = [row for row in rows if row["M"] >= 900]
    small = [row["ratio"] for row in rows if row["M"] < 900]
    factors = span(row["ratio"] for row in large)
    counts = sorted({row["M"] for row in rows if row["M"] < 900})
    text = (
        f"{factors} times with 900 kernels or more; {span(small)} with "
        f"{' or '.join(map(str, counts))}"
    )
    return finding(text, (row["ratio"] > 1.0 for row in large))


def faster_with_c(results: Results) -> Finding:
    """In all data sets SpicyMKL becomes faster as C increases."""
    seconds = means(results("figure1"), "cpu_seconds", "data", "loss", "C")
    strengths = sorted({key[2] for key in seconds})
    cells = dict.fromkeys(key[:2] for key in seconds)
    falls = [
        all(seconds[*cell, a] > seconds[*cell, b] for a, b in pairwise(strengths))
        for cell in cells
    ]
    text = f"with every step of C in {sum(falls)} of {len(falls)} pairs of set and loss"
    return finding(text, falls)


def accuracies(results: Results) -> Finding:
    """Accuracies of all methods are nearly identical: losses, then solvers.

    Both beside the deviation over the splits of figure 1.
    """
    deviations: dict[tuple[Hashable, ...], float] = {}
    for cell, rows in groups(results("figure1"), "data", "C").items():
        found = groups(rows, "loss").values()
        each = (np.std([row["accuracy"] for row in part]) for part in found)
        deviations[cell] = float(max(each))
    within, parts = [], []
    for name, key, ours, kind in (
        ("figure1", "loss", "hinge", "the two losses"),
        ("rivals", "method", "SpicyMKL", "SpicyMKL and another solver"),
    ):
        apart = {}
        for cell, part in groups(results(name), "data", "C").items():
            apart[cell] = _most_apart(part, key, ours)
            within.append(apart[cell] <= deviations[cell])
        (data, C), most = max(apart.items(), key=lambda item: item[1])
        parts.append(f"{kind} are at most {most:.3f} apart (on {data} at C = {C:g})")
    text = (
        f"{' and '.join(parts)}; within one deviation over splits in {sum(within)} of "
        f"{len(within)} cases"
    )
    return finding(text, within)


def _most_apart(rows: Rows, key: str, ours: str) -> float:
    """Return by what mean accuracies differ from ours at most, on the same splits."""
    scores: dict[Hashable, dict[int, float]] = {}
    for (kind,), part in groups(rows, key).items():
        scores[kind] = {row["split"]: row["accuracy"] for row in part}
    mine = scores.pop(ours)
    return max(
        abs(float(np.mean([found[k] - mine[k] for k in found])))
        for found in scores.values()
    )


def logistic_is_faster(results: Results) -> Finding:
    """The logistic loss tends to be faster than the hinge loss."""
    seconds = means(results("figure1"), "cpu_seconds", "loss", "data", "C")
    cells = dict.fromkeys(key[1:] for key in seconds)
    ratios = [seconds["hinge", *c] / seconds["log_loss", *c] for c in cells]
    text = f"the hinge takes {span(ratios)} times as long"
    return finding(text, (ratio > 1.0 for ratio in ratios))


def logistic_is_sparser(results: Results) -> Finding:
    """With large C the logistic solution tends to be sparser."""
    rows = results("figure1")
    largest = max(row["C"] for row in rows)
    kept = [row for row in rows if row["C"] == largest]
    counts = means(kept, "n_active", "data", "loss")
    sets = dict.fromkeys(key[0] for key in counts)
    pairs = {d: (counts[d, "log_loss"], counts[d, "hinge"]) for d in sets}
    listed = ", ".join(f"{d} {a:.0f} against {b:.0f}" for d, (a, b) in pairs.items())
    text = f"kernels at C = {largest:g}: {listed}"
    return finding(text, (a < b for a, b in pairs.values()))


def kernels_as_simple_mkl(results: Results) -> Finding:
    """For the hinge loss as many kernels as SimpleMKL."""
    simple = _rivals(results, "SimpleMKL")
    theirs = means(simple, "n_active", "data", "C")
    measured = {(row["data"], row["split"]) for row in simple}
    mine = [
        row
        for row in _rivals(results, "SpicyMKL")
        if (row["data"], row["split"]) in measured
    ]
    ours = means(mine, "n_active", "data", "C")
    pairs = [(ours[cell], theirs[cell]) for cell in theirs]
    listed = ", ".join(f"{a:.1f} and {b:.1f}" for a, b in pairs)
    known = [row for row in simple if "n_shared" in row]
    shares = span((row["n_shared"] / row["n_active"] for row in known), ".0%")
    text = (
        f"SpicyMKL and SimpleMKL: {listed}; {shares} of SimpleMKL's kernels are "
        "SpicyMKL's too"
    )
    return finding(text, (abs(a - b) <= 0.1 * b for a, b in pairs))


def _curves(results: Results, value: str) -> list[list[float]]:
    found = groups(results("figure2"), "loss", "C").values()
    return [[row[value] for row in rows] for rows in found]


def gap_drops(results: Results) -> Finding:
    """The duality gap of SpicyMKL rapidly drops."""
    curves = _curves(results, "gap")
    counts = [1 + sum(gap > 0.01 for gap in gaps) for gaps in curves]
    text = (
        f"below 0.01 after {span(counts, 'd')} outer steps, and below 1e-6 after "
        f"{span(map(len, curves), 'd')}"
    )
    falls = (gaps == sorted(gaps, reverse=True) for gaps in curves)
    ends = (gaps[-1] < 1e-6 for gaps in curves)
    return finding(text, map(all, zip(falls, ends, strict=True)))


def super_linear(results: Results) -> Finding:
    """The outer loop converges super-linearly."""
    factors = [[a / b for a, b in pairwise(gaps)] for gaps in _curves(results, "gap")]
    first = float(np.median([each[0] for each in factors]))
    last = float(np.median([each[-1] for each in factors]))
    text = (
        f"the first outer step divides the gap by {first:.1f}, the last by {last:.0f} "
        "(medians over losses and C)"
    )
    return finding(text, (each[-1] > 10.0 * each[0] for each in factors))


def kernels_decrease(results: Results) -> Finding:
    """The number of kernels decreases rapidly."""
    counts = _curves(results, "n_active")
    text = (
        f"it starts from {max(c[0] for c in counts)} kernels and ends with "
        f"{span((c[-1] for c in counts), 'd')}"
    )
    return finding(text, (each[0] > each[-1] for each in counts))


def mild_in_kernels(results: Results) -> Finding:
    """The dependency on the number of kernels is mild."""
    rows = results("figure3")
    powers = exponents(rows, "M", UPPER_M, "data", "loss", "C").values()
    most = max(row["M"] for row in rows)
    slowest = max(row["seconds"] for row in rows if row["M"] == most)
    text = (
        f"from {UPPER_M} kernels on, time grows like M to the power of "
        f"{span(powers, '.2f')}; {most} kernels take at most {slowest:.2f} s"
    )
    return finding(text, (power < 1.0 for power in powers))


def thousands_of_kernels(results: Results) -> Finding:
    """3000 kernels are trained in less than 10 seconds."""
    rows = [row for row in results("figure3") if row["M"] == 3000]
    seconds = [row["seconds"] for row in rows]
    return finding(f"{span(seconds, '.2f')} s", (each < 10.0 for each in seconds))


def _sizes(results: Results, figure: int) -> Rows:
    """Return the rows of all methods over the sizes of a figure."""
    rows = [row for row in results("rival_sizes") if row["figure"] == figure]
    return [row | {"seconds": row["cpu_seconds"]} for row in rows]


def _times(rows: Rows) -> dict[tuple[Hashable, ...], dict[str, float]]:
    """Return median seconds by method, for every set and strength."""
    found: dict[tuple[Hashable, ...], dict[str, float]] = {}
    for (*cell, method), part in groups(rows, "data", "C", "method").items():
        seconds = float(np.median([row["seconds"] for row in part]))
        found.setdefault(tuple(cell), {})[str(method)] = seconds
    return found


def hessian_grows(results: Results) -> Finding:
    """HessianMKL is the fastest with few kernels, and grows rapidly with them."""
    rows = _sizes(results, 3)
    least = min(row["M"] for row in rows)
    first = _times([row for row in rows if row["M"] == least])
    powers = exponents(rows, "M", UPPER_M, "data", "C", "method")
    fastest = [times["HessianMKL"] == min(times.values()) for times in first.values()]
    steeper = [powers[*c, "HessianMKL"] > powers[*c, "SpicyMKL"] for c in first]
    theirs = (powers[*cell, "HessianMKL"] for cell in first)
    ours = (powers[*cell, "SpicyMKL"] for cell in first)
    text = (
        f"the fastest with {least} kernels in {sum(fastest)} of {len(fastest)} pairs "
        f"of set and C; from {UPPER_M} on its time grows like M to the power of "
        f"{span(theirs, '.2f')}, SpicyMKL's {span(ours, '.2f')}"
    )
    return finding(text, (a and b for a, b in zip(fastest, steeper, strict=True)))


def most_kernels(results: Results) -> Finding:
    """With 6000 kernels tens of times faster than both rivals."""
    rows = _sizes(results, 3)
    parts, holds = [], []
    for rival in ("SimpleMKL", "HessianMKL"):
        most = max(row["M"] for row in rows if row["method"] == rival)
        times = _times([row for row in rows if row["M"] == most]).values()
        factors = [each[rival] / each["SpicyMKL"] for each in times]
        parts.append(f"{span(factors, '.0f')} times {rival} with {most} kernels")
        holds += [factor >= 10.0 for factor in factors]
    return finding(" and ".join(parts), holds)


def in_samples(results: Results) -> Finding:
    """Scaling with the sample size is comparable to other methods."""
    powers = exponents(_sizes(results, 4), "n", UPPER_N, "data", "C", "method")
    by_method: dict[str, list[float]] = {}
    for key, power in powers.items():
        by_method.setdefault(str(key[-1]), []).append(power)
    listed = ", ".join(f"{m} {span(p, '.2f')}" for m, p in by_method.items())
    ours, *others = (by_method[m] for m in ("SpicyMKL", "SimpleMKL", "HessianMKL"))
    text = f"powers of n from {UPPER_N} samples on: {listed}"
    bounds = (1.2 * max(pair) for pair in zip(*others, strict=True))
    return finding(text, (a <= b for a, b in zip(ours, bounds, strict=True)))


def conclusion(results: Results) -> str:
    """Return our conclusion."""
    simple = [row["ratio"] for row in _rivals(results, "SimpleMKL")]
    hessian = [row["ratio"] for row in _rivals(results, "HessianMKL")]
    return (
        f"The factor over SimpleMKL ({span(simple, '.0f')} here) is large because "
        "SimpleMKL is slow with hundreds of kernels. HessianMKL, with the same machine "
        f"for one kernel and the same certificate, takes {span(hessian)} times as long "
        "as SpicyMKL. The advantage over a second-order method grows with the number "
        "of kernels."
    )
