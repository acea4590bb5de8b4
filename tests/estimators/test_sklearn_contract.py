"""Every estimator passes scikit-learn's own conformance suite."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from multikernel.estimators import ESTIMATORS
from multikernel.kernels import GaussianKernel, ParameterGrid, PolynomialKernel

# The suite fits some hundred times: searches get few kernels, strengths and folds.
SHORT = {
    "kernels": ParameterGrid(
        [GaussianKernel(1.0), GaussianKernel(4.0), PolynomialKernel(2)], [slice(None)]
    ),
    "n_alphas": 4,
    "cv": 3,
}


def instances():
    for estimator in ESTIMATORS:
        yield estimator(**SHORT) if "cv" in estimator().get_params() else estimator()


# Warnings are what some checks ask for, and the data of others is hopeless.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(list(instances()))
def test_sklearn_conformance(estimator, check):
    check(estimator)
