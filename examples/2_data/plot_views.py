"""
Three views of the same patients, and the stability of the selection
====================================================================

The data are ten measurements of the cells of 569 tumors in three views: the mean over
the cells, the spread, and the value in the worst cells. One model weights all of them.
Resampling bounds how many kernels are selected by chance.
"""

# %%
# The views
# ---------
#
# A view is a named group of columns. The widths of its kernels are the median distances
# between samples.

from sklearn.datasets import load_breast_cancer

from multikernel import SpicyMKLClassifier
from multikernel.display import KernelWeightsDisplay, StabilityDisplay
from multikernel.inspection import bootstrap, stability_selection
from multikernel.kernels import GaussianKernel, per_column

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
each = per_column(GaussianKernel("median"), 10)
views = {
    "mean": (list(X.columns[:10]), each),
    "spread": (list(X.columns[10:20]), each),
    "worst": (list(X.columns[20:]), each),
}
model = SpicyMKLClassifier(views, alpha=0.05).fit(X, y)
model.summary("view").round(2)

# %%
# Which kernels would be selected on other patients?
# --------------------------------------------------
#
# The model is fitted again on halves of the patients. The penalty is strong on purpose:
# fits that select few kernels make the bound on chance selections small. With a tenth
# of this penalty they would select a dozen kernels, and the bound would prove nothing.

stability = stability_selection(model, X, y, 50, random_state=0)
print(f"{stability.stable_kernels.size} pass, {stability.verdict}")
StabilityDisplay(stability).plot()

# %%
# The share of each view
# ----------------------
#
# Bars show shares of the variance of the decision values. Lines contain the shares of
# 90 % of the fits to resampled patients. For views of genes, micro-RNA and proteins of
# 220 tumors, see ``multikernel.datasets.load("omics_tcga_brca_3views",
# as_frame=True)``.

fits = bootstrap(model, X, y, 20, random_state=0)
KernelWeightsDisplay.from_estimator(model, values="view_shares", bootstrap=fits)
