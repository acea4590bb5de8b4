"""What users would take instead, each in a process of its own.

Called as ``rivals.py METHOD FILE JSON`` with the rows in an npz file and the kernels, a
list of (columns, width), in JSON; prints what was found. It imports NumPy,
scikit-learn and the rival only, so that it runs where multikernel is not installed
(scMKL and himalaya want other versions than ours).
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Predict = Callable[[Any], Any]
Kernels = Sequence[tuple[Sequence[int], float]]

COMPONENTS = 10
"""Landmarks of a kernel for `Nystroem`: as many features as a kernel's rank is."""


def peak_bytes() -> int:
    """Return the most memory that this process has held so far."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0


def _sampled(kernels: Kernels) -> Any:
    """Return features whose products are about the sum of the kernels."""
    from sklearn.compose import ColumnTransformer
    from sklearn.kernel_approximation import Nystroem

    parts = [
        (
            f"kernel {m}",
            Nystroem(
                gamma=0.5 / width**2,
                n_components=COMPONENTS * min(len(columns), 30),
                random_state=0,
            ),
            list(columns),
        )
        for m, (columns, width) in enumerate(kernels)
    ]
    return ColumnTransformer(parts)


def nystroem_logistic(X: Any, y: Any, kernels: Kernels) -> Predict:
    """Nystroem + LogisticRegression on the sum of the kernels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(_sampled(kernels), LogisticRegression(C=0.1, max_iter=200))
    return model.fit(X, y).predict


def nystroem_sgd(X: Any, y: Any, kernels: Kernels) -> Predict:
    """Nystroem + SGDClassifier (hinge) on the sum of the kernels."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(_sampled(kernels), SGDClassifier(random_state=0))
    return model.fit(X, y).predict


def boosting(X: Any, y: Any, kernels: Kernels) -> Predict:
    """HistGradientBoostingClassifier on the columns."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0).fit(X, y).predict


def himalaya(X: Any, y: Any, kernels: Kernels) -> Predict:
    """himalaya: MultipleKernelRidgeCV on whole matrices, by random search."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    def grams(rows: Any) -> Any:
        return np.stack([_gaussian(rows, X, *kernel) for kernel in kernels])

    model = MultipleKernelRidgeCV(
        kernels="precomputed",
        solver_params={
            "n_iter": 20,
            "alphas": np.logspace(-3, 3, 7),
            "progress_bar": False,
        },
        random_state=0,
    ).fit(grams(X), y)

    def predict(rows: Any) -> Any:
        blocks = np.array_split(rows, max(1, len(rows) // 1000))
        values = [model.predict(grams(block)).ravel() for block in blocks]
        return np.sign(np.concatenate(values))

    return predict


def _gaussian(A: Any, B: Any, columns: Sequence[int], width: float) -> Any:
    """Return a Gaussian kernel between rows."""
    A, B = A[:, columns], B[:, columns]
    squares = np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1) - 2.0 * A @ B.T
    return np.exp(-0.5 * np.maximum(squares, 0.0) / width**2)


def scmkl(X: Any, y: Any, kernels: Kernels) -> Predict:
    """scMKL: random features and a group lasso; one kernel a column, of its own width.

    It estimates widths itself, and takes the rows to predict on together with the
    others, so that both count here.
    """
    import scmkl as package

    columns = sorted({tuple(chosen) for chosen, _ in kernels})
    names = np.array([f"x{i}" for i in range(X.shape[1])])
    groups = {f"kernel {m}": names[list(c)] for m, c in enumerate(columns)}

    def predict(rows: Any) -> Any:
        both, n = np.vstack([X, rows]), len(X)
        data = package.create_adata(
            both,
            names,
            # Labels of the rows to predict on are asked for, but not looked at.
            np.concatenate([np.where(y > 0, "up", "down"), ["up"] * len(rows)]),
            groups,
            split_data=np.array(["train"] * n + ["test"] * len(rows)),
            D=50,
            scale_data=False,
            add_ones=True,
        )
        data = package.calculate_z(package.estimate_sigma(data), n_features=5000)
        data = package.train_model(data, 2 * data.uns["D"], alpha=0.005)
        return np.where(np.asarray(package.predict(data)) == "up", 1.0, -1.0)

    return predict


RIVALS: Mapping[str, Callable[[Any, Any, Kernels], Predict]] = {
    each.__name__: each
    for each in (nystroem_logistic, nystroem_sgd, boosting, himalaya, scmkl)
}


def main() -> None:
    """Fit and predict, and print what it took."""
    warnings.simplefilter("ignore")
    data, kernels = np.load(sys.argv[2]), json.loads(sys.argv[3])
    X, y = data["X"], data["y"]
    start, cpu = time.perf_counter(), time.process_time()
    predict = RIVALS[sys.argv[1]](X, y, kernels)
    fitted = time.perf_counter() - start
    right = predict(data["X_test"]) == data["y_test"]
    found = {
        "rows": len(y),
        "M": len(kernels),
        "seconds": fitted if sys.argv[1] != "scmkl" else time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": peak_bytes(),
        "accuracy": float(np.mean(right)),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
