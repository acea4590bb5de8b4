"""
Two markers that act together, among all pairs
==============================================

In these simulated genotypes, two of 200 markers change the risk of a disease, but only
together: for each genotype of one, the mean risk over the other is the same. A model of
all pairs finds them, with a proof that no other pair would lower the objective.
"""

import matplotlib.pyplot as plt
import numpy as np

from multikernel import SpicyMKLClassifier
from multikernel.datasets import make_epistasis

X, y, best = make_epistasis(1200, n_markers=200, random_state=0)
train, test = slice(700), slice(700, None)

# %%
# All 19 900 pairs, at the strength of noise
# ------------------------------------------
#
# The default dictionary has a kernel for each marker and each pair. At the default
# strength no kernel is active if the classes are permuted.

model = SpicyMKLClassifier().fit(X[train], y[train])
print(model.summary())
print(f"relative duality gap {model.duality_gap_:.1e}")
print(f"accuracy {model.score(X[test], y[test]):.2f}, at best {best:.2f}")

# %%
# The risk of each pair of genotypes
# ----------------------------------
#
# In the left picture the cells differ, but the means of rows and columns do not. The
# right picture shows the probabilities of the model.

grid = np.zeros((9, X.shape[1]))
grid[:, 0], grid[:, 1] = np.divmod(np.arange(9), 3)
cells = (3 * X[train, 0] + X[train, 1]).astype(int)
people = np.bincount(cells, minlength=9)
shares = np.bincount(cells, y[train] > 0, 9) / np.maximum(people, 1)
predicted = model.predict_proba(grid)[:, 1]

figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for axis, values, title in zip(
    axes, (shares, predicted), ("share of class +1", "model"), strict=True
):
    image = axis.imshow(values.reshape(3, 3), vmin=0, vmax=1, cmap="cividis")
    axis.set(title=title, xlabel="alleles of x1", ylabel="alleles of x0")
figure.colorbar(image, ax=axes)
plt.show()
