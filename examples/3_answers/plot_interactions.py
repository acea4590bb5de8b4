"""
What two columns say only together: interactions
================================================

Is a handwritten digit odd? No part of a picture says so by itself: ink in the middle is
there in a 3 and in an 8. With a kernel for every pair of columns a model can say which
two parts have to be looked at together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from multikernel import SpicyMKLClassifier
from multikernel.inspection import contributions
from multikernel.kernels import GaussianKernel, Interactions, per_column

images, digits = load_digits(return_X_y=True)
blocks = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
names = [f"{row}{column}" for row in "abcd" for column in "1234"]
X, odd = pd.DataFrame(blocks, columns=names), digits % 2 == 1
X_train, X_test, odd_train, odd_test = train_test_split(
    X, odd, train_size=500, stratify=digits, random_state=0
)

# %%
# Curves alone, and with all pairs
# --------------------------------
#
# The 16 columns are the mean grey values of 2 x 2 pixels, rows a to d, columns 1 to 4.

each_column = per_column(GaussianKernel("median"), 16)
curves = SpicyMKLClassifier(each_column, alpha=0.01).fit(X_train, odd_train)
model = SpicyMKLClassifier(Interactions(each_column), alpha=0.01)
model.fit(X_train, odd_train)
print(f"curves alone    {curves.score(X_test, odd_test):.3f}")
print(f"and their pairs {model.score(X_test, odd_test):.3f}")
print(f"{len(model.active_kernels_)} of {len(model.kernel_weights_)} kernels in use")
print(f"no other pair would lower the objective by more than {model.duality_gap_:.4%}")

# %%
# One Gaussian on all columns, as the default kernels have it, predicts this better
# still. It names no parts of the picture, and a table of pairs does.

table = model.summary()
pairs = table[table["kernel"].str.contains("×")]
pairs.head(6).round(3)

# %%
# The strongest pairs on the mean picture
# ---------------------------------------

strongest = pairs.head(6)
figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
axis.imshow(blocks.mean(axis=0).reshape(4, 4), cmap="Greys", vmax=20)
for name, share in zip(strongest["kernel"], strongest["variance_share"], strict=True):
    ends = np.array([divmod(names.index(end), 4) for end in name.split(" × ")])
    width = 8 * share / strongest["variance_share"].max()
    axis.plot(ends[:, 1], ends[:, 0], "o-", linewidth=width)
axis.set_xticks(range(4), "1234")
axis.set_yticks(range(4), "abcd")
_ = axis.set_title("pairs of blocks, as wide as their share")

# %%
# What the strongest pair says
# ----------------------------
#
# Its term over both columns, without their curves; points are digits. Ink at c4, on the
# right below the middle, speaks for an even digit where b3 above it is empty, as in a
# 6, and for an odd one where b3 is dark, as in a 3.

name = strongest["kernel"].iloc[0]
first, second = name.split(" × ")
across, up = (np.linspace(0, X_train[end].max(), 40) for end in (first, second))
cells = pd.DataFrame(np.tile(X_train.mean(), (40 * 40, 1)), columns=names)
cells[first], cells[second] = (x.ravel() for x in np.meshgrid(across, up))
terms = contributions(model, cells)
term = terms.terms[:, terms.names.index(name)].reshape(40, 40)

largest = np.abs(term).max()
figure, axis = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
drawn = axis.pcolormesh(across, up, term, cmap="RdBu_r", vmin=-largest, vmax=largest)
jitter = np.random.default_rng(0).uniform(-0.15, 0.15, (len(X_train), 2))
for answer, marker in ((True, "^"), (False, "o")):
    chosen = odd_train == answer
    places = X_train.loc[chosen, [first, second]].to_numpy() + jitter[chosen]
    label = "odd" if answer else "even"
    axis.plot(*places.T, marker, color="black", markersize=3, alpha=0.5, label=label)
axis.set(xlabel=first, ylabel=second, title=name)
axis.legend(loc="upper right")
_ = figure.colorbar(drawn, label="towards odd")
