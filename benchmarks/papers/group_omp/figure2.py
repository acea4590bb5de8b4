"""Figure 2: multi-source data, MKL-GOMP against sparse MKL, all kernels and one.

Run ``python benchmarks/papers/group_omp/figure2.py`` (``--smoke`` for tiny sizes), with
MULTIKERNEL_DATA naming the folder of data sets; the data of the paper are not among
them. A run that was stopped goes on where it was. All methods have kernels of unit
variance, all but the joint one the squared loss, and all choose their parameters by
3-fold cross-validation on the training samples, by the score that is reported: macro F1
for several classes, macro Matthews correlation for several labels per sample.

- MKL-GOMP: one selection for all classes or labels; number of kernels and lambda.
- joint MKL: block l1 with one selection for all (SpicyMKL); alpha. Classes have the
  hinge loss of Crammer and Singer, the formulation of Zien and Ong that the paper
  compares itself with; labels the sum of hinge losses.
- sparse MKL: block l1, one problem per class or label (SpicyMKL); alpha.
- sum: ridge regression on the sum of all kernels; lambda.
- single: ridge regression on the kernel with the best cross-validated score; lambda.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from kernel_sets import SETS, KernelSet
from matplotlib.figure import Figure
from numpy.typing import NDArray
from output import PALETTE, Options, options, print_markdown, provenance
from sklearn.metrics import f1_score, make_scorer, matthews_corrcoef
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from multikernel import (
    GroupOMPClassifierCV,
    GroupOMPRegressorCV,
    SpicyMKLClassifierCV,
    stack_grams,
)

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

TEST_SHARE = 0.3
LAMBDAS = tuple(np.geomspace(1e-4, 10.0, 6))
N_ALPHAS = 10
ALPHA_RATIO = 1e-3
N_SPLITS = 10
MEASURED = provenance("group_omp")
TOL = 1e-2
"""Of the joint problems, which cost most per digit."""


@dataclass(frozen=True, eq=False)
class Split:
    """One training and test set of a kernel set.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
        All matrices, with unit variance on the training samples.
    y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        Class numbers, or labels -1.0 and 1.0.
    train, test : ndarray of int
        The samples.
    """

    grams: Array
    y: Array
    train: Indices
    test: Indices

    @property
    def several_labels(self) -> bool:
        return self.y.ndim == 2

    def inputs(self) -> tuple[Array, Array]:
        """Return X of the training and of the test samples."""
        train = self.grams[:, self.train[:, None], self.train]
        test = self.grams[:, self.test[:, None], self.train]
        return stack_grams(train), stack_grams(test)

    def score(self, predicted: Array) -> float:
        """Return the score of test predictions."""
        if self.several_labels:
            return label_score(self.y[self.test], predicted)
        return float(f1_score(self.y[self.test], predicted, average="macro"))


@dataclass(frozen=True)
class Outcome:
    """Predictions of a method, and how many kernels it uses.

    Parameters
    ----------
    predicted : ndarray of shape (n_test,) or (n_test, n_labels)
        Predictions.
    n_kernels : int
        Kernels that any class or label uses.
    n_kernels_each : float
        Mean number of kernels of a class or label.
    """

    predicted: Array
    n_kernels: int
    n_kernels_each: float


def label_score(y: Array, predicted: Array) -> float:
    """Return the mean Matthews correlation over the labels, by sign."""
    pairs = zip(y.T, np.where(predicted > 0.0, 1.0, -1.0).T, strict=True)
    return float(np.mean([matthews_corrcoef(truth, found) for truth, found in pairs]))


def unit_variance(grams: Array, train: Indices) -> Array:
    """Return kernels with unit variance on the training samples."""
    inside = grams[:, train[:, None], train]
    diagonals = np.einsum("mii->mi", inside).mean(axis=1)
    variances = diagonals - inside.mean(axis=(1, 2))
    return np.asarray(grams / variances[:, None, None])


def greedy_search(split: Split, seed: int, max_kernels: int | None) -> Any:
    """Return the search over the number of kernels and lambda."""
    settings: dict[str, Any] = {"alphas": LAMBDAS, "max_kernels": max_kernels}
    settings |= {"tol": 0.0, "normalize": None}
    if split.several_labels:
        folds = KFold(3, shuffle=True, random_state=seed)
        settings |= {"cv": folds, "scoring": make_scorer(label_score)}
        return GroupOMPRegressorCV("precomputed", **settings)
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    return GroupOMPClassifierCV("precomputed", cv=folds, scoring="f1_macro", **settings)


def greedy(split: Split, seed: int, max_kernels: int | None = None) -> Outcome:
    """Run MKL-GOMP."""
    train, test = split.inputs()
    model = greedy_search(split, seed, max_kernels).fit(train, split.y[split.train])
    n_kernels = model.active_kernels_.size
    return Outcome(model.predict(test), n_kernels, n_kernels)


def sparse_search(split: Split, seed: int, **settings: Any) -> SpicyMKLClassifierCV:
    """Return the search over alpha."""
    folds = KFold if split.several_labels else StratifiedKFold
    return SpicyMKLClassifierCV(
        "precomputed",
        n_alphas=N_ALPHAS,
        alpha_min_ratio=ALPHA_RATIO,
        cv=folds(3, shuffle=True, random_state=seed),
        normalize=None,
        **settings,
    )


def joint(split: Split, seed: int) -> Outcome:
    """Run sparse MKL with one selection for all classes or labels."""
    train, test = split.inputs()
    scoring = make_scorer(label_score) if split.several_labels else "f1_macro"
    model = sparse_search(
        split, seed, loss="hinge", selection="shared", tol=TOL, scoring=scoring
    )
    y = split.y[split.train]
    predicted = model.fit(train, y > 0.0 if split.several_labels else y).predict(test)
    n_kernels = model.active_kernels_.size
    # Labels are learnt as 0 and 1, and scored by their sign.
    return Outcome(
        np.where(predicted > 0, 1.0, -1.0) if split.several_labels else predicted,
        n_kernels,
        n_kernels,
    )


def sparse(split: Split, seed: int) -> Outcome:
    """Run sparse MKL, every class or label for itself."""
    train, test = split.inputs()
    scoring = "matthews_corrcoef" if split.several_labels else "f1_macro"
    model = sparse_search(split, seed, loss="squared_error", scoring=scoring)
    y = split.y[split.train]
    if not split.several_labels:
        model.fit(train, y)
        each = np.atleast_2d(model.kernel_weights_) > 0.0
        return Outcome(model.predict(test), *counts(each))
    model.set_params(cv=StratifiedKFold(3, shuffle=True, random_state=seed))
    predicted, used = [], []
    for label in y.T:
        model.fit(train, label)
        predicted.append(model.predict(test))
        used.append(model.kernel_weights_ > 0.0)
    return Outcome(np.column_stack(predicted), *counts(np.array(used)))


def counts(used: NDArray[np.bool_]) -> tuple[int, float]:
    """Return the kernels that any output uses, and the mean number of an output."""
    return int(used.any(axis=0).sum()), float(used.sum(axis=1).mean())


def uniform(split: Split, seed: int) -> Outcome:
    """Run ridge regression on the sum of all kernels."""
    total = unit_variance(split.grams.sum(axis=0, keepdims=True), split.train)
    found = greedy(replace(split, grams=total), seed, 1)
    n_kernels = len(split.grams)
    return replace(found, n_kernels=n_kernels, n_kernels_each=n_kernels)


def single(split: Split, seed: int) -> Outcome:
    """Run ridge regression on the kernel with the best cross-validated score."""
    best, chosen = -np.inf, None
    for m in range(len(split.grams)):
        alone = replace(split, grams=split.grams[m : m + 1])
        train, test = alone.inputs()
        model = greedy_search(alone, seed, 1).fit(train, split.y[split.train])
        if model.best_score_ > best:
            best, chosen = model.best_score_, model.predict(test)
    assert chosen is not None
    return Outcome(chosen, 1, 1.0)


METHODS: dict[str, Callable[[Split, int], Outcome]] = {
    "MKL-GOMP": greedy,
    "joint MKL": joint,
    "sparse MKL": sparse,
    "sum": uniform,
    "single": single,
}


def main() -> None:
    """Measure, save, print and plot; what is saved already is not measured again."""
    task = options(__doc__)
    makers = list(SETS.values())[-1:] if task.smoke else list(SETS.values())
    rows = task.load("figure2")
    kernel_sets = [] if task.draw else [make() for make in makers]
    for number in range(1 if task.smoke else N_SPLITS):
        for kernels in kernel_sets:
            done = {
                row["method"]
                for row in rows
                if (row["data"], row["split"]) == (kernels.name, number)
            }
            for row in one_split(kernels, number, done):
                rows.append(row)
                task.save("figure2", rows)
    whole = complete(rows)
    if whole:
        print_markdown(list(table(whole)))
        plot(task, whole)


def complete(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the splits that all methods have been run on."""
    counts = Counter((row["data"], row["split"]) for row in rows)
    order = list(SETS)
    whole = [r for r in rows if counts[r["data"], r["split"]] == len(METHODS)]
    return sorted(whole, key=lambda row: (order.index(row["data"]), row["split"]))


def one_split(
    kernels: KernelSet, number: int, done: Set[str]
) -> Iterator[dict[str, Any]]:
    """Yield the scores on one split of all methods that are not done."""
    methods = {name: method for name, method in METHODS.items() if name not in done}
    if not methods:
        return
    y = kernels.y
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=TEST_SHARE,
        stratify=None if y.ndim == 2 else y,
        random_state=number,
    )
    split = Split(unit_variance(kernels.grams, train), y, train, test)
    for name, method in methods.items():
        start = time.process_time()
        found = method(split, number)
        row = {
            "data": kernels.name,
            "split": number,
            "method": name,
            "score": split.score(found.predicted),
            "measure": "MCC" if split.several_labels else "F1",
            "n_kernels": found.n_kernels,
            "n_kernels_each": found.n_kernels_each,
            "n_candidates": len(kernels.grams),
            "seconds": time.process_time() - start,
            **MEASURED,
        }
        print(
            f"{row['data']} {number} {name}: {row['score']:.3f}, {row['n_kernels']} "
            f"kernels, {row['seconds']:.1f} s",
            flush=True,
        )
        yield row


def column(rows: list[dict[str, Any]], data: str, method: str, key: str) -> Array:
    """Return a column over the splits."""
    return np.array(
        [r[key] for r in rows if r["data"] == data and r["method"] == method]
    )


def data_names(rows: list[dict[str, Any]]) -> list[str]:
    """Return the names of the data sets, in their order."""
    return list(dict.fromkeys(row["data"] for row in rows))


def table(rows: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield one line per data set: scores in per cent, kernels."""
    for data in data_names(rows):
        first = next(row for row in rows if row["data"] == data)
        n_splits = len(column(rows, data, "sum", "score"))
        line = {"data": data, "splits": str(n_splits), "measure": first["measure"]}
        for method in METHODS:
            scores = 100.0 * column(rows, data, method, "score")
            spread = f" ± {scores.std():.1f}" * (n_splits > 1)
            line[method] = f"{scores.mean():.1f}{spread}"
        line["candidates"] = str(first["n_candidates"])
        greedy_kernels = column(rows, data, "MKL-GOMP", "n_kernels")
        line["kernels GOMP"] = f"{greedy_kernels.mean():.1f}"
        shared = column(rows, data, "joint MKL", "n_kernels")
        line["kernels joint MKL"] = f"{shared.mean():.1f}"
        union = column(rows, data, "sparse MKL", "n_kernels").mean()
        each = column(rows, data, "sparse MKL", "n_kernels_each").mean()
        line["kernels sparse MKL (per output)"] = f"{union:.1f} ({each:.1f})"
        yield line


def plot(task: Options, rows: list[dict[str, Any]]) -> None:
    """Draw a group of bars for every data set."""
    figure = Figure(figsize=(8.6, 3.8), layout="constrained")
    ax = figure.add_subplot()
    names = data_names(rows)
    figure.set_figwidth(1.8 * (1 + len(names)))
    width = 0.8 / len(METHODS)
    for number, method in enumerate(METHODS):
        scores = [100.0 * column(rows, data, method, "score") for data in names]
        places = np.arange(len(names)) + (number - (len(METHODS) - 1) / 2) * width
        heights = [values.mean() for values in scores]
        ax.bar(
            places, heights, width, color=PALETTE[number], label=method,
            yerr=[values.std() for values in scores], error_kw={"linewidth": 0.8},
        )  # fmt: skip
        for place, data in zip(places, names, strict=True):
            count = column(rows, data, method, "n_kernels").mean()
            ax.annotate(
                f"{count:.0f}", (place, 1.0), ha="center", va="bottom",
                fontsize="x-small", color="white",
            )  # fmt: skip
    measures = {row["data"]: row["measure"] for row in rows}
    ax.set_xticks(
        range(len(names)), [f"{name}\n(macro {measures[name]})" for name in names]
    )
    ax.set_ylabel("score [%], kernels used in white")
    ax.legend(ncols=5, fontsize="small", loc="upper right")
    ax.set_ylim(0.0, 112.0)
    task.save_figure("figure2", figure)


if __name__ == "__main__":
    main()
