"""
A CSV file whose Gram matrices do not fit in memory
===================================================

A Gram matrix of 50 000 rows has 20 GB, and twenty of them have 400 GB. Their numerical
rank is only a few dozen, so factors are enough. The duality gap still refers to the
full kernels. This example uses 2000 rows to be quick; increase ``n_rows`` to try more.
"""

# %%
# The file
# --------
#
# Two of ten sensors predict a fault.

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from multikernel import SpicyMKLClassifier
from multikernel.display import ContributionDisplay
from multikernel.kernels import GaussianKernel, ParameterGrid

n_rows = 2_000
rng = np.random.default_rng(0)
made = pd.DataFrame(
    rng.standard_normal((n_rows, 10)), columns=[f"sensor {i}" for i in range(10)]
)
signal = np.sin(2 * made["sensor 2"]) + made["sensor 5"] ** 2 - 1
noisy = signal + 0.5 * rng.standard_normal(n_rows)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "sensors.csv"
made.assign(fault=np.where(noisy > 0, "yes", "no")).to_csv(file, index=False)
print(f"{n_rows} rows, {file.stat().st_size / 1e6:.1f} MB")

# %%
# From the file to a model
# ------------------------

table = pd.read_csv(file)
X, y = table.drop(columns="fault"), table["fault"]
widths = [GaussianKernel(0.5), GaussianKernel(2.0)]
kernels = ParameterGrid(widths, list(X.columns))
model = SpicyMKLClassifier(kernels, alpha=0.02, storage="low_rank").fit(X, y)
print(f"{model.active_kernels_.size} of {len(kernels)} kernels are active")
print(f"no model lowers the objective by more than {model.duality_gap_:.3%}")

# %%
# ``storage="auto"`` (the default) chooses the storage and reports the reason:

print(SpicyMKLClassifier(kernels, alpha=0.02).fit(X, y).fit_info_["storage_reason"])

# %%
# The same on the command line
# ----------------------------
#
# The second command predicts for a file, here the same one.

words = "fit sensors.csv -t fault --kernels columns --alpha 0.02 -o m.skops"
again = "predict m.skops sensors.csv -t fault -o predictions.csv"
for line in (words, again):
    command = [sys.executable, "-m", "multikernel.cli", *line.split()]
    done = subprocess.run(
        command, cwd=folder.name, capture_output=True, text=True, check=True
    )
    print(f"$ multikernel {line}", done.stdout, done.stderr, sep="\n")
folder.cleanup()

# %%
# The fitted functions
# --------------------
#
# The functions of the two informative sensors are a wave and a parabola.

strongest = model.variance_shares_.argsort()[::-1][:2]
figure, axes = plt.subplots(1, 2, figsize=(8, 4.2), sharey=True, layout="constrained")
for kernel, axis in zip(strongest, axes, strict=True):
    ContributionDisplay.from_estimator(model, X, kernel, ax=axis)
