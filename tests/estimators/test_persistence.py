"""Every estimator survives a model file, fitted, and answers as before."""

import numpy as np
import pytest
from reference.estimators import ESTIMATORS
from sklearn.base import is_classifier

from multikernel import load, save
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid
from multikernel.kernels.graph import PolynomialGrid

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], [0, 1])
SHORT = {"n_alphas": 3, "Cs": [0.1, 1.0], "ps": [1.0, 2.0], "cv": 2}


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DegenerateKernelWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_models_survive_a_file(kind, tmp_path):
    pytest.importorskip("skops")
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = np.sin(2.0 * X[:, 0])
    if is_classifier(kind()):
        y = np.where(y > 0.0, "high", "low")
    has = kind().get_params()
    settings = {name: value for name, value in SHORT.items() if name in has}
    kernels = PolynomialGrid(2) if "HKL" in kind.__name__ else KERNELS
    model = kind(kernels, **settings).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.contributions(X), model.contributions(X))
    assert again.kernel_names_ == model.kernel_names_
    assert repr(again.get_params()) == repr(model.get_params())
    published = {name for name in vars(model) if name.endswith("_")}
    assert published == {name for name in vars(again) if name.endswith("_")}
    if "cv" in has:
        assert again.best_params_ == model.best_params_
        assert again.cv_results_["params"] == model.cv_results_["params"]
