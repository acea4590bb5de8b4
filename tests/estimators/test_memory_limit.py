"""Fits stay below max_bytes as the system counts memory, or refuse in a sentence."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("pandas")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

MARGIN = 24_000_000
"""Bytes that a fit may take beside `max_bytes`: its copies of the table, and what
Python, pandas and BLAS allocate, 10 to 22 MB."""

SCRIPT = """
import gc, json, os, sys, time, warnings
import numpy as np, pandas as pd
from multikernel import *
from multikernel.kernels import *

warnings.simplefilter("ignore")

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(l.split()[1]) * 1024 for l in lines if l.startswith(name))

def measured(label, work, max_bytes):
    # A new process starts with a peak of what it holds.
    read, write = os.pipe()
    if os.fork() == 0:
        before, sentence = status("VmRSS"), ""
        try:
            work()
        except Exception as error:
            sentence = f"{type(error).__name__}: {error}"
        peak = status("VmHWM") - before
        os.write(write, json.dumps([label, peak, max_bytes, sentence]).encode())
        os._exit(0)
    os.wait()
    print(os.read(read, 10_000).decode())

def categories(n_samples, n_columns):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (n_samples, n_columns))
    X = "v" + pd.DataFrame(codes).astype(str)
    X.columns = [f"c{c}" for c in range(n_columns)]
    X["many"] = [f"w{i}" for i in rng.integers(0, 300, n_samples)]
    return X, (codes[:, 0] == 1) + rng.standard_normal(n_samples)

def numbers(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 3))
    return X, X[:, 0] ** 2 + X[:, 1]

def pairs(X):
    return Interactions([ColumnKernel(CategoryKernel(), c) for c in X])

# Loops are compiled, and what is imported late is.
for table, y in (categories(900, 3), numbers(120)):
    for storage in ("low_rank", "dense", "lazy"):
        SpicyMKLRegressor(storage=storage).fit(table, y).predict(table)
LpMKLClassifier(storage="dense").fit(table, y > 0.5)
SpicyMKLRegressorCV(storage="dense", cv=2, n_alphas=2).fit(table, y)
gc.collect()

X, y = categories(3000, 20)
for limit in (5, 20):
    model = SpicyMKLRegressor(pairs(X), max_bytes=limit * 10**6)
    measured(f"pairs {limit}", lambda: model.fit(X, y), limit * 10**6)
model = SpicyMKLRegressor(max_bytes=50_000_000)
measured("default", lambda: model.fit(X, y), 50_000_000)
model = SpicyMKLRegressor(pairs(X), storage="dense32", max_bytes=50_000_000)
measured("dense32 refused", lambda: model.fit(X, y), 50_000_000)
fitted = SpicyMKLRegressor(pairs(X), max_bytes=20_000_000).fit(X[:1000], y[:1000])
many = pd.concat([X] * 10)
# Blocks of rows take 64 MB, however many rows there are.
measured("predict", lambda: fitted.predict(many), 64_000_000)

X, y = numbers(1000)
for storage, limit in (("dense", 70), ("dense", 130), ("dense32", 120)):
    model = SpicyMKLRegressor(alpha=0.1, storage=storage, max_bytes=limit * 10**6)
    measured(f"{storage} {limit}", lambda: model.fit(X, y), limit * 10**6)
model = LpMKLClassifier(storage="dense", max_bytes=130_000_000)
measured("lp", lambda: model.fit(X, y > 0.5), 130_000_000)
model = SpicyMKLRegressorCV(storage="dense", cv=2, n_alphas=2, max_bytes=130_000_000)
measured("search", lambda: model.fit(X[:700], y[:700]), 130_000_000)
model = SpicyMKLRegressor(storage="lazy", max_bytes=60_000_000)
measured("lazy", lambda: model.fit(X[:800], y[:800]), 60_000_000)
print(json.dumps(time.process_time()), file=sys.stderr)
"""

REFUSED = {"pairs 5", "dense32 refused", "dense 70"}


@linux
def test_the_limit_holds_in_memory_of_the_process():
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    cases = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(cases) == 11
    for label, peak, max_bytes, sentence in cases:
        assert peak <= max_bytes + MARGIN, (label, peak)
        assert sentence.startswith("StackTooLargeError") == (label in REFUSED), sentence
        assert (sentence == "") == (label not in REFUSED)
        if sentence and not label.startswith("pairs"):
            assert peak < MARGIN  # before anything is allocated
