"""
Three views of the same patients, and how sure the selection is
===============================================================

Ten measurements of the cells of 569 tumours, each in three views: its mean over the
cells, its spread, and its value in the worst cells. One model weighs all of them, and
a resampling bounds how many of the chosen ones owe their place to chance.
"""

# %%
# The views
# ---------
#
# A view is a name and its columns; the kernels behind them are as wide as samples are
# apart.

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
# Which kernels would have been chosen on other patients
# ------------------------------------------------------
#
# Half of the patients at a time are fitted anew. The penalty is strong on purpose: fits
# that choose few kernels make the bound on chance low, and more kernels pass than that.
# With a tenth of it they choose a dozen, and the bound would say nothing.

stability = stability_selection(model, X, y, 50, random_state=0)
print(f"{stability.stable_kernels.size} pass, {stability.verdict}")
StabilityDisplay(stability).plot()

# %%
# How much each view tells
# ------------------------
#
# Bars are shares of the variance of the decision values, and 90 % of the fits to
# resampled patients lie between the ends of a line. Genes, micro-RNA and proteins of
# 220 tumours have such views too: ``load("omics_tcga_brca_3views", as_frame=True)`` of
# `multikernel.datasets` holds their columns, or says where it looks for the file.

fits = bootstrap(model, X, y, 20, random_state=0)
KernelWeightsDisplay.from_estimator(model, values="view_shares", bootstrap=fits)
