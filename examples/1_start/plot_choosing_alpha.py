"""
How sparse? Paths and cross-validation
======================================

The strength of the penalty decides how many kernels a model keeps. Nobody has to
guess it: a path starts where the model is empty, and cross-validation follows it on
every fold.
"""

# %%
# One path
# --------
#
# Each kernel enters where its line leaves zero. Every point of the path carries its own
# certificate, and starts from the model before it.

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLClassifier, SpicyMKLClassifierCV, regularization_path
from multikernel.display import RegularizationPathDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X.iloc[:, 20:])
path = regularization_path(SpicyMKLClassifier(), X, y, n_alphas=20)
RegularizationPathDisplay.from_path(path)

# %%
# Which point of it
# -----------------
#
# The Gram matrices are computed once for all folds. ``alpha_`` is the strength that
# predicts best on the samples left out.

search = SpicyMKLClassifierCV(n_alphas=20, cv=3).fit(X, y)
print(f"alpha {search.alpha_:.4f} of {len(search.cv_results_['param_alpha'])} tried")
print(f"score {search.best_score_:.3f}, {len(search.active_kernels_)} kernels in use")
RegularizationPathDisplay.from_estimator(search)
