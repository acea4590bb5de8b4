"""
Many targets: where does each group of features explain them?
=============================================================

Encoding models in neuroimaging predict hundreds of voxels from a few groups of
features, such as the appearance and the content of a picture. They ask which group
explains which voxel on new data. This example uses handwritten digits instead of scans.
The targets are the pixels of the lower half of an image. Two groups of features
describe the upper half, and the third is the digit.
"""

# %%
# Groups of features, and 22 targets
# ----------------------------------
#
# Pixels that are nearly always white are omitted, like voxels outside a mask.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from multikernel import SpicyMKLRegressor
from multikernel.display import VarianceSplitDisplay
from multikernel.inspection import variance_split
from multikernel.kernels import GaussianKernel

images = load_digits(as_frame=True)
pixels = list(images.data.columns)
mask = images.data[pixels[32:]].std() > 2.0
Y = images.data[mask.index[mask]]
X = images.data[pixels[:32]].assign(digit=images.target.astype("category"))
X, X_new, Y, Y_new = train_test_split(X, Y, train_size=600, random_state=0)

# %%
# One model for all targets
# -------------------------
#
# The targets share one selection of kernels, and each has its own functions.

wide = GaussianKernel("median")
groups = {
    "rows 1 and 2": (pixels[:16], wide),
    "rows 3 and 4": (pixels[16:32], wide),
    "which digit": "digit",
}
model = SpicyMKLRegressor(groups).fit(X, Y)
print(
    f"R² on new images, mean over {Y.shape[1]} pixels: {model.score(X_new, Y_new):.2f}"
)

# %%
# The share of each group
# -----------------------
#
# The R² of every target is split among the groups, so the last three maps sum to the
# first. Rows 3 and 4 explain the adjacent row. The digit explains most of the lower
# rows, except for the left end of the last row, which resembles that of the first.

split = variance_split(model, X_new, Y_new, "view", random_state=0)
maps = np.full((4, 32), np.nan)
maps[:, mask] = np.vstack([split.shares.sum(axis=1), split.shares.T])
titles = ["all groups", *split.names]
figure, axes = plt.subplots(2, 2, figsize=(7, 3.8), layout="constrained")
for axis, values, title in zip(axes.flat, maps, titles, strict=True):
    shown = axis.imshow(values.reshape(4, 8), vmin=0.0, vmax=0.9)
    axis.set(title=title, xticks=[], facecolor="0.9")
    axis.set_yticks(range(4), ["row 5", "row 6", "row 7", "row 8"])
    axis.label_outer()
figure.colorbar(shown, ax=axes, label="share of held-out variance")

# %%
# Uncertainty of the shares
# -------------------------
#
# Bars show the mean share over all pixels. Lines contain the mean shares of 90 % of the
# resamples.

VarianceSplitDisplay(split).plot()
