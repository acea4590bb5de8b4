"""Cross-validation that keeps groups together."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel.estimators import (
    FixedWeightsMKLRegressorCV,
    GroupOMPClassifierCV,
    GroupOMPRegressorCV,
    HKLRegressorCV,
    LocalRademacherMKLRegressorCV,
    LpMKLClassifierCV,
    LpMKLRegressorCV,
    SpicyMKLClassifierCV,
    SpicyMKLOrdinalCV,
    SpicyMKLRegressorCV,
    SpicyMKLSurvivalCV,
)
from multikernel.kernels import GaussianKernel, LinearKernel

KERNELS = [GaussianKernel(2.0), LinearKernel()]
SEARCHES = [
    SpicyMKLClassifierCV(KERNELS, n_alphas=3),
    SpicyMKLRegressorCV(KERNELS, n_alphas=3),
    LpMKLClassifierCV(KERNELS, Cs=[1.0], ps=[2.0]),
    GroupOMPClassifierCV(KERNELS, alphas=[0.1]),
]
GROUPS = np.repeat(list("fbdcae"), 10)


def data():
    return make_classification(60, 4, random_state=0)


def scores(search):
    return search.cv_results_["split0_test_score"]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
@pytest.mark.parametrize("splitter", [GroupKFold(3), StratifiedGroupKFold(3)])
def test_groups_reach_the_splitter(search, splitter):
    X, y = data()
    weights = np.where(np.arange(60) % 7 == 0, 0.0, 1.0)
    search.set_params(cv=splitter).fit(X, y, weights, groups=GROUPS)
    found = dict(search.cv_results_)
    splits = list(splitter.split(X, y, GROUPS))
    search.set_params(cv=splits).fit(X, y, weights)
    assert found.keys() == search.cv_results_.keys()
    for name, column in found.items():
        np.testing.assert_array_equal(column, search.cv_results_[name])


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
@pytest.mark.parametrize("splitter", [GroupKFold(3), LeaveOneGroupOut()])
def test_groups_that_are_missing_are_asked_for(search, splitter):
    message = rf"cv={type(splitter).__name__}\(.*\) requires groups.*: pass groups, one"
    with pytest.raises(ValueError, match=message):
        search.set_params(cv=splitter).fit(*data())


@pytest.mark.parametrize("groups", [GROUPS[:-1], GROUPS[:, None]])
def test_groups_of_another_shape(groups):
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=2, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"one label per sample, shape \(60,\)"):
        search.fit(*data(), groups=groups)


def test_the_name_of_a_column_is_no_groups():
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=2, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=r"groups='a' must be one value per sample"):
        search.fit(*data(), groups="a")


def test_folds_require_two_groups():
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=2, cv=3)
    with pytest.raises(ValueError, match=r"at least two groups, .* contains one"):
        search.fit(*data(), groups=["a"] * len(GROUPS))


@pytest.mark.parametrize("odd", [None, np.nan, 1])
def test_groups_that_are_missing_or_mixed(odd):
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=2, cv=3)
    with pytest.raises(ValueError, match=r"a missing label|mixes text and other"):
        search.fit(*data(), groups=[odd, *GROUPS.tolist()[1:]])


def test_groups_pass_through_scikit_learn():
    X, y = data()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=2, cv=GroupKFold(2))
    pipeline = make_pipeline(StandardScaler(), search)
    pipeline.fit(X, y, spicymklclassifiercv__groups=GROUPS)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), search.set_fit_request(groups=True))
        results = cross_validate(
            routed,
            X,
            y,
            cv=GroupKFold(2),
            params={"groups": GROUPS},
            error_score="raise",
        )
    assert np.isfinite(results["test_score"]).all()


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize(
    "search",
    [
        SpicyMKLRegressorCV(n_alphas=3, cv=2),
        LpMKLRegressorCV(Cs=[1.0], ps=[2.0], cv=2),
        GroupOMPRegressorCV(alphas=[0.1], cv=2),
        HKLRegressorCV(alphas=[0.3], cv=2),
        FixedWeightsMKLRegressorCV(Cs=[1.0], cv=2),
        LocalRademacherMKLRegressorCV(Cs=[1.0], thetas=[1], cv=2),
        SpicyMKLSurvivalCV(n_alphas=3, cv=2),
        SpicyMKLOrdinalCV(n_alphas=3, cv=2),
    ],
    ids=lambda search: type(search).__name__,
)
def test_groups_are_routed_to_every_search(search):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = X[:, 0] + 0.3 * random.normal(size=60)
    if isinstance(search, SpicyMKLSurvivalCV):
        y = pd.DataFrame({"event": np.arange(60) % 3 > 0, "time": np.exp(y)})
    if isinstance(search, SpicyMKLOrdinalCV):
        y = np.digitize(y, [-0.3, 0.3])
    parts = []

    class Recorded(GroupKFold):
        def split(self, X, y=None, groups=None):
            parts.append(groups)
            return super().split(X, y, groups)

    search.set_params(cv=Recorded(2))
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), search.set_fit_request(groups=True))
        results = cross_validate(
            routed,
            X,
            y,
            cv=GroupKFold(3),
            params={"groups": GROUPS},
            error_score="raise",
        )
    assert np.isfinite(results["test_score"]).all()
    assert [len(set(groups)) for groups in parts] == [4] * 3
