"""How far the default dictionary goes, and at which strength."""

import numpy as np
import pandas as pd
import pytest

from multikernel import (
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
)
from multikernel.datasets import make_epistasis
from multikernel.estimators import NullAlpha
from multikernel.estimators.read import defaults
from multikernel.gram import LowRank

X, y, _ = make_epistasis(300, n_markers=12, random_state=1)
PAIRS = 12 * 11 // 2


@pytest.fixture
def _wide(monkeypatch):
    """Let 66 pairs of 300 rows be more than always join."""
    monkeypatch.setattr(defaults, "FEW_NUMBERS", 1000)


@pytest.mark.usefixtures("_wide")
@pytest.mark.parametrize("storage", ["auto", "lazy", "by_kernel", "folder"])
def test_wide_defaults_find_the_pair_in_every_storage(storage, tmp_path):
    storage = LowRank(folder=tmp_path) if storage == "folder" else storage
    model = SpicyMKLClassifier(storage=storage).fit(X, y)
    assert model.summary()["kernel"].tolist() == ["x0 × x1"]
    assert len(model.kernel_weights_) == 4 + 2 * 12 + PAIRS
    assert model.fit_info_["left_out"] == ""
    reason = model.fit_info_["storage_reason"]
    assert "auto" in str(storage) or "interactions are computed" in reason


@pytest.mark.usefixtures("_wide")
def test_wide_defaults_have_at_least_the_strength_of_noise():
    model = SpicyMKLClassifier().fit(X, y)
    assert model.alpha_ > 0.01
    null = SpicyMKLClassifier(alpha=NullAlpha(n_permutations=19)).fit(X, y)
    # Rows with copies are one sample here, and several there.
    assert model.alpha_ == pytest.approx(null.alpha_, rel=1e-12)
    assert SpicyMKLClassifier(alpha=0.02).fit(X, y).alpha_ == 0.02


@pytest.mark.usefixtures("_wide")
def test_a_search_and_its_folds_have_the_dictionary_of_a_fit():
    search = SpicyMKLClassifierCV(cv=3).fit(X, y)
    assert search.kernel_names_ == SpicyMKLClassifier().fit(X, y).kernel_names_
    assert search.summary()["kernel"][0] == "x0 × x1"


def test_a_fit_says_what_its_dictionary_leaves_out(monkeypatch, capsys):
    assert SpicyMKLClassifier().fit(X, y).fit_info_["left_out"] == ""
    monkeypatch.setattr(defaults, "FEW_NUMBERS", 0)
    monkeypatch.setattr(defaults, "LIMIT", 0.0)
    model = SpicyMKLClassifier(verbose=1).fit(X, y)
    assert model.fit_info_["left_out"].startswith(
        "the interactions of pairs of 12 columns: "
    )
    assert model.fit_info_["left_out"] in capsys.readouterr().err
    assert model.summary().attrs["left_out"] == model.fit_info_["left_out"]
    assert model.fit_info_["left_out"] in model._repr_html_()
    assert LpMKLClassifier().fit(X, y).fit_info_["left_out"] == ""


@pytest.mark.parametrize(("d", "affordable"), [(1000, True), (5000, False)])
def test_genotypes_count_by_their_values(d, affordable):
    class Shape:
        seen = X_ = np.random.default_rng(0).integers(0, 3, (1000, d)).astype(float)
        labels, targets, shared = np.zeros(1000), np.zeros((1, 1000)), False

    assert (defaults.fit_seconds(Shape) <= defaults.LIMIT) is affordable
    Shape.seen = np.random.default_rng(0).normal(size=(1000, d))
    assert defaults.fit_seconds(Shape) > defaults.LIMIT


def test_a_fit_says_when_landmarks_replace_exact_kernels():
    random = np.random.default_rng(0)
    rows, settings = random.normal(size=(2400, 4)), {"alpha": 0.3, "tol": 0.1}
    exact = SpicyMKLRegressor(**settings).fit(rows[:400], rows[:400, 0])
    assert exact.fit_info_["left_out"] == ""
    frame = pd.DataFrame(rows).add_prefix("column ")
    for table in (rows, frame.assign(sign=np.where(rows[:, 0] > 0.0, "+", "-"))):
        rough = SpicyMKLRegressor(**settings).fit(table, rows[:, 0])
        assert "300 landmarks" in rough.fit_info_["left_out"]


@pytest.mark.filterwarnings("ignore:The default dictionary would have")
def test_classes_of_wide_tables_have_a_smaller_default_strength(monkeypatch):
    monkeypatch.setattr(defaults, "FEW_NUMBERS", 0)
    monkeypatch.setattr(defaults, "LIMIT", 0.0)
    wide = np.random.default_rng(0).normal(size=(60, 310))
    labels = wide[:, 0] > 0.0
    for table in (wide, pd.DataFrame(wide)):
        assert SpicyMKLClassifier().fit(table, labels).alpha_ == 0.003
    assert SpicyMKLClassifier().fit(wide[:, :1], labels).alpha_ == 0.01
    assert SpicyMKLClassifier(alpha=0.02).fit(wide, labels).alpha_ == 0.02
    assert SpicyMKLRegressor().fit(wide, wide[:, 0]).alpha_ > 0.01


def test_pairs_of_several_classes_join_if_all_classes_are_quick(monkeypatch):
    three = np.random.default_rng(0).integers(0, 3, size=len(y))
    one = len(SpicyMKLClassifier().fit(X, y).kernel_names_)
    assert len(SpicyMKLClassifier().fit(X, three).kernel_names_) == one > PAIRS
    monkeypatch.setattr(defaults, "LIMIT", 0.03)
    assert len(SpicyMKLClassifier().fit(X, y).kernel_names_) == one
    model = SpicyMKLClassifier().fit(X, three)
    assert len(model.kernel_names_) == one - PAIRS
    assert "interactions of pairs of 12 columns" in model.fit_info_["left_out"]
