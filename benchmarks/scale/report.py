"""RESULTS.md and the plots from the files in ``results/``; nothing is typed by hand."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from output import HERE, Row, read

mpl.use("Agg")
mpl.rcParams.update(
    {
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.size": 9,
        "grid.color": "#E3E6E8",
        "legend.frameon": False,
    }
)

HEAD = """# Large problems: time, memory, gap and accuracy

This page measures fits on many rows or many kernels. Every line is one process, from
the columns to the fitted model; kernels are scaled by "trace". *seconds* are wall-clock
seconds on the given number of threads, and *CPU* is the sum over threads, which depends
less on other processes. *GB* is the peak memory of the process, 0.32 of it for
libraries; *times smaller* compares the memory beyond the libraries. To repeat it:

```
cd benchmarks/scale
python targets.py            # --only cancer, n20000, n100000, n1000000, csv, model
python growth.py             # MULTIKERNEL_RIVALS: a Python with himalaya and scMKL
python report.py             # this page and its plots
```

`--quick` tests the scripts, `--again` repeats stored measurements, and `--repeat 3`
uses the median of three runs.
"""

TARGETS = {
    "cancer": "Breast cancer x 837 kernels, gap 1e-4",
    "n20000": "Generated, 20 000 rows, 100 kernels, gap 1e-3",
    "n100000": "Generated, 100 000 rows, 100 kernels, gap 1e-3",
    "n1000000": "Generated, 1 000 000 rows, 20 kernels, gap 1e-3",
    "csv": "A CSV of 50 000 rows from the command line, default kernels, gap 1e-2",
    "model": "A model of 100 000 rows, loaded from its file",
}

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


def cell(row: Row, key: str, form: str, scale: float = 1.0) -> str:
    """Return a number of a row as text."""
    value = row.get(key)
    return "–" if value is None else format(scale * float(value), form)


def table(heads: list[str], lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def effort(row: Row) -> list[str]:
    """Return what a run took, or why there is nothing to say."""
    if "failed" in row:
        return [row["failed"], "", "", "", ""]
    return [
        cell(row, "seconds", ".1f"),
        cell(row, "cpu_seconds", ".1f"),
        cell(row, "peak_bytes" if "peak_bytes" in row else "grown_bytes", ".2f", 1e-9),
        cell(row, "gap", ".1e"),
        cell(row, "accuracy", ".4f"),
    ]


EFFORT = ["seconds", "CPU", "GB", "gap", "accuracy"]


STAMP = ["threads", "commit"]


def stamp(row: Row) -> list[str]:
    """Return on how many threads, and of what, a row was measured."""
    return [str(row.get("threads", 2)), row["commit"]]


def single(rows: Mapping[str, Row]) -> str:
    """Return fits beside the limits on their time and memory."""
    lines = []
    for key, row in rows.items():
        limits = [
            cell(row, "limit_seconds", ".0f"),
            cell(row, "limit_bytes", ".1f", 1e-9),
        ]
        lines.append([key, *effort(row), *limits, *stamp(row)])
    return table(["fit", *EFFORT, "limit s", "limit GB", *STAMP], lines)


def pairs(rows: Mapping[str, Row]) -> str:
    """Return low rank beside dense."""
    lines = []
    for key, row in rows.items():
        other = rows.get(key.replace(" low_rank", " dense"))
        if not key.endswith("low_rank") or other is None:
            continue
        line = [key.replace(" low_rank", "")]
        for name, form in (("seconds", ".2f"), ("cpu_seconds", ".2f")):
            line += [cell(row, name, form), cell(other, name, form)]
        known = {"seconds", "grown_bytes"} <= row.keys() & other.keys()
        for name in ("cpu_seconds", "grown_bytes"):
            line.append(f"{other[name] / row[name]:.1f}" if known else "–")
        line.append(cell(row, "grown_bytes", ".0f", 1e-6))
        lines.append([*line, cell(row, "gap", ".1e"), *stamp(row)])
    heads = ["", "s", "dense", "CPU", "dense", "times faster (CPU)", "times smaller"]
    return table([*heads, "MB added", "gap", *STAMP], lines)


def command(rows: Mapping[str, Row]) -> str:
    """Return what the command line took."""
    lines = [
        [
            *effort(row),
            cell(row, "first_word_seconds", ".1f"),
            cell(row, "limit_seconds", ".0f"),
            *stamp(row),
        ]
        for row in rows.values()
    ]
    return table([*EFFORT, "first word after s", "limit s", *STAMP], lines)


def model(rows: Mapping[str, Row]) -> str:
    """Return what a model file takes."""
    lines = [
        [
            cell(row, "file_bytes", ".2f", 1e-6),
            cell(row, "limit_file_bytes", ".0f", 1e-6),
            cell(row, "predict_seconds", ".1f"),
            cell(row, "limit_seconds", ".0f"),
            *stamp(row),
        ]
        for row in rows.values()
    ]
    heads = ["MB on disk", "limit", "s for a million predictions", "limit"]
    return table([*heads, *STAMP], lines)


def growth(rows: Mapping[str, Row], folder: Path) -> str:
    """Return every method against rows and kernels, and draw the plots."""
    text, known = "", list(rows.items())
    known.sort(key=lambda pair: pair[1]["n"])
    for data in sorted({row["data"] for _, row in known}):
        chosen = {key: row for key, row in known if row["data"] == data}
        lines = [
            [str(row["n"]), cell(row, "M", ".0f"), name_of(key), *effort(row)]
            for key, row in chosen.items()
        ]
        text += f"\n### {data}\n\n![{data}](figures/{data}.png)\n\n"
        text += table(["rows", "kernels", "method", *EFFORT], lines)
        draw(data, chosen, folder)
    return text


def name_of(key: str) -> str:
    """Return the method of a row: what follows data, rows and widths."""
    return key.split(" ", 3)[3]


def draw(data: str, rows: Mapping[str, Row], folder: Path) -> None:
    """Draw time, memory and accuracy against rows, for the most kernels."""
    figure = Figure(figsize=(10.0, 3.0), layout="constrained")
    axes = figure.subplots(1, 3)
    widest = max(len(row["widths"]) for row in rows.values())
    names = dict.fromkeys(name_of(key) for key in rows)
    for color, name in zip(COLORS, names, strict=False):
        own = [
            row
            for key, row in rows.items()
            if name_of(key) == name
            and len(row["widths"]) == widest
            and "seconds" in row
        ]
        for ax, key, scale in zip(
            axes,
            ("seconds", "peak_bytes", "accuracy"),
            (1.0, 1e-9, 1.0),
            strict=True,
        ):
            values = [scale * row[key] for row in own]
            ax.plot([row["n"] for row in own], values, "o-", color=color, label=name)
    for ax, label in zip(axes, ("seconds", "GB", "test accuracy"), strict=True):
        ax.set(xscale="log", xlabel="rows", ylabel=label)
    axes[0].set_yscale("log")
    axes[1].set_yscale("log")
    axes[2].legend(fontsize=7)
    place = folder / "figures"
    place.mkdir(parents=True, exist_ok=True)
    figure.savefig(place / f"{data}.png", dpi=120)


def steps(found: Any) -> str:
    """Return what solver_steps.py measured."""
    lines = [
        [
            row["storage"],
            str(row["n"]),
            row["loss"],
            format(row["alpha"], "g"),
            cell(row, "seconds", ".2f"),
            cell(row, "processor_seconds", ".2f"),
            str(row["newton_steps"]),
            cell(row, "gap", ".1e"),
        ]
        for row in found["rows"]
    ]
    heads = [
        "storage",
        "rows",
        "loss",
        "alpha",
        "seconds",
        "CPU",
        "steps",
        "gap",
    ]
    return f"Commit {found['commit']}.\n\n" + table(heads, lines)


def memory(found: Any) -> str:
    """Return what files larger than memory took."""
    lines = [
        [
            row.get("kernels_in") or f"{row['rows']} rows, in partitions",
            cell(row, "file_gigabytes", ".1f"),
            cell(row, "seconds", ".0f"),
            cell(row, "processor_seconds", ".0f"),
            cell(row, "peak_anonymous_gigabytes", ".2f"),
            cell(row, "gap", ".1e"),
        ]
        for row in found["rows"]
    ]
    heads = ["", "GB of file", "seconds", "CPU", "GB of anonymous memory", "gap"]
    return f"Commit {found['commit']}.\n\n" + table(heads, lines)


def workers(found: Any) -> str:
    """Return what a cluster of processes on this machine took, and what it moved."""
    lines = [
        [
            str(row["n"]),
            f"{row['workers']} workers" if row["workers"] else "one process",
            str(row["client_threads"]),
            cell(row, "seconds", ".1f"),
            cell(row, "client_gigabytes", ".2f"),
            cell(row, "worker_gigabytes", ".2f"),
            cell(row, "bytes_per_outer_step", ".0f", 1e-6),
            cell(row, "gap", ".1e"),
        ]
        for row in found["rows"]
    ]
    heads = ["rows", "where", "threads", "seconds", "GB", "GB a worker"]
    return f"Commit {found['commit']}.\n\n" + table(
        [*heads, "MB an outer step", "gap"], lines
    )


OTHERS = {
    "solver_steps": ("SpicyMKL alone (`solver_steps.py`)", steps),
    "memmap_maps": ("250 kernels of 2000 rows in a file (`memmap.py maps`)", memory),
    "memmap_stream": ("Parquet larger than memory (`memmap.py stream`)", memory),
    "workers": ("Dask workers beside one process (`workers.py`)", workers),
}
"""Files with one commit for all rows, their titles, and who makes their tables."""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE)
    folder: Path = parser.parse_args().output
    targets = read(folder / "results" / "targets.json")
    text, pages = HEAD, {"cancer": pairs, "csv": command, "model": model}
    for part, title in TARGETS.items():
        rows = {key: row for key, row in targets.items() if row["part"] == part}
        if rows:
            text += f"\n## {title}\n\n" + pages.get(part, single)(rows)
    grown = read(folder / "results" / "growth.json")
    if grown:
        text += "\n## Time against rows, with other methods\n"
        text += growth(grown, folder)
    for name, (title, made) in OTHERS.items():
        found = read(folder / "results" / f"{name}.json")
        if found:
            text += f"\n## {title}\n\n" + made(found)
    (folder / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
