"""One selection for all classes, by losses that take them at once."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from multikernel.estimators import (
    LocalRademacherMKLClassifier,
    LpMKLClassifier,
    SpicyMKLClassifier,
)

X, LABELS = load_iris(return_X_y=True)
X, LABELS = (X - X.mean(axis=0))[::3], np.array(["a", "b", "c"])[LABELS[::3]]


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLClassifier(alpha=0.01, selection="shared"),
        LpMKLClassifier(selection="shared"),
        LocalRademacherMKLClassifier(theta=2, selection="shared"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_all_classes_share_one_choice_of_kernels(model, loss):
    model.set_params(loss=loss).fit(X, LABELS)
    assert model.kernel_weights_.shape == (len(model.kernel_names_),)
    assert model.duality_gap_ <= model.tol
    assert model.score(X, LABELS) > 0.9
    decision = model.decision_function(X)
    assert decision.shape == (len(X), 3)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[decision.argmax(axis=1)]
    )
    if loss == "log_loss":
        shares = np.exp(decision - decision.max(axis=1, keepdims=True))
        np.testing.assert_allclose(
            model.predict_proba(X), shares / shares.sum(axis=1, keepdims=True)
        )
