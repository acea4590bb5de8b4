"""The targets in full: a table each, with passes and Newton steps."""

from collections.abc import Callable, Sequence
from typing import Any

from output import markdown

Rows = Sequence[dict[str, Any]]

EFFORT = {
    "passes": ("passes", ".1f"),
    "newton": ("Newton steps", "d"),
    "n_active": ("kernels", "d"),
}


def accuracy(rows: Rows) -> str:
    """Return every problem solved to 1e-6."""
    columns = {
        "data": ("data", "s"),
        "M": ("M", "d"),
        "loss": ("loss", "s"),
        "C": ("C", "g"),
        "gap": ("gap, recomputed", ".1e"),
        "met": ("met", ""),
        **EFFORT,
        "seconds": ("seconds", ".2f"),
    }
    return "### A relative gap of 1e-6\n\n" + markdown(rows, columns)


def speed(rows: Rows) -> str:
    """Return all timings at n = 200."""
    columns = {
        "M": ("M", "d"),
        "C": ("C", "g"),
        "loss": ("loss", "s"),
        "tol": ("gap", ".0e"),
        "pass_seconds": ("pass [s]", ".4f"),
        "seconds": ("seconds", ".3f"),
        "limit": ("limit [s]", ".3f"),
        "ratio": ("ratio", ".2f"),
        **EFFORT,
    }
    text = "### Speed at n = 200 (ringnorm, random subsets)\n\nLimits: "
    text += "6 passes + 0.15 s and 8 passes + 0.25 s (logistic), 8 passes + 0.4 s and "
    text += "12 passes + 0.8 s (hinge).\n\n"
    return text + markdown(rows, columns)


def cancer(rows: Rows) -> str:
    """Return breast cancer."""
    columns = {
        "share": ("alpha / alpha_max", "g"),
        "loss": ("loss", "s"),
        "pass_seconds": ("pass [s]", ".4f"),
        "seconds": ("seconds", ".3f"),
        "in_passes": ("in passes", ".1f"),
        "limit": ("limit", "g"),
        **EFFORT,
    }
    return "### Breast cancer, 837 kernels, gap 1e-4\n\n" + markdown(rows, columns)


def path(rows: Rows) -> str:
    """Return the paths."""
    columns = {
        "loss": ("loss", "s"),
        "points": ("points", "d"),
        "seconds": ("path [s]", ".2f"),
        "hardest_cold": ("hardest, cold [s]", ".3f"),
        "share": ("at alpha / alpha_max", ".3f"),
        "ratio_cold": ("path / cold", ".2f"),
        "hardest_in_path": ("slowest in path [s]", ".3f"),
        "ratio_in_path": ("path / slowest", ".2f"),
        "worst_gap": ("largest gap", ".1e"),
    }
    text = "### A path down to 0.01 alpha_max on breast cancer\n\n"
    return text + markdown(rows, columns)


def build(rows: Rows) -> str:
    """Return what building costs."""
    columns = {
        "dictionary": ("dictionary", "s"),
        "n": ("n", "d"),
        "M": ("M", "d"),
        "seconds": ("building [s]", ".3f"),
        "exp_seconds": ("numpy.exp [s]", ".3f"),
        "ratio": ("ratio", ".2f"),
    }
    text = "### Building the stack\n\nBeside `numpy.exp` of as many entries, one call "
    text += "with a fresh result.\n\n"
    return text + markdown(rows, columns)


def memory(rows: Rows) -> str:
    """Return how memory grows."""
    gigabytes = [
        row | {key: row[key] / 1e9 for key in ("stack_bytes", "grown_bytes", "limit")}
        for row in rows
    ]
    columns = {
        "data": ("data", "s"),
        "loss": ("loss", "s"),
        "C": ("C", "g"),
        "M": ("M", "d"),
        "n": ("n", "d"),
        "stack_bytes": ("stack [GB]", ".3f"),
        "grown_bytes": ("growth of the peak [GB]", ".3f"),
        "limit": ("limit [GB]", ".3f"),
    }
    text = (
        "### Memory of a dense fit\n\nPeak resident memory over that before the fit, "
    )
    text += "in a fresh process; building included.\n\n"
    return text + markdown(gigabytes, columns)


def imports(rows: Rows) -> str:
    """Return import times."""
    columns = {"module": ("module", "s"), "seconds": ("seconds", ".3f")}
    return "### Import, in fresh processes\n\n" + markdown(rows, columns)


def first_fit(rows: Rows) -> str:
    """Return one-off costs."""
    columns = {
        "cache": ("numba's cache", "s"),
        "loss": ("loss", "s"),
        "first": ("first fit [s]", ".3f"),
        "second": ("second fit [s]", ".3f"),
        "one_off": ("difference [s]", ".3f"),
    }
    return "### The first fit\n\n" + markdown(rows, columns)


def million(rows: Rows) -> str:
    """Return the large problem."""
    r = rows[0]
    return (
        f"### {r['M']:,} kernels from a lazy stack\n\n"
        f"n = {r['n']}, Gaussian kernels on random subsets of ringnorm's 20 inputs, "
        f"logistic, C = {r['C']:g}: gap {r['gap']:.1e} with {r['n_active']} kernels "
        f"after {r['seconds'] / 60:.1f} minutes, {r['passes']:.2f} passes and "
        f"{r['newton']} Newton steps. Computing every matrix once, all entries, takes "
        f"{r['once_seconds']:.0f} s on the same threads, so the fit took "
        f"{r['ratio']:.2f} times that; `numpy.exp` alone on as many entries in one "
        f"thread takes {r['exp_seconds']:.0f} s, and our pass, which needs one "
        f"triangle only, {r['pass_seconds']:.0f} s. Peak memory of the process: "
        f"{r['peak_bytes'] / 1e9:.2f} GB, {r['built_peak_bytes'] / 1e9:.2f} GB of it "
        "before the fit.\n"
    )


SECTIONS: dict[str, Callable[[Rows], str]] = {
    "target_speed": speed,
    "target_cancer": cancer,
    "target_path": path,
    "target_million": million,
    "target_build": build,
    "target_memory": memory,
    "target_imports": imports,
    "target_first_fit": first_fit,
    "target_accuracy": accuracy,
}
