"""
Many targets: what does each group of features explain, and where
=================================================================

Encoding models of neuroimaging predict hundreds of voxels from a few groups of
features, what a picture looks like and what it shows, and ask which group explains
which voxel on new data. Scans are too large for this page, so that written digits take
their place: the targets are the pixels of the lower half of an image. Two groups are
what it looks like above, and the third is which digit it is.
"""

# %%
# Groups of features, and 22 targets
# ----------------------------------
#
# Pixels that are nearly always white are left out, as are voxels outside of a mask.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from multikernel import SpicyMKLRegressor, variance_split
from multikernel.display import VarianceSplitDisplay
from multikernel.kernels import GaussianKernel

images = load_digits(as_frame=True)
pixels = list(images.data.columns)
mask = images.data[pixels[32:]].std() > 2.0
Y = images.data[mask.index[mask]]
X = images.data[pixels[:32]].assign(digit=images.target.astype("category"))
X, X_new, Y, Y_new = train_test_split(X, Y, train_size=600, random_state=0)

# %%
# One model of all targets
# ------------------------
#
# The targets share one choice of kernels, and each has functions of its own.

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
# Where each group explains
# -------------------------
#
# R² of every target is split among the groups, so that the last three maps sum to the
# first. Rows 3 and 4 tell of the row next to them, and further down it is the digit
# that tells most, but for the left end of the last row: it goes with that of the first.

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
# How sure that is
# ----------------
#
# Shares of all pixels together are means of theirs. So are those of each resample, and
# 90 % of these lie between the ends of a bar's line.

VarianceSplitDisplay(split).plot()
