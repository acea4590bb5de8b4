"""
Shape functions: the effect of one column
=========================================

With one kernel per column, a model is a sum of curves, one per column. Each curve can
be drawn, with a band that shows how much it varies between samples.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from multikernel import SpicyMKLRegressor, SpicyMKLRegressorCV
from multikernel.display import ContributionDisplay, ExplanationDisplay
from multikernel.kernels import GaussianKernel, per_column

X, y = load_diabetes(return_X_y=True, as_frame=True)
kernels = per_column(GaussianKernel("median"), X.shape[1])
model = SpicyMKLRegressorCV(kernels, n_alphas=15, cv=3).fit(X, y)
model.summary().round(2)

# %%
# The curves of the three strongest columns
# -----------------------------------------
#
# The band comes from models of resampled patients; ticks mark the patients.

from multikernel.inspection import bootstrap

fixed = SpicyMKLRegressor(kernels, **model.best_params_)
resampled = bootstrap(fixed, X, y, 20, random_state=0)
strongest = model.variance_shares_.argsort()[::-1][:3]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
for kernel, axis in zip(strongest, axes, strict=True):
    ContributionDisplay.from_estimator(model, X, kernel, bootstrap=resampled, ax=axis)

# %%
# One patient
# -----------

ExplanationDisplay.from_estimator(model, X, 0)
