"""
A first model
=============

This example fits a classifier of tumors, benign or malignant, and shows which of
thirty measurements it uses. The default kernels are one Gaussian on each measurement,
four kernels on all of them, and their interactions. A sparse model selects the few
kernels that it needs.
"""

# %%
# The fit
# -------
#
# Kernels on all columns require comparable scales, so a scaler comes first.

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
scaler = StandardScaler().set_output(transform="pandas")
model = make_pipeline(scaler, SpicyMKLClassifier(alpha=0.02)).fit(X_train, y_train)
mkl = model[-1]
print(f"accuracy on new samples: {model.score(X_test, y_test):.3f}")
print(f"{len(mkl.active_kernels_)} of {len(mkl.kernel_weights_)} kernels are active")
print(f"no model lowers the objective by more than {mkl.duality_gap_:.3%}")

# %%
# The active kernels
# ------------------

from multikernel.display import KernelWeightsDisplay

KernelWeightsDisplay.from_estimator(mkl)

# %%
# The duality gap during the fit
# ------------------------------
#
# Every point is a model with a bound on how much any other model could lower the
# objective. A pass is one read of all Gram matrices.

from multikernel.display import ConvergenceDisplay

ConvergenceDisplay.from_estimator(mkl, x="passes")
