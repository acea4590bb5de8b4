"""
Five targets with one selection of column groups
================================================

A spectrum with 60 wavelengths predicts five properties of a sample. Neighboring
wavelengths belong together, so each kernel uses ten of them. The five targets share one
selection: a group of wavelengths is active for all targets or for none.
"""

# %%
# The data: two of six groups are informative
# -------------------------------------------

import numpy as np
import pandas as pd

from multikernel import SpicyMKLRegressor, SpicyMKLRegressorCV
from multikernel.display import KernelWeightsDisplay
from multikernel.kernels import LinearKernel

rng = np.random.default_rng(0)
columns = [f"{900 + 10 * i} nm" for i in range(60)]
X = pd.DataFrame(rng.standard_normal((120, 60)), columns=columns)
used = X.to_numpy()[:, 10:20] @ rng.standard_normal((10, 5))
used += X.to_numpy()[:, 40:50] @ rng.standard_normal((10, 5))
targets = [f"property {letter}" for letter in "ABCDE"]
Y = pd.DataFrame(used / used.std(axis=0), columns=targets)
Y += 0.5 * rng.standard_normal(Y.shape)

# %%
# The fit
# -------

groups = {
    f"{columns[i]} to {columns[i + 9]}": (columns[i : i + 10], LinearKernel())
    for i in range(0, 60, 10)
}
model = SpicyMKLRegressorCV(groups, n_alphas=15, cv=3).fit(X[:80], Y[:80])
print(f"R² on new samples: {model.score(X[80:], Y[80:]):.2f}")

# %%
# One weight per group
# --------------------

KernelWeightsDisplay.from_estimator(model)

# %%
# Separate selections
# -------------------
#
# ``selection="separate"`` fits each target separately and returns one row of weights
# per target.

alpha = model.best_params_["alpha"] / 2
alone = SpicyMKLRegressor(groups, alpha=alpha, selection="separate").fit(X, Y)
pd.DataFrame(alone.kernel_weights_, targets, list(groups)).round(2).T
