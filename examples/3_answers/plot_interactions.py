"""
Interactions: what two columns say only together
================================================

Is a handwritten digit odd? No single part of the image answers this: both a 3 and an 8
have ink in the middle. With one kernel per pair of columns, a model can find the pairs
of image parts that matter.
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
# Single columns, and all pairs
# -----------------------------
#
# The 16 columns are the mean gray values of 2 x 2 pixels, rows a to d, columns 1 to 4.

each_column = per_column(GaussianKernel("median"), 16)
curves = SpicyMKLClassifier(each_column, alpha=0.01).fit(X_train, odd_train)
model = SpicyMKLClassifier(Interactions(each_column), alpha=0.01)
model.fit(X_train, odd_train)
print(f"single columns {curves.score(X_test, odd_test):.3f}")
print(f"with all pairs {model.score(X_test, odd_test):.3f}")
print(
    f"{len(model.active_kernels_)} of {len(model.kernel_weights_)} kernels are active"
)
print(f"no other pair lowers the objective by more than {model.duality_gap_:.4%}")

# %%
# A Gaussian on all columns, which the default dictionary contains, predicts even
# better. But only a table of pairs shows which parts of the image matter.

table = model.summary()
pairs = table[table["kernel"].str.contains("×")]
pairs.head(6).round(3)

# %%
# The strongest pairs on the mean image
# -------------------------------------

strongest = pairs.head(6)
figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
axis.imshow(blocks.mean(axis=0).reshape(4, 4), cmap="Greys", vmax=20)
for name, share in zip(strongest["kernel"], strongest["variance_share"], strict=True):
    ends = np.array([divmod(names.index(end), 4) for end in name.split(" × ")])
    width = 8 * share / strongest["variance_share"].max()
    axis.plot(ends[:, 1], ends[:, 0], "o-", linewidth=width)
axis.set_xticks(range(4), "1234")
axis.set_yticks(range(4), "abcd")
_ = axis.set_title("pairs of blocks (width: share)")

# %%
# The strongest pair
# ------------------
#
# The map shows the interaction without the curves of the single columns; points are
# digits. Ink at c4 (right, below the middle) indicates an even digit if b3 above it is
# empty, as in a 6, and an odd one if b3 is dark, as in a 3.

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
_ = figure.colorbar(drawn, label="contribution to odd")
