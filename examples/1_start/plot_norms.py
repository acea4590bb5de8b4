"""
Sparse or dense weights: the norm p
===================================

In lp-norm MKL, the parameter p sets how sparse the kernel weights are. With p = 1 a few
kernels have all the weight; with p = infinity all weights are equal. In between,
informative kernels have larger weights. The best p depends on how many kernels are
informative, so choose it together with C, the weight of the errors.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from multikernel import LpMKLClassifier, LpMKLClassifierCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X.iloc[:, 20:])

# %%
# The same kernels with four norms
# --------------------------------

norms = (1.0, 4 / 3, 2.0, float("inf"))
figure, axes = plt.subplots(
    len(norms), sharex=True, figsize=(7, 6), layout="constrained"
)
for p, axis in zip(norms, axes, strict=True):
    weights = LpMKLClassifier(p=p).fit(X, y).kernel_weights_
    axis.bar(range(len(weights)), weights / weights.max())
    axis.set_title(f"p = {p:.3g}", loc="left")
    axis.set_yticks([0, 1])
axes[-1].set_xlabel("kernel")
figure.supylabel("weight / largest weight")

# %%
# Cross-validation
# ----------------

search = LpMKLClassifierCV(ps=norms, Cs=(0.01, 0.1, 1.0, 10.0), cv=3).fit(X, y)
print(search.best_params_, f"score {search.best_score_:.3f}")
