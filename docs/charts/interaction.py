"""Draw the first picture of README and site: ``python docs/charts/interaction.py``."""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import train_test_split

from multikernel import SpicyMKLRegressor
from multikernel.display import ContributionDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 30))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(400)
X_train, _, y_train, _ = train_test_split(X, y, random_state=0)
model = SpicyMKLRegressor().fit(X_train, y_train)

# For the width that it is shown at.
figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
for ax, columns in zip(axes, ("x1 × x2", "x0"), strict=True):
    ContributionDisplay.from_estimator(model, X_train, columns, ax=ax)
axes[1].set_ylabel("")  # the bar between both has it

if __name__ == "__main__":
    picture = Path(__file__).parents[1] / "images" / "interaction.png"
    figure.savefig(picture, dpi=130, bbox_inches="tight")
