"""Draw the first picture of README and site: ``python docs/charts/path.py``."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer

from multikernel import (
    RegularizationPathDisplay,
    SpicyMKLClassifier,
    regularization_path,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = (X - X.mean()) / X.std()
model = SpicyMKLClassifier(alpha=0.015)
found = regularization_path(model, X, y, n_alphas=40, alpha_min_ratio=0.015)
display = RegularizationPathDisplay.from_path(found, best_alpha=model.alpha).plot()
figure = display.figure_
# For the width that it is shown at.
figure.set_size_inches(5.7, 4.5)

if __name__ == "__main__":
    picture = Path(__file__).parents[1] / "images" / "path.png"
    figure.savefig(picture, dpi=160, bbox_inches="tight")
