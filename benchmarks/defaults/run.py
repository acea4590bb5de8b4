"""Which kernels, widths, normalization and strengths serve as defaults.

Real sets are split at random, estimators choose their strength by cross-validation on
the training part, and what counts is the score on the rest: accuracy, or R^2.
"""

import argparse
import datetime
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from multikernel import estimators
from multikernel.datasets import available, load
from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLClassifierCV,
    GroupOMPClassifier,
    GroupOMPClassifierCV,
    GroupOMPRegressorCV,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLRegressorCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressorCV,
    stack_grams,
)
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    KernelDictionary,
    LinearKernel,
    ListDictionary,
    median_dictionary,
)
from multikernel.kernels.base import off_diagonal_ratio

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from provenance import commit

Array = NDArray[np.float64]
HERE = Path(__file__).parent
TRAIN = 150
TEST = 1000
TOL = 1e-2
FIXED = (1 / 32, 1 / 8, 1 / 2, 1.0, 2.0, 4.0, 8.0, 32.0, 128.0)
"""The grid of C of Kloft et al. (2009)."""

CLASSIFICATION = (
    "wpbc",
    "liver",
    "ionosphere",
    "sonar",
    "pima",
    "ida_thyroid",
    "ida_titanic",
    "ida_banana",
    "splice",
)
REGRESSION = (
    "delve_boston",
    "delve_abalone",
    "delve_pumadyn_32nh",
    "delve_pumadyn_32fm",
    "diabetes",
)
BESIDE_SEARCHES = (
    *("liver", "ionosphere", "sonar", "pima", "ida_thyroid", "ida_banana", "splice"),
    *("diabetes", "delve_boston", "delve_abalone"),
    *("delve_pumadyn_32nh", "delve_pumadyn_32fm", "delve_bank_32nh"),
)
QUICK = ("breast_cancer",)
"""Comes with scikit-learn."""

Maker = Callable[[Array], KernelDictionary]


def medians(multiples: Sequence[float], columns: Sequence[float]) -> Maker:
    """Return what makes a dictionary of these widths."""
    return lambda X: median_dictionary(
        X, multiples=multiples, column_multiples=columns, max_kernels=10_000
    )


def two_widths(X: Array) -> KernelDictionary:
    """Return the dictionary of the issue: two widths on all and on each column."""
    kernels: list[Any] = [GaussianKernel(1.0), GaussianKernel(5.0)]
    alone = [ColumnKernel(k, c) for c in range(X.shape[1]) for k in kernels]
    return ListDictionary([*kernels, *alone])


DICTIONARIES: dict[str, Maker] = {
    "linear": lambda X: ListDictionary([LinearKernel()]),
    "all: 1/2 1 2": medians([0.5, 1, 2], []),
    "all and columns: 1": medians([1], [1]),
    "all: 1/2 1 2, columns: 1": medians([0.5, 1, 2], [1]),
    "all and columns: 1/2 1 2": medians([0.5, 1, 2], [0.5, 1, 2]),
    "all and columns: 1/4 1 4": medians([0.25, 1, 4], [0.25, 1, 4]),
    "all and columns: 1/4 1/2 1 2 4": medians(
        [0.25, 0.5, 1, 2, 4], [0.25, 0.5, 1, 2, 4]
    ),
}


@dataclass(frozen=True)
class Split:
    """Training and test samples, columns standardized by the training part."""

    name: str
    number: int
    classes: bool
    X: Array
    y: Array
    X_test: Array
    y_test: Array


def splits(
    names: Sequence[str], n_splits: int, n_train: int = TRAIN
) -> Iterator[Split]:
    """Yield random splits of sets; missing values become the column's mean."""
    for name in names:
        if name not in available():
            print(f"{name} is not here", flush=True)
            continue
        data = load(name)
        X = np.asarray(data.X, dtype=np.float64)
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        y = np.asarray(data.y)
        classes = np.unique(y).size == 2
        for number in range(n_splits):
            order = np.random.default_rng(number).permutation(y.size)
            n = min(n_train, int(0.7 * y.size))
            train, test = order[:n], order[n : n + TEST]
            scaler = StandardScaler().fit(X[train])
            yield Split(
                name,
                number,
                classes,
                scaler.transform(X[train]),
                y[train] if classes else y[train].astype(np.float64),
                scaler.transform(X[test]),
                y[test],
            )


def methods(split: Split, normalize: str) -> dict[str, Any]:
    """Return every method, its strength to be chosen by three folds."""
    shared: dict[str, Any] = {"cv": 3, "normalize": normalize}
    path = shared | {"n_alphas": 15, "tol": TOL}
    if split.classes:
        lp, spicy, greedy = (
            LpMKLClassifierCV,
            SpicyMKLClassifierCV(**path),
            GroupOMPClassifierCV(max_kernels=20, **shared),
        )
    else:
        lp, spicy, greedy = (
            LpMKLRegressorCV,
            SpicyMKLRegressorCV(**path),
            GroupOMPRegressorCV(max_kernels=20, cv=3, normalize=normalize),
        )
    found = {"SpicyMKL": spicy, "Group-OMP": greedy}
    for name, p in (("LpMKL 4/3", 4 / 3), ("sum", np.inf)):
        found[name] = lp(ps=[p], tol=TOL, **shared)
    return found


def measure(split: Split, label: str, make: Maker, normalize: str) -> Iterator[Any]:
    """Yield one row per method: the score on the test samples, and what was chosen."""
    kernels = make(split.X)
    for method, model in methods(split, normalize).items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(kernels=kernels).fit(split.X, split.y)
        row = {
            "set": split.name,
            "split": split.number,
            "dictionary": label,
            "normalize": normalize,
            "method": method,
            "n_kernels": len(kernels),
            "n_active": len(model.active_kernels_),
            "score": float(model.score(split.X_test, split.y_test)),
            "seconds": time.process_time() - start,
        }
        print(*row.values(), flush=True)
        yield row


def dictionaries(quick: bool) -> list[dict[str, Any]]:
    """Compare dictionaries under unit variance."""
    chosen = QUICK if quick else CLASSIFICATION + REGRESSION
    labels = list(DICTIONARIES)[:2] if quick else list(DICTIONARIES)
    return [
        row
        for split in splits(chosen, 1 if quick else 2)
        for label in labels
        for row in measure(split, label, DICTIONARIES[label], "variance")
    ]


def normalize(quick: bool) -> list[dict[str, Any]]:
    """Compare "trace" and "variance" on the default and on fixed widths."""
    makers: dict[str, Maker] = {"default": median_dictionary, "two widths": two_widths}
    chosen = QUICK if quick else CLASSIFICATION + REGRESSION
    return [
        row
        for split in splits(chosen, 1 if quick else 2)
        for label in list(makers)[: 1 if quick else 2]
        for steps in ("trace", "variance")
        for row in measure(split, label, makers[label], steps)
    ]


def grids(quick: bool) -> list[dict[str, Any]]:
    """Choose C from the fixed grid of before, and from one in units of the kernels."""
    chosen = QUICK if quick else CLASSIFICATION + REGRESSION
    rows = []
    for split in splits(chosen, 1 if quick else 2):
        kernels = median_dictionary(split.X)
        losses = ("hinge", "log_loss") if split.classes else ("epsilon_insensitive",)
        ps = (2.0,) if quick else (1.0, 4 / 3, 2.0, np.inf)
        for loss, p in product((*losses, "squared_error"), ps):
            for grid, Cs in (("fixed", FIXED), ("anchored", None)):
                make = LpMKLClassifierCV if split.classes else LpMKLRegressorCV
                model = make(kernels, Cs=Cs, ps=[p], loss=loss, cv=3, tol=TOL)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(split.X, split.y)
                mean = model.cv_results_["mean_test_score"]
                last = mean.size - 1
                inner = {0: 1, last: last - 1}
                at = int(model.best_index_)
                row = {
                    "set": split.name,
                    "split": split.number,
                    "loss": loss,
                    "p": p,
                    "grid": grid,
                    "place": at,
                    "edge": (at > 0) - (at == 0)
                    if at in inner and mean[at] > mean[inner[at]]
                    else 0,
                    "score": float(model.score(split.X_test, split.y_test)),
                }
                print(*row.values(), flush=True)
                rows.append(row)
    return rows


def memory(quick: bool) -> list[dict[str, Any]]:
    """Fit one Gaussian kernel on all columns, from far too narrow to wide."""
    chosen = QUICK if quick else CLASSIFICATION
    multiples = [2.0**k for k in ((-4, 0) if quick else range(-6, 2))]
    rows = []
    for split in splits(chosen, 1 if quick else 3):
        middle = float(np.median(pdist(split.X)))
        for multiple in multiples:
            kernel = GaussianKernel(multiple * middle)
            beside = kernel(split.X)[np.triu_indices(split.y.size, 1)]
            ratio = off_diagonal_ratio(
                np.array([1.0 - beside.mean()]),
                np.array([beside.std()]),
                split.y.size,
            )
            model = LpMKLClassifierCV([kernel], ps=[np.inf], cv=3, tol=TOL)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(split.X, split.y)
            inside = model.contributions(split.X).std()
            row = {
                "set": split.name,
                "split": split.number,
                "multiple": multiple,
                "ratio": float(ratio[0]),
                "outside": float(model.contributions(split.X_test).std() / inside),
                "score": float(model.score(split.X_test, split.y_test)),
                "constant": float(max(np.mean(split.y_test == c) for c in (-1, 1))),
            }
            rows.append(row)
    return rows


STRENGTHS: Mapping[str, Sequence[float]] = {
    "SpicyMKL": (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    "LpMKL": tuple(2.0**k for k in range(-5, 10)),
    "Group-OMP": (0.003, 0.01, 0.03, 0.1),
    "HKL": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
}
"""For LpMKL multiples of 1 / M^(1 - 1/p), for M kernels of unit variance."""


def fixed_and_searched(
    kernels: KernelDictionary, classes: bool
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield every method, with single fits by their strengths, and its search."""
    kind = "Classifier" if classes else "Regressor"
    losses = ("squared_error", "epsilon_insensitive")
    near: dict[str, Any] = {"tol": TOL}
    for loss in ("log_loss",) if classes else losses:
        one = getattr(estimators, f"SpicyMKL{kind}")
        yield (
            f"SpicyMKL, {loss}",
            {
                f"{alpha:g}": one(kernels, alpha, loss=loss, **near)
                for alpha in STRENGTHS["SpicyMKL"]
            }
            | {"default": one(kernels, loss=loss)},
            getattr(estimators, f"SpicyMKL{kind}CV")(
                kernels, loss=loss, n_alphas=15, cv=3, **near
            ),
        )
    for p, loss in product((2.0, np.inf), ("hinge",) if classes else losses):
        one = getattr(estimators, f"LpMKL{kind}")
        unit = len(kernels) ** (1.0 - 1.0 / p)
        yield (
            f"LpMKL p = {p:g}, {loss}",
            {
                f"{C:g}": one(kernels, C / unit, p, loss=loss, **near)
                for C in STRENGTHS["LpMKL"]
            }
            | {"default": one(kernels, p=p, loss=loss)},
            getattr(estimators, f"LpMKL{kind}CV")(
                kernels, ps=[p], loss=loss, cv=3, **near
            ),
        )
    one = getattr(estimators, f"GroupOMP{kind}")
    yield (
        "Group-OMP",
        {
            f"{alpha:g}, tol {tol:g}": one(kernels, alpha, tol=tol)
            for tol, alpha in product((1e-3, 3e-3, 1e-2, 3e-2), STRENGTHS["Group-OMP"])
        }
        | {"default": one(kernels)},
        getattr(estimators, f"GroupOMP{kind}CV")(
            kernels, alphas=(1e-4, 1e-3, 1e-2, 1e-1, 1.0), max_kernels=20, cv=3
        ),
    )
    one, few = getattr(estimators, f"HKL{kind}"), {"max_kernels": 100}
    yield (
        "HKL",
        {f"{alpha:g}": one(None, alpha, **few) for alpha in STRENGTHS["HKL"]}
        | {"default": one()},
        getattr(estimators, f"HKL{kind}CV")(cv=3, **few),
    )
    for method in ("LocalRademacherMKL", "FixedWeightsMKL"):
        one = getattr(estimators, f"{method}{kind}")
        search = getattr(estimators, f"{method}{kind}CV")
        yield method, {"default": one(kernels)}, search(kernels, cv=3)


def strengths(quick: bool) -> list[dict[str, Any]]:
    """Compare fits at fixed and default strengths with the same method's search."""
    chosen = QUICK if quick else BESIDE_SEARCHES
    rows = []
    for split in splits(chosen, 1 if quick else 2, n_train=200):
        kernels = median_dictionary(split.X)
        y, y_test = split.y, split.y_test
        if not split.classes:
            y, y_test = ((v - split.y.mean()) / split.y.std() for v in (y, y_test))
        for method, fixed, search in fixed_and_searched(kernels, split.classes):
            if method == "HKL" and split.number:
                continue  # one split takes as long as two of all others
            for label, model in (fixed | {"search": search}).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(split.X, y)
                row = {
                    "set": split.name,
                    "split": split.number,
                    "classes": split.classes,
                    "method": method,
                    "strength": label,
                    "score": float(model.score(split.X_test, y_test)),
                }
                print(*row.values(), flush=True)
                rows.append(row)
    return rows


PRECOMPUTED = (
    "dti_e_drugs_kernels",
    "dti_ic_proteins_kernels",
    "proteinfold_kernels_rank27",
)
NORMALIZATIONS = ("trace", "variance")
LABELS = 20
"""The most frequent ones of a set, each a problem of two classes."""


def clipped(K: Array) -> Array:
    """Return a similarity without its negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(0.5 * (K + K.T))
    return np.asarray((vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T)


def matrices(name: str) -> tuple[Array, Array]:
    """Return the Gram matrices of a set, repaired, and its most frequent labels."""
    data = load(name)
    if "K" in data:
        grams, labels = np.asarray(data.K, dtype=np.float64), np.asarray(data.Y)
    else:
        grams = np.array([view @ view.T for view in data.views.values()])
        labels = np.equal.outer(data.y, np.unique(data.y))
    often = np.argsort(-labels.sum(axis=0), kind="stable")[:LABELS]
    return np.array([clipped(K) for K in grams]), labels[:, often].astype(int)


def mean_auc(model: Any, X: Array, labels: Array) -> float:
    """Return the mean AUC over labels and three folds."""
    found = [
        cross_val_score(model, X, y, scoring="roc_auc", cv=folds).mean()
        for number, y in enumerate(labels.T)
        for folds in [StratifiedKFold(3, shuffle=True, random_state=number)]
    ]
    return float(np.mean(found))


def sums_of_matrices(name: str) -> Iterator[dict[str, Any]]:
    """Yield the mean AUC over labels and three folds of the sum of Gram matrices."""
    grams, labels = matrices(name)
    X = stack_grams(grams)
    for steps, C in product(NORMALIZATIONS, (1.0, 10.0)):
        model = FixedWeightsMKLClassifier("precomputed", C, normalize=steps)
        yield {
            "set": name,
            "measure": "AUC",
            "normalize": steps,
            "C": f"{C:g}",
            "score": mean_auc(model, X, labels),
        }


def sums(quick: bool) -> list[dict[str, Any]]:
    """Normalise the kernels of an unweighted sum, precomputed or the default ones."""
    rows = []
    here = [name for name in PRECOMPUTED if name in available() and not quick]
    for row in (row for name in here for row in sums_of_matrices(name)):
        print(*row.values(), flush=True)
        rows.append(row)
    chosen = QUICK if quick else CLASSIFICATION + REGRESSION
    for split in splits(chosen, 1 if quick else 2):
        kernels = median_dictionary(split.X)
        kind = "Classifier" if split.classes else "Regressor"
        for steps in NORMALIZATIONS:
            model = getattr(estimators, f"FixedWeightsMKL{kind}")(
                kernels, normalize=steps
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(split.X, split.y)
            row = {
                "set": split.name,
                "measure": "accuracy" if split.classes else "R^2",
                "normalize": steps,
                "C": "default",
                "score": float(model.score(split.X_test, split.y_test)),
            }
            print(*row.values(), flush=True)
            rows.append(row)
    return rows


def precomputed(quick: bool) -> list[dict[str, Any]]:
    """Compare methods at their defaults on Gram matrices that came as such."""
    chosen: dict[str, Any] = {
        "best single kernel": FixedWeightsMKLClassifierCV(
            "precomputed", kernel_weights="single", cv=3
        ),
        "sum": FixedWeightsMKLClassifier("precomputed"),
        "LpMKL 4/3": LpMKLClassifier("precomputed", p=4 / 3),
        "Group-OMP": GroupOMPClassifier("precomputed"),
        "SpicyMKL": SpicyMKLClassifier("precomputed"),
    }
    rows = []
    for name in (name for name in PRECOMPUTED if name in available() and not quick):
        grams, labels = matrices(name)
        X = stack_grams(grams)
        for method, model in chosen.items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = mean_auc(model, X, labels)
            row = {
                "set": name,
                "n_samples": X.shape[0],
                "n_kernels": X.shape[2],
                "splits": 3 * labels.shape[1],
                "method": method,
                "score": score,
                "seconds": time.process_time() - start,
            }
            print(*row.values(), flush=True)
            rows.append(row)
    return rows


def of_many_targets() -> Iterator[tuple[str, Mapping[str, Array], Array]]:
    """Yield sets by name: features by view, and targets."""
    digits = load("digits").X
    lower = digits[:, 32:]
    halves = {"top": digits[:, :16], "middle": digits[:, 16:32]}
    yield "digits: lower half", halves, lower[:, lower.std(axis=0) > 2.0]
    if "omics_tcga_brca_3views" in available():
        data = load("omics_tcga_brca_3views")
        views = {name: view[data.split == 0] for name, view in data.views.items()}
        yield "omics: proteins", views, views.pop("protein")
    if "mfeat_digits_6views" in available():
        views = dict(load("mfeat_digits_6views").views)
        yield "mfeat: Zernike moments", views, views.pop("zer")


def targets(quick: bool) -> list[dict[str, Any]]:
    """Compare searches on many targets, predicted from several views."""
    each = [GaussianKernel("median"), LinearKernel()]
    separate: dict[str, Any] = {"selection": "separate", "cv": 3}
    rows = []
    for (name, views, Y), number in product(
        of_many_targets(), range(1 if quick else 3)
    ):
        ends = np.cumsum([0, *(view.shape[1] for view in views.values())])
        blocks = zip(views, pairwise(ends), strict=True)
        kernels = {view: (slice(*ends), each) for view, ends in blocks}
        chosen = {
            "sum": LpMKLRegressorCV(kernels, ps=[np.inf], cv=3),
            "LpMKL 4/3": LpMKLRegressorCV(kernels, ps=[4 / 3], cv=3),
            "LpMKL 4/3, separate": LpMKLRegressorCV(kernels, ps=[4 / 3], **separate),
            "SpicyMKL": SpicyMKLRegressorCV(kernels, cv=3),
            "SpicyMKL, separate": SpicyMKLRegressorCV(kernels, **separate),
        }
        order = np.random.default_rng(number).permutation(Y.shape[0])
        n = min(300, int(0.7 * Y.shape[0]))
        train, test = order[:n], order[n : n + TEST]
        X = np.hstack([*views.values()])
        scaler, unit = StandardScaler().fit(X[train]), StandardScaler().fit(Y[train])
        for method, model in chosen.items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(scaler.transform(X[train]), unit.transform(Y[train]))
            seconds = time.process_time() - start
            row = {
                "set": name,
                "split": number,
                "n_targets": Y.shape[1],
                "n_train": n,
                "n_kernels": 2 * len(views),
                "method": method,
                "score": float(
                    model.score(scaler.transform(X[test]), unit.transform(Y[test]))
                ),
                "seconds": seconds,
            }
            print(*row.values(), flush=True)
            rows.append(row)
        if quick:
            break
    return rows


COMMANDS = {
    "precomputed": precomputed,
    "targets": targets,
    "sums": sums,
    "dictionaries": dictionaries,
    "normalize": normalize,
    "memory": memory,
    "grids": grids,
    "strengths": strengths,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--quick", action="store_true", help="one set, seconds")
    parser.add_argument("--output", type=Path, default=HERE)
    options = parser.parse_args()
    with threadpool_limits(1):
        rows = COMMANDS[options.command](options.quick)
    folder = options.output / "results"
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "rows": rows,
    }
    path = folder / f"{options.command}.json"
    path.write_text(json.dumps(content, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
