"""Mean ranks, comparisons and figures of the measured models."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.choosing.models import COMPARED, LARGE_LIMIT, LIMIT, OURS
from benchmarks.choosing.sets import (
    KINDS,
    LARGE,
    N_LARGE,
    N_TEST,
    N_TRAIN,
    SEQUENCES,
    TABLES,
    TARGETS,
    VIEWS,
)
from benchmarks.measure import Row, measured
from scipy.stats import rankdata, studentized_range

Array = Any
COLORS = Path(__file__).parent / "colors.json"
"""Colors of methods, as in other figures of the guide."""
ADVICE = "SpicyMKL CV"
"""Our method in comparisons, chosen beforehand: the best of twelve would be lucky."""
FEW = 2 / 3
"""The largest mean share of the kernels that counts as a selection."""
NEAR = 0.01
"""Scores with a smaller difference count as equal."""


@dataclass(frozen=True)
class Kind:
    """Means over splits, for sets on which all methods were measured.

    Attributes
    ----------
    name : str
        A key of `KINDS`.
    models, sets : list of str
        The rows and columns below.
    scores, used, seconds : ndarray of shape (n_models, n_sets)
        Scores are NaN where a method failed or was stopped, and `used` where it has no
        kernels or terms.
    splits : tuple of int
        The least and the largest number of splits of a set.
    """

    name: str
    models: list[str]
    sets: list[str]
    scores: Array
    used: Array
    seconds: Array
    splits: tuple[int, int]

    @property
    def ranks(self) -> Array:
        """Mean ranks; methods without a score on a set are last there."""
        known = np.where(np.isnan(self.scores), -np.inf, self.scores)
        return rankdata(-known.round(4), axis=0).mean(axis=1)

    @property
    def order(self) -> Array:
        """Places of the models, the best first."""
        return np.argsort(self.ranks, kind="stable")

    @property
    def apart(self) -> float:
        """Critical difference of mean ranks: Nemenyi's test (Demsar 2006, JMLR 7)."""
        count = len(self.models)
        quantile = studentized_range.ppf(0.95, count, np.inf) / np.sqrt(2.0)
        return float(quantile * np.sqrt(count * (count + 1) / (6.0 * len(self.sets))))

    def of(self, name: str) -> int:
        """Return the index of a model."""
        return self.models.index(name)

    def place(self, name: str) -> int:
        """Return the rank of a model by its mean rank."""
        return int(np.sum(self.ranks < self.ranks[self.of(name)] - 1e-9)) + 1


def kind_of(name: str, rows: Sequence[Row]) -> Kind | None:
    """Return the means of a kind of data, or None if it has no complete set."""
    compared = COMPARED[name]
    own = [row for row in rows if row["kind"] == name and row["model"] in compared]
    models = [m for m in compared if any(row["model"] == m for row in own)]
    by_split: dict[tuple[str, int], dict[str, Row]] = {}
    for row in own:
        by_split.setdefault((row["set"], row["split"]), {})[row["model"]] = row
    whole = {key: found for key, found in by_split.items() if len(found) == len(models)}
    sets = list(dict.fromkeys(name for name, _ in whole))
    if not sets or len({model in OURS for model in models}) < 2:
        return None

    def table(column: str) -> Array:
        values = [
            [
                np.mean(
                    [
                        np.nan if found[one].get(column) is None else found[one][column]
                        for (of, _), found in whole.items()
                        if of == name
                    ]
                )
                for name in sets
            ]
            for one in models
        ]
        return np.array(values, dtype=float)

    counts = [sum(of == name for of, _ in whole) for name in sets]
    return Kind(
        name,
        models,
        sets,
        table("score"),
        table("used"),
        table("seconds"),
        (min(counts), max(counts)),
    )


def listed(words: Sequence[str]) -> str:
    """Return words joined by commas and "and"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def title(name: str) -> str:
    """Return a set's name without the folder's prefixes and counts."""
    parts = [p for p in name.split("_") if p not in ("delve", "uci", "ida", "dna")]
    kept = [p for p in parts if not p.endswith("views") and p != "kernels"]
    return " ".join(kept)


def times(count: int, word: str) -> str:
    """Return a count and what is counted."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def how(kind: Kind) -> str:
    """Return how many sets, splits and samples a caption stands for."""
    n = N_LARGE if kind.name == LARGE else N_TRAIN
    least, most = kind.splits
    splits = times(most, "split") if least == most else f"{least} or {most} splits"
    missing = len(KINDS[kind.name]) - len(kind.sets)
    left = f", {missing} more not measured" if missing > 0 else ""
    return (
        f"{times(len(kind.sets), 'set')}{left}, {splits} each, at most {n} training "
        f"and {N_TEST} test samples, {len(kind.models)} methods"
    )


def ranking(kind: Kind) -> str:
    """Return the best methods, and how many differ from the first by chance at most."""
    ranks = kind.ranks
    best = kind.order[0]
    first = listed([f"{kind.models[k]} ({ranks[k]:.1f})" for k in kind.order[:4]])
    tied = int(np.sum(ranks < ranks[best] + kind.apart)) - 1
    return (
        f"best mean ranks {first}. Ranks that differ by less than {kind.apart:.1f} may "
        f"differ by chance: {tied} of the {len(kind.models) - 1} other methods are as "
        "close to the first."
    )


def beside(kind: Kind, one: str, other: str) -> str:
    """Return on which sets a method is better than another, and on which worse."""
    gain = kind.scores[kind.of(one)] - kind.scores[kind.of(other)]
    parts = []
    for word, where in (("better", gain > NEAR), ("worse", gain < -NEAR)):
        places = sorted(np.flatnonzero(where), key=lambda i: -abs(gain[i]))
        shown = [f"{title(kind.sets[i])} {gain[i]:+.3f}" for i in places[:4]]
        shown += ["…"] if len(places) > 4 else []
        parts.append(
            f"{word} on {len(places)}" + f" ({', '.join(shown)})" * bool(shown)
        )
    return (
        f"Compared with {other}, {one} is {' and '.join(parts)}, counting differences "
        f"above {NEAR:g}."
    )


def comparisons(kind: Kind) -> list[str]:
    """Return comparisons with the best other method, boosting and single kernels."""
    ours, others = sides(kind)
    rivals = dict.fromkeys([others[0], "boosting", "SVM on the sum"])
    pairs = [(advised(ours), one) for one in rivals if one in others]
    if {"SVM on the sum", "best single kernel"} <= set(others):
        pairs.append(("SVM on the sum", "best single kernel"))
    return [beside(kind, *pair) for pair in pairs]


def verdict(kind: Kind) -> str:
    """Return the place of our method, and which others are better."""
    ours, others = sides(kind)
    place = kind.place(advised(ours))
    text = f"{advised(ours)} has place {place} of {len(kind.models)}"
    better = [one for one in others if kind.place(one) < place]
    if better:
        text += f", behind {listed(better)} of other packages"
    if len(ours) == 1:
        return f"{text}."
    return (
        f"{text}. The best of our {len(ours)} methods is {ours[0]}, in place "
        f"{kind.place(ours[0])}, in part by chance, as the best of many."
    )


def sides(kind: Kind) -> tuple[list[str], list[str]]:
    """Return our models and the others, each by their mean rank."""
    models = [kind.models[k] for k in kind.order]
    others = [model for model in models if model not in OURS]
    return [model for model in models if model in OURS], others


def advised(ours: Sequence[str]) -> str:
    """Return our method chosen beforehand, without its search if none was measured."""
    wanted = (ADVICE, ADVICE.removesuffix(" CV"), ours[0])
    return next(one for one in wanted if one in ours)


def summary(kinds: Sequence[Kind]) -> str:
    """Return on which kinds of data our method is ahead of other packages."""
    ahead: dict[bool, list[str]] = {True: [], False: []}
    sure = []
    for kind in kinds:
        ours, others = sides(kind)
        one = advised(ours)
        won = kind.place(one) < kind.place(others[0])
        once = "" if one == ADVICE else " without its search"
        ahead[won].append(kind.name + once + ("" if won else f" ({others[0]})"))
        if abs(kind.ranks[kind.of(one)] - kind.ranks[kind.of(others[0])]) > kind.apart:
            sure.append(kind.name)
    parts = [
        f"{word} on {listed(ahead[won])}"
        for word, won in (
            ("a better mean rank than all other packages", True),
            ("a worse one than the best of other packages", False),
        )
        if ahead[won]
    ]
    chance = (
        f"The difference exceeds chance only on {listed(sure)}."
        if sure
        else "All differences may be due to chance."
    )
    return (
        f"{ADVICE}, which we chose before the measurement, has "
        f"{', and '.join(parts)}. {chance}"
    )


def stopped(kind: Kind) -> str:
    """Return which methods were stopped or failed."""
    counts = np.isnan(kind.scores).sum(axis=1)
    names = [f"{m} on {c}" for m, c in zip(kind.models, counts, strict=True) if c]
    return (
        f"Stopped or failed, and ranked last on these sets: {listed(names)}."
        if names
        else ""
    )


def sentences(kind: Kind) -> list[str]:
    """Return the text on one kind of data."""
    first = f"{how(kind)}: {ranking(kind)}"
    found = [first, verdict(kind), *comparisons(kind), stopped(kind)]
    return [one for one in found if one]


def share(kind: Kind) -> Array:
    """Return the mean share of the kernels of a set that each model of ours uses."""
    mine = [k for k, m in enumerate(kind.models) if m in OURS and m[:3] != "HKL"]
    part = np.full(kind.used.shape, np.nan)
    if len(mine) > 1:  # the others tell how many there are
        part[mine] = kind.used[mine] / np.nanmax(kind.used[mine], axis=0)
    return np.array([row.mean() for row in part])


def choices(kind: Kind) -> Iterator[tuple[str, str]]:
    """Yield the recommended model for each goal, with rank and time."""
    ranks, seconds, few = kind.ranks, kind.seconds.mean(axis=1), share(kind)
    others = np.array([model not in OURS for model in kind.models])
    named = few <= FEW if np.isfinite(few).any() else ~others
    for wish in (np.ones(len(ranks), dtype=bool), named, others):
        found = [k for k in kind.order if wish[k]]
        if not found:
            yield "", ""
            continue
        k = found[0]
        used = f"\n{few[k]:.0%} of the kernels" if few[k] <= FEW else ""
        rank = f"rank {ranks[k]:.1f} of {len(ranks)}"
        yield kind.models[k], f"{rank}\n{seconds[k]:.2g} s{used}"


def family(model: str) -> str:
    """Return the key of a method in the colors."""
    plain = model.removesuffix(" CV")
    return {
        "LpMKL": "lp-norm, p = 2",
        "Uniform": "unweighted sum",
        "SVM on the sum": "unweighted sum",
        "SVM grid": "SVM",
    }.get(plain, plain)


ASKED = {
    TABLES: f"A table,\nto {N_TRAIN} samples",
    LARGE: f"A table,\nto {N_LARGE} samples",
    VIEWS: "Views, or kernels\nfrom elsewhere",
    SEQUENCES: "Sequences",
    TARGETS: "Many targets",
}
WISHES = ("the best scores", "few kernels", "other packages")


def chart(kinds: Sequence[Kind], path: Path) -> None:
    """Draw the recommended method for each kind of data and goal."""
    from matplotlib import pyplot as plt

    colors = json.loads(COLORS.read_text(encoding="utf-8"))
    figure, axis = plt.subplots(figsize=(7.6, 0.5 + 1.3 * len(kinds)))
    axis.set(xlim=(0.0, 4.0), ylim=(len(kinds) - 0.4, -0.7))
    axis.axis("off")
    axis.text(0.45, -0.6, "you have, you want:", ha="center", va="center")
    for column, wish in enumerate(WISHES, 1):
        axis.text(column + 0.5, -0.6, wish, ha="center", va="center", weight="bold")
    for row, kind in enumerate(kinds):
        box = {"boxstyle": "round,pad=0.4", "facecolor": "0.93", "edgecolor": "0.5"}
        axis.text(0.45, row, ASKED[kind.name], ha="center", va="center", bbox=box)
        for column, (model, cost) in enumerate(choices(kind), 1):
            if not model:
                axis.text(column + 0.5, row, "none", ha="center", va="center")
                continue
            color = colors[family(model)]
            axis.text(
                column + 0.5,
                row - 0.12,
                model,
                ha="center",
                va="center",
                color="white",
                weight="bold",
                bbox={"boxstyle": "round,pad=0.35", "facecolor": color, "lw": 0},
            )
            place = column + 0.5, row + 0.06
            axis.text(*place, cost, ha="center", va="top", fontsize="small")
        axis.plot([0.02, 3.98], [row + 0.55] * 2, color="0.85", lw=0.8, zorder=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)


def draw(kind: Kind, path: Path) -> None:
    """Draw mean ranks and their critical difference."""
    from matplotlib import pyplot as plt

    colors = json.loads(COLORS.read_text(encoding="utf-8"))
    figure, axis = plt.subplots(figsize=(6.5, 0.28 * len(kind.models) + 1.0))
    for row, k in enumerate(kind.order):
        rank, color = kind.ranks[k], colors[family(kind.models[k])]
        axis.hlines(row, rank, rank + kind.apart, color="0.8", zorder=0)
        face = color if kind.models[k] in OURS else "white"
        axis.plot(rank, row, "o", color=face, markeredgecolor=color, mew=1.8)
    axis.set_yticks(range(len(kind.models)), [kind.models[k] for k in kind.order])
    axis.invert_yaxis()
    axis.set(
        title=f"{kind.name.capitalize()}, {times(len(kind.sets), 'set')}",
        xlabel="mean rank, and how far another has to be to differ; filled: ours",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)


def section(kind: Kind, figure: str) -> str:
    """Return the tables of a kind of data."""
    head = f"## {kind.name.capitalize()}\n\n"
    parts = [head + "\n".join(f"- {s[0].upper()}{s[1:]}" for s in sentences(kind))]
    parts.append(f"![{kind.name}: mean ranks](figures/{figure})")
    ranks = [f"{rank:.2f}" for rank in kind.ranks]
    mean = [f"{value:.2g}" for value in kind.seconds.mean(axis=1)]
    for name, values, text, last in (
        ("score", kind.scores, ".3f", ["**mean rank**", *ranks]),
        ("kernels or terms", kind.used, ".0f", None),
        ("seconds", kind.seconds, ".2g", ["**mean**", *mean]),
    ):
        lines = [[name, *kind.models], ["---"] * (len(kind.models) + 1)]
        lines += [
            [one, *("" if np.isnan(v) else format(v, text) for v in column)]
            for one, column in zip(kind.sets, values.T, strict=True)
        ]
        lines += [last] if last else []
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"


HEAD = f"""# Models with default settings

Scores on held-out samples: accuracy for tables and for more than two classes, AUC for
two classes of other data, mean R² over targets for regressions. Our estimators have
their defaults and, as CV, their searches; support vector machines have grids of C and
width. pyGAM has ten pieces per spline above 20 columns, EBM two bags, ten pairs and
5000 rounds. On views, our estimators and kernel machines use a linear kernel and three
widths per view. The other methods use all columns: for kernels the similarities to the
training samples, for sequences the letters (counts of pairs for proteins). If a set has
many labels, each split predicts another. Similarities that are not kernels are repaired
before the split. Seconds are CPU seconds on one thread, from columns to predictions;
the limit is {LIMIT} per split, on large tables {LARGE_LIMIT}.
"""


def machines(rows: Sequence[Row]) -> str:
    """Return which models were measured on which processor, if on several."""
    models: dict[str, dict[str, None]] = {}
    for row in rows:
        models.setdefault(row["processor"], {})[row["model"]] = None
    if len(models) == 1:
        return ""
    each = [f"on {name} {listed(list(own))}" for name, own in sorted(models.items())]
    return (
        f"Seconds were measured on {len(each)} processors, shared with other work: "
        f"{'; '.join(each)}.\n"
    )


def write(path: Path, output: Path, pages: Path) -> None:
    """Write the page of results, its figures, and the text in the user guide."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    kinds = [found for name in KINDS if (found := kind_of(name, rows))]
    head = "\n".join(filter(None, [HEAD, measured(path), machines(rows)]))
    parts = [f"{head}\n{summary(kinds)}\n"]
    for kind in kinds:
        figure = f"{kind.name.replace(' ', '_')}.png"
        draw(kind, output / "figures" / figure)
        parts.append(section(kind, figure))
    (output / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")
    chart(kinds, output / "figures" / "decisions.png")
    lines = [summary(kinds), ""]
    for kind in kinds:
        first, *rest = sentences(kind)
        lines += [f"- *{kind.name.capitalize()}*, {first}", ""]
        lines += [f"  - {one}" for one in rest] + [""]
    (pages / "choosing_measured.txt").write_text("\n".join(lines), encoding="utf-8")
