"""Model files: exact round trips, nothing untrusted built, never half a file."""

import io
import json
import os
import sys
import zipfile
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, pairwise_distances
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from multikernel import SpicyMKLClassifier, SpicyMKLRegressor, persistence
from multikernel.exceptions import UntrustedTypesError
from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
from multikernel.persistence import load, save
from multikernel.problem import Progress
from multikernel.regularizers import BlockL1


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def test_round_trip_of_a_pipeline(path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    save(model, path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.classes_, model.classes_)


def test_searches_are_saved_with_their_splitters(path):
    X, y = make_regression(30, 3, random_state=0)
    grid = {"alpha": [0.1, 1.0]}
    for cv in (None, ShuffleSplit(2)):
        model = SpicyMKLRegressor([GaussianKernel(2.0)])
        search = GridSearchCV(model, grid, cv=cv).fit(X, y)
        save(search, path)
        np.testing.assert_array_equal(load(path).predict(X), search.predict(X))


@pytest.mark.parametrize("scoring", ["roc_auc", ["neg_log_loss", "f1_macro"]])
def test_searches_are_saved_with_their_scores(path, scoring):
    X, y = make_classification(40, 3, n_redundant=0, random_state=0)
    model = SpicyMKLClassifier([GaussianKernel(1.0), LinearKernel()])
    refit = True if isinstance(scoring, str) else scoring[0]
    search = GridSearchCV(
        model, {"alpha": [0.01, 0.1]}, cv=2, scoring=scoring, refit=refit
    )
    save(search.fit(X, y), path)
    assert load(path).score(X, y) == search.score(X, y)


def own_score(y, predicted):
    return 0.0


@pytest.mark.parametrize("function", [own_score, pairwise_distances, os.getcwd])
def test_scores_of_other_functions_are_refused(path, function):
    save({"scorer": make_scorer(function)}, path)
    with pytest.raises(UntrustedTypesError, match=function.__name__):
        load(path)


def test_own_classes_and_gaussian_process_kernels_are_trusted(path):
    history = (Progress(1, 0.5, 2.0, 0.1, 3),)
    save({"penalty": BlockL1(alpha=2.0), "history": history}, path)
    assert load(path) == {"penalty": BlockL1(alpha=2.0), "history": history}
    kernel = RBF(2.0) + WhiteKernel(0.5)
    save(GaussianProcessRegressor(kernel), path)
    assert load(path).kernel == kernel


@pytest.mark.parametrize("n_classes", [2, 3])
def test_round_trip_of_a_model_without_listing_anything(path, n_classes):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((45, 3)), columns=["a", "b", "c"])
    y = np.arange(45) % n_classes
    kernels = [ColumnKernel(GaussianKernel(1.0), "a"), RBF(2.0), LinearKernel()]
    model = SpicyMKLClassifier(kernels, alpha=0.001).fit(X, y)
    save(make_pipeline(model), path)
    loaded = load(path)[-1]
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.history_, model.history_)
    assert loaded.kernel_names_ == model.kernel_names_
    assert loaded.status_ == model.status_
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert loaded.fit(X, y).duality_gap_ == pytest.approx(model.duality_gap_)


class Foreign:
    """A class that nobody has vouched for."""

    built = 0

    def __init__(self, value):
        self.value = value

    def __setstate__(self, state):
        type(self).built += 1
        self.__dict__.update(state)


FOREIGN = f"{Foreign.__module__}.Foreign"


@pytest.fixture
def foreign(path, monkeypatch):
    # importlib mode does not register this module under the name skops looks for.
    monkeypatch.setitem(sys.modules, Foreign.__module__, sys.modules[__name__])
    monkeypatch.setattr(Foreign, "built", 0)
    save({"ok": 1, "foreign": Foreign(3)}, path)
    return path


def test_foreign_types_are_named_and_not_built(foreign):
    with pytest.raises(UntrustedTypesError, match=r"not trusted: .*Foreign"):
        load(foreign)
    assert Foreign.built == 0


@pytest.mark.parametrize("trusted", [[FOREIGN], [Foreign]])
def test_foreign_types_are_built_once_listed(foreign, trusted):
    assert load(foreign, trusted=trusted)["foreign"].value == 3
    assert Foreign.built == 1


def test_listing_one_type_trusts_no_other(foreign):
    with pytest.raises(UntrustedTypesError, match="Foreign"):
        load(foreign, trusted=[Counter])


def test_functions_are_refused(path):
    save(FunctionTransformer(os.getcwd), path)
    with pytest.raises(UntrustedTypesError, match="getcwd"):
        load(path)


@pytest.mark.parametrize(
    "name",
    [
        "multikernel.persistence.Path",  # imported there, defined elsewhere
        "multikernel.persistence.save",  # ours, but no class
        "multikernel.persistence.Missing",
        "multikernel.no_such_module.Thing",
        "multikernel_lookalike.Thing",
        "sklearn.utils.Bunch",  # a class of scikit-learn, but no estimator
        "os.system",
    ],
)
def test_names_that_only_look_like_ours_are_refused(path, name):
    module, _, attribute = name.rpartition(".")
    node = {"__class__": attribute, "__module__": module, "__loader__": "ObjectNode"}
    node |= {"content": None, "__id__": 1, "protocol": 2, "_skops_version": "0.11"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", json.dumps(node))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(UntrustedTypesError, match=name):
        load(path)


@pytest.mark.parametrize("content", [b"", b"no zip at all"])
def test_other_files_are_refused_in_a_sentence(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no model file written by"):
        load(path)


def test_zip_without_a_model_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(ValueError, match="is no model file written by"):
        load(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no model file"):
        load(tmp_path / "none.skops")
    with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
        save(BlockL1(1.0), tmp_path / "none" / "model.skops")
    with pytest.raises(IsADirectoryError, match=r"Cannot save to .*: it is a folder"):
        save(BlockL1(1.0), tmp_path)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_interrupt_leaves_the_old_file(path, monkeypatch, step, error):
    save(BlockL1(1.0), path)

    def interrupt(*_):
        raise error

    monkeypatch.setattr(persistence.os, step, interrupt)
    with pytest.raises(error):
        save(BlockL1(2.0), path)
    monkeypatch.undo()
    assert load(path) == BlockL1(1.0)
    assert os.listdir(path.parent) == [path.name]


def test_overwriting_and_permissions(path):
    save(BlockL1(1.0), path)
    save(BlockL1(2.0), path)
    assert load(path) == BlockL1(2.0)
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_without_skops_the_extra_is_named(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"multikernel\[persistence\]"):
        save(BlockL1(1.0), path)
    with pytest.raises(ImportError, match=r"multikernel\[persistence\]"):
        load(path)
