"""Every estimator passes scikit-learn's own conformance suite."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from multikernel.estimators import ESTIMATORS

INSTANCES = [estimator() for estimator in ESTIMATORS]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(INSTANCES)
def test_sklearn_conformance(estimator, check):
    check(estimator)
