"""
Sparse or even weights? The norm p
==================================

With p = 1 a few kernels take all weight, with p = infinity all have the same; in
between lie models that lean on the informative kernels and still listen to the
others. Which is best depends on how many kernels carry signal, so p is chosen with C.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from multikernel import LpMKLClassifier, LpMKLClassifierCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X.iloc[:, 20:])

# %%
# The same kernels under four norms
# ---------------------------------

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
figure.supylabel("weight, the largest one as 1")

# %%
# Chosen by cross-validation
# --------------------------

search = LpMKLClassifierCV(ps=norms, Cs=(0.01, 0.1, 1.0, 10.0), cv=3).fit(X, y)
print(search.best_params_, f"score {search.best_score_:.3f}")
