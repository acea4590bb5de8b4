"""What is compared: every estimator of ours, and what users take instead."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.choosing.sets import LARGE, SEQUENCES, TABLES, TARGETS, VIEWS, Split
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

Answer = tuple[Any, int | None]
"""Predictions (for an AUC decision values), and kernels or terms in use."""
Model = Callable[[Split], Answer]
LIMIT = 15
"""Processor seconds that a method has on a split."""
LARGE_LIMIT = 300
"""The same on large tables, where searches and grids of 3000 samples take minutes."""
CS = [0.1, 1, 10, 100]


def answer(fitted: Any, X: Any, split: Split, used: int | None = None) -> Answer:
    """Return the answer of a fitted estimator."""
    if split.measure != "AUC":
        return fitted.predict(X), used
    if hasattr(fitted, "decision_function"):
        return fitted.decision_function(X), used
    return fitted.predict_proba(X)[:, 1], used


def kind_of(split: Split) -> str:
    """Return how estimators for this split end."""
    return "Regressor" if split.measure == "R²" else "Classifier"


def ours(name: str) -> Model:
    """Return what fits one of our estimators, with its defaults."""

    def fit(split: Split) -> Answer:
        from multikernel import estimators

        made = getattr(estimators, name.replace("*", kind_of(split)))
        given = () if name.startswith("HKL") else (split.kernels,)
        model = made(*given)
        model.fit(split.X, split.y)
        active = model.active_kernels_
        many = isinstance(active, list) and np.ndim(active[0])
        used = set(itertools.chain(*active)) if many else active
        return answer(model, split.X_test, split, len(used))

    return fit


def machine(split: Split) -> Answer:
    """Return a support vector machine with a grid, on all columns."""
    from sklearn.svm import SVC, SVR

    grid = {"C": CS, "gamma": ["scale", 1e-3, 1e-2, 1e-1]}
    model = GridSearchCV(SVR() if split.measure == "R²" else SVC(), grid, cv=5)
    return answer(model.fit(split.columns, split.y), split.columns_test, split)


def plain_machine(split: Split) -> Answer:
    """Return a support vector machine as it comes: its grid takes minutes."""
    from sklearn.svm import SVC, SVR

    model = SVR() if split.measure == "R²" else SVC()
    return answer(model.fit(split.columns, split.y), split.columns_test, split)


def trees(name: str) -> Model:
    """Return what fits an ensemble of scikit-learn, with its defaults."""

    def fit(split: Split) -> Answer:
        from sklearn import ensemble

        model = getattr(ensemble, f"{name}{kind_of(split)}")(random_state=0)
        return answer(model.fit(split.columns, split.y), split.columns_test, split)

    return fit


def catboost(split: Split) -> Answer:
    """Return CatBoost's trees, with its defaults."""
    import catboost

    made = getattr(catboost, f"CatBoost{kind_of(split)}")
    model = made(
        random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
    )
    fitted = model.fit(split.columns, split.y)
    if split.measure != "AUC":
        # Its classes are a column.
        return np.ravel(fitted.predict(split.columns_test)), None
    return answer(fitted, split.columns_test, split)


def lightgbm(split: Split) -> Answer:
    """Return LightGBM's trees, with its defaults."""
    import lightgbm

    made = getattr(lightgbm, f"LGBM{kind_of(split)}")
    model = made(random_state=0, n_jobs=1, verbose=-1)
    return answer(model.fit(split.columns, split.y), split.columns_test, split)


def explainable(split: Split) -> Answer:
    """Return interpret's boosting machine, a sum of terms of a column or two.

    Of two bags, ten pairs and 5000 rounds: its 14 bags, three pairs a column and ten
    times as many rounds take 9 s on 6 columns, and minutes on 60.
    """
    from interpret import glassbox

    made = getattr(glassbox, f"ExplainableBoosting{kind_of(split)}")
    size = {"outer_bags": 2, "interactions": 10, "max_rounds": 5000}
    model = made(**size, random_state=0, n_jobs=1)
    model.fit(split.columns, split.y)
    return answer(model, split.columns_test, split, len(model.term_names_))


class Splines(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """pyGAM's model of two classes, as scikit-learn's one against the rest takes it."""

    def __init__(self, n_splines: int = 20) -> None:
        self.n_splines = n_splines

    def fit(self, X: Any, y: Any) -> "Splines":
        from pygam import LogisticGAM

        self.classes_ = np.unique(y)
        model = LogisticGAM(n_splines=self.n_splines)
        self.model_ = model.fit(X, y == self.classes_[1])
        return self

    def predict_proba(self, X: Any) -> Any:
        positive = self.model_.predict_proba(X)
        return np.column_stack([1.0 - positive, positive])


def additive(split: Split) -> Answer:
    """Return pyGAM's sum of splines, a column each.

    Of ten pieces beyond 20 columns: with its 20 pieces 60 columns take minutes.
    """
    from pygam import LinearGAM

    n_splines = 20 if split.columns.shape[1] <= 20 else 10
    if split.measure == "R²":
        model = LinearGAM(n_splines=n_splines)
    else:
        model = OneVsRestClassifier(Splines(n_splines))
    model.fit(split.columns, split.y)
    return answer(model, split.columns_test, split, split.columns.shape[1])


def processes(split: Split) -> Answer:
    """Return a Gaussian process with a width for each column.

    They begin at the usual distance of two samples: from one it finds mere noise in
    32 columns.
    """
    from sklearn import gaussian_process as gp

    n_columns = split.columns.shape[1]
    widths = 1.0 * gp.kernels.RBF(np.full(n_columns, np.sqrt(n_columns)))
    if split.measure == "R²":
        model = gp.GaussianProcessRegressor(
            widths + gp.kernels.WhiteKernel(), normalize_y=True, random_state=0
        )
    else:
        model = gp.GaussianProcessClassifier(widths, random_state=0)
    return answer(model.fit(split.columns, split.y), split.columns_test, split)


def on_gram(split: Split, K: Any) -> Any:
    """Return a machine on one Gram matrix, its C by five folds."""
    from sklearn.svm import SVC

    return GridSearchCV(SVC(kernel="precomputed"), {"C": CS}, cv=5).fit(K, split.y)


def on_the_sum(split: Split) -> Answer:
    """Return a machine on the unweighted sum of the kernels."""
    K, K_test = split.grams()
    return answer(on_gram(split, K.sum(0)), K_test.sum(0), split, len(K))


def best_single(split: Split) -> Answer:
    """Return a machine on the kernel that is best by cross-validation."""
    K, K_test = split.grams()
    found = [on_gram(split, one) for one in K]
    best = int(np.argmax([search.best_score_ for search in found]))
    return answer(found[best], K_test[best], split, 1)


def ridge(split: Split) -> Answer:
    """Return ridge regression on all columns, a strength for each target."""
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(np.logspace(-2, 6, 17), alpha_per_target=True)
    return answer(model.fit(split.columns, split.y), split.columns_test, split)


def banded(split: Split) -> Answer:
    """Return himalaya's banded ridge regression, as ``benchmarks/comparison``."""
    from benchmarks.comparison.methods import bands_himalaya

    values = split.columns, split.y, split.columns_test, split.views
    return bands_himalaya(*values), len(split.views)


OURS: dict[str, Model] = {
    "SpicyMKL CV": ours("SpicyMKL*CV"),
    "LpMKL CV": ours("LpMKL*CV"),
    "Group-OMP CV": ours("GroupOMP*CV"),
    "HKL CV": ours("HKL*CV"),
    "local Rademacher CV": ours("LocalRademacherMKL*CV"),
    "Uniform CV": ours("FixedWeightsMKL*CV"),
    "SpicyMKL": ours("SpicyMKL*"),
    "LpMKL": ours("LpMKL*"),
    "Group-OMP": ours("GroupOMP*"),
    "HKL": ours("HKL*"),
    "local Rademacher": ours("LocalRademacherMKL*"),
    "Uniform": ours("FixedWeightsMKL*"),
}
OTHERS: dict[str, Model] = {
    "SVM grid": machine,
    "SVM": plain_machine,
    "SVM on the sum": on_the_sum,
    "best single kernel": best_single,
    "random forest": trees("RandomForest"),
    "boosting": trees("HistGradientBoosting"),
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "EBM": explainable,
    "pyGAM": additive,
    "GP with ARD": processes,
    "ridge": ridge,
    "banded ridge": banded,
}
MODELS = OURS | OTHERS

_ALL = tuple(OURS)
_KERNELS = tuple(name for name in OURS if not name.startswith("HKL"))
_GRAMS = ("SVM on the sum", "best single kernel", "SVM grid", "random forest")
COMPARED: dict[str, tuple[str, ...]] = {
    TABLES: (
        *_ALL,
        "SVM grid",
        "random forest",
        "boosting",
        "CatBoost",
        "LightGBM",
        "EBM",
        "pyGAM",
        "GP with ARD",
    ),
    LARGE: (
        *("SpicyMKL CV", "SpicyMKL", "SVM", "random forest", "boosting"),
        *("CatBoost", "LightGBM", "EBM"),
    ),
    VIEWS: (*_KERNELS, *_GRAMS),
    SEQUENCES: (*_KERNELS, *_GRAMS),
    TARGETS: (
        *("SpicyMKL CV", "LpMKL CV", "SpicyMKL", "LpMKL"),
        *("ridge", "banded ridge", "random forest"),
    ),
}
"""The methods that are compared on each kind of sets: HKL takes columns only, and
of the others two predict many targets. On 3000 samples machines on weighted sums took
11 s or longer than `LIMIT`."""


def limit(kind: str) -> int:
    """Return the processor seconds that a method has on a split of a kind."""
    return LARGE_LIMIT if kind == LARGE else LIMIT
