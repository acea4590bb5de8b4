"""The claims of HKL (Bach, 2008)."""

from collections.abc import Iterable

import numpy as np
from hkl.printed import TABLE1, TABLE2, numbers

from findings.finding import Finding, Results, Row, finding, groups, means, span

BASELINES = ("L2", "greedy", "lasso-alpha", "MKL")
METHODS = (*BASELINES, "HKL")
NONLINEAR = ("bank-32nm", "bank-32nh", "pumadyn-32nm", "pumadyn-32nh")
USUAL = 1024
"""Training samples with rbf, but where a row says that there were more."""

Errors = dict[str, dict[int, float]]
"""Of methods, by half or draw."""


def _table1(results: Results) -> list[Row]:
    """Return the rows in which methods have learnt from the same samples."""
    rows = [row for row in results("table1") if row["method"] in METHODS]
    return [row for row in rows if row.get("largest", USUAL) == USUAL]


def _whole_halves(results: Results) -> dict[tuple[str, str], float]:
    """Return HKL's errors with rbf where it has learnt from all samples of a half."""
    rows = [row for row in results("table1") if row.get("largest", USUAL) > USUAL]
    return {
        (str(name), str(kernel)): _mean(_errors(part)["HKL"].values())
        for (name, kernel), part in groups(rows, "set", "kernel").items()
    }


def _errors(rows: list[Row]) -> Errors:
    """Return the error of every method on one set, by half or draw.

    A method whose inputs were scaled counts with its best scale, on the halves that
    have several.
    """
    found = {}
    for (method,), part in groups(rows, "method").items():
        halves = {int(str(k)): half for (k,), half in groups(part, "repeat").items()}
        several = {k: half for k, half in halves.items() if len(half) > 1}
        best = (several or halves).items()
        found[str(method)] = {k: min(r["error"] for r in half) for k, half in best}
    return found


def _cells(results: Results) -> dict[tuple[str, str], Errors]:
    found = {}
    for (name, kernel), rows in groups(_table1(results), "set", "kernel").items():
        errors = _errors(rows)
        if "HKL" in errors and len(errors) > 1:
            found[str(name), str(kernel)] = errors
    return found


def _beside(errors: Errors) -> dict[str, tuple[float, float]]:
    """Return the mean errors of HKL and of every other, on the halves of both."""
    pairs = {}
    for method, theirs in errors.items():
        shared = errors["HKL"].keys() & theirs.keys()
        if method != "HKL" and shared:
            ours = _mean([errors["HKL"][k] for k in shared])
            pairs[method] = ours, _mean([theirs[k] for k in shared])
    return pairs


def _ahead(errors: Errors) -> bool:
    return all(ours <= theirs for ours, theirs in _beside(errors).values())


def _lead(errors: Errors) -> str:
    pairs = _beside(errors)
    best = min(pairs, key=lambda method: pairs[method][1] - pairs[method][0])
    ours, theirs = pairs[best]
    return f"{ours:.1f} against {best}'s {theirs:.1f}"


def outperforms(results: Results) -> Finding:
    """HKL outperforms the other methods."""
    cells = _cells(results)
    behind = [
        f"{name} {kernel} {_lead(errors)}"
        for (name, kernel), errors in cells.items()
        if not _ahead(errors)
    ]
    text = (
        f"HKL has the smallest error in {len(cells) - len(behind)} of {len(cells)} "
        f"rows; not on {'; '.join(behind)}"
    )
    return finding(text, map(_ahead, cells.values()))


def non_linear(results: Results) -> Finding:
    """In particular on the non-linear sets of the two families."""
    cells = {key: each for key, each in _cells(results).items() if key[0] in NONLINEAR}
    listed = "; ".join(f"{n} {k} {_lead(e)}" for (n, k), e in cells.items())
    return finding(listed, map(_ahead, cells.values()))


def kernel_pca(results: Results) -> Finding:
    """Hermite functions and kernel principal components: no significant differences."""
    rows = [row for row in _table1(results) if row["method"] == "HKL"]
    plain = [row for row in rows if row.get("scale", 1.0) == 1.0]
    errors: dict[tuple, dict] = {}
    for (name, kernel), part in groups(plain, "set", "kernel").items():
        errors[name, kernel] = {row["repeat"]: row["error"] for row in part}
    parts, holds = [], []
    for (name, kernel), found in errors.items():
        if kernel == "rbf, PCA":
            pairs = [(found[k], errors[name, "rbf"][k]) for k in found]
            apart = np.array([ours - hermite for ours, hermite in pairs])
            error = apart.std(ddof=1) / np.sqrt(apart.size)
            gain = f"{apart.mean():+.2f} ± {error:.2f}"
            parts.append(
                f"{name} {gain} (of {np.mean(pairs):.1f}, {apart.size} halves)"
            )
            holds.append(abs(apart.mean()) <= 2.0 * error)
    return finding(f"error by principal components: {', '.join(parts)}", holds)


def as_printed(results: Results) -> Finding:
    """The errors of HKL in table 1."""
    errors = {key: _mean(each["HKL"].values()) for key, each in _cells(results).items()}
    errors |= _whole_halves(results)
    ratios = {key: e / numbers(TABLE1[key])[-1][0] for key, e in errors.items()}
    far = [f"{n} {k} {r:.2f}" for (n, k), r in ratios.items() if r > 1.1]
    text = (
        f"at most a tenth above print in {len(ratios) - len(far)} of {len(ratios)} "
        "rows; "
        f"times print elsewhere: {', '.join(far)}"
    )
    return finding(text, (ratio <= 1.1 for ratio in ratios.values()))


def baselines_as_printed(results: Results) -> Finding:
    """The errors of the others in table 1."""
    far, holds = [], []
    for key, errors in _cells(results).items():
        *others, _ = numbers(TABLE1[key])
        for method, (printed, _) in zip(BASELINES, others, strict=True):
            if method in errors:
                ratio = _mean(errors[method].values()) / printed
                holds.append(ratio <= 1.15)
                if ratio > 1.15:
                    far.append(f"{method} on {key[0]} {key[1]} {ratio:.1f}")
    text = (
        f"at most 15 % above print in {sum(holds)} of {len(holds)} cells; times print "
        f"elsewhere: {', '.join(far)}"
    )
    return finding(text, holds)


def table2(results: Results) -> Finding:
    """The errors of HKL in table 2."""
    rows = [row for row in results("table2") if row["method"] == "HKL"]
    found = means(rows, "error", "set", "kernel", "scaling")
    parts, holds = [], []
    for (name, kernel), text in TABLE2.items():
        mean, deviation = numbers(text)[-1]
        best = min(e for key, e in found.items() if key[:2] == (name, kernel))
        parts.append(f"{name} {kernel} {best:.1f} ({mean} ± {deviation})")
        holds.append(best <= mean + deviation)
    return finding(f"better of two scalings (print): {', '.join(parts)}", holds)


def competitive(results: Results) -> Finding:
    """HKL is always competitive with L2, and often better: classification."""
    found = means(results("table2"), "error", "set", "kernel", "method", "scaling")
    ahead, behind, holds = 0, [], []
    for name, kernel in dict.fromkeys(key[:2] for key in found):
        errors, chosen = {}, {}
        for method in ("L2", "HKL"):
            mine = {k: e for k, e in found.items() if k[:3] == (name, kernel, method)}
            best = min(mine, key=lambda key: mine[key])
            errors[method], chosen[method] = mine[best], best[3]
        facts = {"set": name, "kernel": kernel, "method": "L2", "scaling": chosen["L2"]}
        draws = [r["error"] for r in results("table2") if facts.items() <= r.items()]
        spread = float(np.std(draws))
        ahead += errors["HKL"] < errors["L2"]
        holds.append(errors["HKL"] <= errors["L2"] + spread)
        if not holds[-1]:
            against = f"{errors['L2']:.2f} ± {spread:.2f}"
            behind.append(f"{name} {kernel} {errors['HKL']:.2f} against {against}")
    text = (
        f"with the better of two scalings each, HKL has the smaller error in {ahead} "
        f"of {len(holds)} rows; more than a deviation above L2: {', '.join(behind)}"
    )
    return finding(text, holds)


def _figure2(results: Results, rotated: bool) -> dict[int, Errors]:
    rows = [row for row in results("figure2") if row["rotated"] is rotated]
    found: dict[int, Errors] = {}
    for (n, _), part in groups(rows, "n_inputs", "rotated").items():
        found[int(str(n))] = _errors(part)
    return found


def sparse_targets(results: Results) -> Finding:
    """On sparse polynomials HKL is ahead as the number of inputs grows."""
    sizes = _figure2(results, rotated=False)
    listed = "; ".join(f"{n} inputs {_lead(errors)}" for n, errors in sizes.items())
    return finding(listed, map(_ahead, sizes.values()))


def rotated_targets(results: Results) -> Finding:
    """On rotated ones it is only slightly better."""
    sizes = _figure2(results, rotated=True)
    listed = "; ".join(f"{n} inputs {_lead(errors)}" for n, errors in sizes.items())
    return finding(listed, map(_ahead, sizes.values()))


def large_graphs(results: Results) -> Finding:
    """Graphs with very many nodes are explored efficiently."""
    rows = [
        row
        for row in results("table1")
        if row["method"] == "HKL" and row["kernel"] == "pol4" and "32" in row["set"]
    ]
    seconds = [row["cpu"] for row in rows if "cpu" in row]
    text = (
        f"a path over 5^32 nodes and 4096 samples takes {span(seconds, '.0f')} s of "
        f"one core ({len(seconds)} halves)"
    )
    return finding(text, (each < 300.0 for each in seconds))


def _recovery(results: Results, correlated: bool) -> tuple[str, list[float]]:
    rows = [r for r in results("recovery") if r["correlated"] is correlated]
    shares = means(rows, "found", "n")
    sizes = sorted(shares)
    found = [shares[n] for n in sizes]
    listed = ", ".join(
        f"{n[0]} {100 * f:.0f}" for n, f in zip(sizes, found, strict=True)
    )
    return f"per cent of draws by samples: {listed}", found


def hull_is_found(results: Results) -> Finding:
    """The hull is found as samples grow, where groups are hardly correlated."""
    text, found = _recovery(results, correlated=False)
    return finding(text, [found[-1] >= 0.95])


def hull_is_missed(results: Results) -> Finding:
    """The hull is not found, where groups are correlated."""
    text, found = _recovery(results, correlated=True)
    return finding(text, [found[-1] <= 0.5])


def conclusion(results: Results) -> str:
    """Return our conclusion."""
    falls = {}
    for (name, kernel), rows in groups(_table1(results), "set", "kernel").items():
        halves = groups([r for r in rows if r["method"] == "L2"], "repeat").values()
        several = [half for half in halves if len(half) > 1]
        if several:
            plain = [r["error"] for h in several for r in h if _is_plain(r)]
            best = [min(row["error"] for row in half) for half in several]
            falls[f"{name} {kernel}"] = _mean(plain), _mean(best)
    most = max(falls, key=lambda row: falls[row][0] / falls[row][1])
    large = sum(best < 0.9 * plain for plain, best in falls.values())
    cells = [e for (name, _), e in _cells(results).items() if name in NONLINEAR]
    return (
        "The error of L2 on the full kernel depends on the scale of its inputs: with "
        "the best scale instead of that of HKL's weights it falls by more than a tenth "
        f"in {large} of {len(falls)} rows, on {most} from {falls[most][0]:.1f} to "
        f"{falls[most][1]:.1f}. On the nonlinear sets HKL is ahead of all others in "
        f"{sum(map(_ahead, cells))} of {len(cells)} rows, with baselines on their best "
        "scale."
    )


def _is_plain(row: Row) -> bool:
    return bool(row.get("scale", 1.0) == 1.0)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
