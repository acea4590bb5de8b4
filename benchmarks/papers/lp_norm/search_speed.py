"""Speed of the search over C and p: milliseconds per candidate and fold.

The target is 8 ms on one thread, for `LpMKLClassifierCV` with its nine values of C and
five of p on 155 samples and 70 kernels; an SVM's grid search takes a fraction of it, so
that a search is what a user waits for. Folds are solved one after another. Run
``python benchmarks/papers/lp_norm/search_speed.py`` with MULTIKERNEL_DATA set, --smoke
for tiny sizes.
"""

import time
import warnings

import numpy as np
from common import Options, commit, options
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from multikernel.datasets import available, load
from multikernel.estimators import LpMKLClassifierCV
from multikernel.kernels import ListDictionary, spicy_dictionary

TARGET_MS = 8.0
N_SAMPLES, N_KERNELS, N_FOLDS = 194, 70, 5  # folds of five train on 155
CS = (1 / 32, 1 / 8, 1 / 2, 1.0, 2.0, 4.0, 8.0, 32.0, 128.0)
PS = (1.0, 4 / 3, 2.0, 4.0, float("inf"))


def problem(name: str, small: bool) -> tuple[np.ndarray, np.ndarray, ListDictionary]:
    """Return standardized samples, labels, and 70 of the paper's kernels."""
    n_samples, n_kernels = (40, 5) if small else (N_SAMPLES, N_KERNELS)
    data = load(name)
    X = np.asarray(data.X, dtype=np.float64)[:n_samples]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    every = spicy_dictionary(X.shape[1])
    chosen = np.linspace(0, len(every) - 1, n_kernels).astype(int)
    kernels = ListDictionary([every[int(m)] for m in chosen])
    return StandardScaler().fit_transform(X), np.asarray(data.y)[:n_samples], kernels


def milliseconds(name: str, ps: tuple[float, ...], small: bool) -> float:
    """Return the CPU time of a search per candidate and fold."""
    X, y, kernels = problem(name, small)
    model = LpMKLClassifierCV(kernels, Cs=CS, ps=ps, cv=N_FOLDS, n_jobs=1, refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the smallest C may win; that is no matter
        model.fit(X, y)  # compiles
        start = time.process_time()
        model.fit(X, y)
    return 1e3 * (time.process_time() - start) / (len(CS) * len(ps) * N_FOLDS)


def run(task: Options) -> None:
    """Print a line per data set, and save them."""
    rows = []
    names = ["breast_cancer"] if task.smoke else ["wpbc", "liver"]
    with threadpool_limits(1):
        for name in (name for name in names if name in available()):
            times = {"all": milliseconds(name, PS, task.smoke)}
            times |= {f"{p:.3g}": milliseconds(name, (p,), task.smoke) for p in PS}
            rows.append({"data": name, "commit": commit(), "milliseconds": times})
            figures = "  ".join(f"p {p}: {value:.1f}" for p, value in times.items())
            verdict = "met" if times["all"] <= TARGET_MS else "missed"
            print(f"{name}  {figures}  target {TARGET_MS:g} ms {verdict}")
    if not rows:
        print("MULTIKERNEL_DATA names no folder with " + " or ".join(names))
        return
    task.save("search_speed", rows)


if __name__ == "__main__":
    run(options(__doc__))
