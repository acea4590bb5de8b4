"""Every estimator passes scikit-learn's own conformance suite."""

from typing import get_type_hints

import pytest
from reference.estimators import ESTIMATORS
from reference.sklearn_checks import each_check
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
)

from multikernel.estimators import (
    HKLClassifier,
    HKLRegressor,
    LpMKLRegressorCV,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
)
from multikernel.kernels import GaussianKernel, ParameterGrid, PolynomialKernel
from multikernel.kernels.graph import PolynomialGrid

# The suite fits some hundred times: searches get few kernels, strengths and folds.
SHORT = {
    "kernels": ParameterGrid([GaussianKernel(1.0), PolynomialKernel(2)], [slice(None)]),
    "n_alphas": 2,
    "alpha_min_ratio": 1e-2,
    "alphas": [0.01, 1.0],
    "Cs": [0.1, 10.0],
    "ps": [2.0],
    "thetas": [2],
    "cv": 2,
}

# Graphs of a hundred features are searched for some of its data otherwise.
SMALL_GRAPH = {"kernels": PolynomialGrid(1), "tol": 1e-2}

# One of each kind: the others read data by the same code.
IN_FULL = (
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    LpMKLRegressorCV,
    HKLRegressor,
    OneClassMKL,
)

# Losses with corners, where optimal models need not be unique.
CORNERS = ("hinge", "epsilon_insensitive")


def instances():
    for estimator in ESTIMATORS:
        has = estimator().get_params()
        short = {name: value for name, value in SHORT.items() if name in has}
        if "n_alphas" in has:
            del short["alphas"]
        if "HKL" in estimator.__name__:
            short |= SMALL_GRAPH
            short |= {"alpha_min_ratio": 1e-5} if "cv" in has else {"alpha": 1e-2}
            yield estimator(**short)
        else:
            yield estimator(**short) if "cv" in has else estimator()


# Warnings are what some checks ask for, and the data of others is hopeless.
pytestmark = [
    pytest.mark.filterwarnings("error:::multikernel"),
    pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning"),
    pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning"),
]


@each_check(instances(), IN_FULL)
def test_sklearn_conformance(estimator, check):
    check(estimator)


@pytest.mark.slow
@each_check([HKLClassifier(), HKLRegressor()], ())
def test_sklearn_conformance_of_defaults(estimator, check):
    check(estimator)


def with_corners():
    for estimator in instances():
        # A greedy selection is no optimum: copies change it within the tolerance.
        if "loss" in estimator.get_params() and not hasattr(estimator, "prefix"):
            for loss in CORNERS:
                if estimator._all_checks()["loss"](loss) is None:
                    estimator.set_params(loss=loss)
                    slow = "HKL" in type(estimator).__name__
                    marks = [pytest.mark.slow] if slow else []
                    yield pytest.param(estimator, marks=marks)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_types_of_arguments_can_be_resolved(estimator):
    for function in (estimator.__init__, estimator.fit):
        assert get_type_hints(function)


@pytest.mark.parametrize("estimator", list(with_corners()), ids=type)
def test_weights_are_copies_for_losses_with_corners(estimator):
    check_sample_weight_equivalence_on_dense_data(type(estimator).__name__, estimator)
