"""
A first model: which measurements matter, and how sure is the optimum
======================================================================

Thirty measurements of cell nuclei, benign or malignant. The default dictionary puts a
Gaussian on each measurement and four kernels on all of them together; a sparse model
keeps the few that it needs.
"""

# %%
# The fit
# -------
#
# A scaler goes in front, as kernels on all columns together expect comparable scales.

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
print(f"{len(mkl.active_kernels_)} of {len(mkl.kernel_weights_)} kernels in use")
print(f"the objective can be lowered by {mkl.duality_gap_:.3%} at most")

# %%
# What it looks at
# ----------------

from multikernel.display import KernelWeightsDisplay

KernelWeightsDisplay.from_estimator(mkl)

# %%
# How the proof came about
# ------------------------
#
# Every point is a model with a bound on what any other choice of functions could gain.
# One pass is one reading of all Gram matrices.

from multikernel.display import ConvergenceDisplay

ConvergenceDisplay.from_estimator(mkl, x="passes")
