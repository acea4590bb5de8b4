"""The targets in short: a line per claim, its worst case."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from output import markdown

Rows = Sequence[dict[str, Any]]


def summary(found: Mapping[str, Rows]) -> str:
    """Return one line per claim: its worst case."""
    lines = [SUMMARIES[name](found[name]) for name in SUMMARIES if name in found]
    flat = [line for part in lines for line in part]
    return (
        markdown(
            flat,
            {
                "claim": ("claim", "s"),
                "limit": ("limit", "s"),
                "ours": ("ours, worst case", "s"),
                "ratio": ("ours / limit", ".2f"),
                "met": ("met", ""),
            },
        )
        + "\nPasses and Newton steps of every case are in the tables below.\n"
    )


def _line(claim: str, limit: str, ours: str, ratio: float) -> dict[str, Any]:
    met = bool(ratio <= 1.0)
    return {"claim": claim, "limit": limit, "ours": ours, "ratio": ratio, "met": met}


def _worst(rows: Rows, key: str = "ratio") -> dict[str, Any]:
    return max(rows, key=lambda row: row[key])


def _accuracy(rows: Rows) -> list[dict[str, Any]]:
    bad = _worst(rows, "gap")
    case = f"{bad['gap']:.1e} ({bad['data']}, {bad['loss']}, C = {bad['C']:g})"
    claim = f"relative gap on {len(rows)} problems: every set, loss and C"
    return [_line(claim, "1e-6", case, bad["gap"] / 1e-6)]


def _speed(rows: Rows) -> list[dict[str, Any]]:
    lines = []
    for loss, tol in sorted({(r["loss"], r["tol"]) for r in rows}, reverse=True):
        mine = [r for r in rows if (r["loss"], r["tol"]) == (loss, tol)]
        bad = _worst(mine)
        case = (
            f"{bad['seconds']:.2f} s, {bad['passes']:.1f} passes and {bad['newton']} "
            f"Newton steps (M = {bad['M']}, C = {bad['C']:g})"
        )
        claim = f"{loss}, n = 200, gap {tol:g}, {len(mine)} cases"
        lines.append(_line(claim, f"{bad['limit']:.2f} s", case, bad["ratio"]))
    return lines


def _cancer(rows: Rows) -> list[dict[str, Any]]:
    return [
        _line(
            f"breast cancer, {r['M']} kernels, logistic, {r['share']:g} alpha_max, "
            "gap 1e-4",
            f"{r['limit']:g} passes",
            f"{r['in_passes']:.1f} passes' time ({r['passes']:.1f} made, "
            f"{r['newton']} Newton steps)",
            r["ratio"],
        )
        for r in rows
        if r.get("limit")
    ]


def _path(rows: Rows) -> list[dict[str, Any]]:
    return [
        _line(
            f"path of {r['points']} points, {r['loss']}",
            "5 hardest points",
            f"{r['ratio_cold']:.1f} cold solves of the hardest "
            f"({r['ratio_in_path']:.1f} times its slowest point within the path)",
            r["ratio_cold"] / 5.0,
        )
        for r in rows
    ]


def _build(rows: Rows) -> list[dict[str, Any]]:
    bad = _worst(rows)
    case = f"{bad['ratio']:.2f} ({bad['dictionary']})"
    return [_line("building, in times of numpy's exp", "2", case, bad["ratio"] / 2.0)]


def _memory(rows: Rows) -> list[dict[str, Any]]:
    bad = _worst(rows)
    case = f"{bad['grown_bytes'] / 1e9:.2f} GB ({bad['data']}, {bad['loss']})"
    limit = f"{bad['limit'] / 1e9:.2f} GB"
    claim = "memory of a dense fit: 1.25 times the stack, and 200 MB"
    return [_line(claim, limit, case, bad["ratio"])]


def _imports(rows: Rows) -> list[dict[str, Any]]:
    ours = rows[-1]
    extra = ours["seconds"] - ours["limit"] + 0.5
    return [_line("import, over scikit-learn's", "0.5 s", f"{extra:.2f} s", 2 * extra)]


def _first_fit(rows: Rows) -> list[dict[str, Any]]:
    bad = _worst(rows, "one_off")
    case = f"{bad['one_off']:.2f} s ({bad['loss']})"
    return [
        _line("first fit, fresh cache, one-off cost", "3 s", case, bad["one_off"] / 3)
    ]


def _million(rows: Rows) -> list[dict[str, Any]]:
    r = rows[0]
    claim = f"{r['M']:,} lazy kernels, logistic, gap 1e-2"
    time = f"{r['seconds'] / 60:.1f} minutes, {r['ratio']:.2f} times all matrices"
    memory = f"{r['peak_bytes'] / 1e9:.2f} GB"
    return [
        _line(f"{claim}: time", "5 times all matrices", time, r["ratio"] / 5.0),
        _line(f"{claim}: memory", "1.5 GB", memory, r["peak_bytes"] / 1.5e9),
    ]


SUMMARIES: dict[str, Callable[[Rows], list[dict[str, Any]]]] = {
    "target_accuracy": _accuracy,
    "target_speed": _speed,
    "target_cancer": _cancer,
    "target_million": _million,
    "target_build": _build,
    "target_path": _path,
    "target_memory": _memory,
    "target_imports": _imports,
    "target_first_fit": _first_fit,
}
