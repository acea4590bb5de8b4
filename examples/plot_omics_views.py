"""
Three views of the same patients, and how sure the selection is
===============================================================

Gene expression, methylation and clinical numbers of 150 patients. One model weighs
the views, a resampling says which of its kernels would have been chosen on other
patients, and the duality gap says that the weights are those of the optimum.
"""

# %%
# The data: two genes and the age carry signal
# --------------------------------------------

import os

import numpy as np
import pandas as pd

from multikernel import SpicyMKLClassifier, SpicyMKLClassifierCV, StabilityDisplay
from multikernel.inspection import stability_selection
from multikernel.kernels import GaussianKernel, per_column

full = os.environ.get("MULTIKERNEL_EXAMPLES") == "full"
n_genes = 200 if full else 15
rng = np.random.default_rng(0)
genes = pd.DataFrame(rng.standard_normal((150, n_genes))).add_prefix("expr_")
sites = pd.DataFrame(rng.uniform(size=(150, n_genes))).add_prefix("meth_")
X = genes.join(sites).assign(age=rng.normal(60, 10, 150), stage=rng.integers(1, 4, 150))
signal = 2 * np.sin(2 * X["expr_3"]) + 2 * X["expr_7"] + (X["age"] - 60) / 10
y = np.where(signal + 0.5 * rng.standard_normal(150) > 0, "relapse", "none")

# %%
# The task in ten lines
# ---------------------
#
# A view is a name and its columns; the kernels behind them are as wide as samples are
# apart. The strength comes from cross-validation, and then half of the patients at a
# time are fitted anew.

each = per_column(GaussianKernel("median"), n_genes)
views = {
    "expression": (list(genes.columns), each),
    "methylation": (list(sites.columns), each),
    "clinic": ["age", "stage"],
}
search = SpicyMKLClassifierCV(views, n_alphas=15, cv=3).fit(X, y)
model = SpicyMKLClassifier(views, alpha=search.alpha_)
stability = stability_selection(model, X, y, 100 if full else 20, random_state=0)
search.summary("view").round(2)

# %%
# Which kernels would have been chosen on other patients
# ------------------------------------------------------

StabilityDisplay(stability).plot()

# %%
# The kernels of the model, with their share of the variance of its decision values:

search.summary().head().round(2)
