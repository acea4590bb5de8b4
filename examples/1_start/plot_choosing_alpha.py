"""
Choose the regularization strength
==================================

The regularization strength determines how many kernels are active. A regularization
path starts with an empty model and decreases the strength. Cross-validation follows
the path on every fold and chooses the strength that predicts best.
"""

# %%
# One path
# --------
#
# A kernel becomes active where its line leaves zero. Every point of the path has its
# own certificate and starts from the previous model.

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLClassifier, SpicyMKLClassifierCV, regularization_path
from multikernel.display import RegularizationPathDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X.iloc[:, 20:])
path = regularization_path(SpicyMKLClassifier(), X, y, n_alphas=20)
RegularizationPathDisplay.from_path(path)

# %%
# Cross-validation
# ----------------
#
# The Gram matrices are computed once for all folds. ``alpha_`` is the strength with the
# best score on the validation samples.

search = SpicyMKLClassifierCV(n_alphas=20, cv=3).fit(X, y)
print(f"alpha {search.alpha_:.4f} of {len(search.cv_results_['param_alpha'])} tried")
print(f"score {search.best_score_:.3f}, {len(search.active_kernels_)} active kernels")
RegularizationPathDisplay.from_estimator(search)
