"""Parts of scikit-learn in model files: what is trusted, and what is checked."""

import io
import json
import time
import zipfile

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import NMF
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from multikernel import SpicyMKLClassifier
from multikernel.exceptions import UntrustedTypesError
from multikernel.kernels import LinearKernel
from multikernel.persistence import load, save

X = np.abs(np.random.default_rng(0).standard_normal((30, 3)))
y = X[:, 0] > np.median(X[:, 0])
COMPILED = (SVC, NuSVC, SVR, OneClassSVM, KNeighborsClassifier, KMeans, NMF)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


@pytest.mark.parametrize("kind", [*COMPILED, SGDClassifier])
def test_parts_whose_compiled_code_trusts_arrays_are_refused(path, kind):
    name = kind.__name__
    with pytest.warns(UserWarning, match=rf"{name}.* trusted=.*{name}"):
        save(kind().fit(X, y), path)
    with pytest.raises(UntrustedTypesError, match=rf"not trusted: .*{name}"):
        load(path)


def test_a_listed_part_is_loaded(path):
    with pytest.warns(UserWarning, match="trusted"):
        save(SVC().fit(X, y), path)
    assert load(path, trusted=[SVC]).predict(X).shape == (30,)


def test_documented_pipelines_are_loaded_without_a_word(path, recwarn):
    numbers = make_pipeline(PowerTransformer(), StandardScaler())
    columns = make_column_transformer((numbers, [0, 1]), (OneHotEncoder(), [2]))
    codes = np.column_stack([X[:, :2], np.arange(30) % 3])
    model = make_pipeline(columns, SelectKBest(k=3), SpicyMKLClassifier())
    stacked = StackingClassifier([("a", model)], LogisticRegression(), cv=2)
    save(stacked.fit(codes, y), path)
    np.testing.assert_array_equal(load(path).predict(codes), stacked.predict(codes))
    assert not [each for each in recwarn if "trusted" in str(each.message)]


def altered(path, model, change):
    """Save a model with something changed in its tree or its members."""
    save(model, path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    tree = json.loads(members["schema.json"])
    content = tree["content"]
    change(content.get("content", content), members)
    members["schema.json"] = json.dumps(tree).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


def put(members, node, array):
    stream = io.BytesIO()
    np.save(stream, array)
    members[node["file"]] = stream.getvalue()


def fewer_columns(state, members):
    state["_n_features_outs"]["content"][0]["content"] = "1"


def unsorted_categories(state, members):
    put(members, state["categories_"]["content"][0], np.array([2.0, 1.0, 0.0]))


def unsorted_categories_of_no_column(state, members):
    unsorted_categories(state, members)
    state["_n_features_outs"]["content"][0]["content"] = "-1"


def negative_groups_of_no_column(state, members):
    mapping = state["_default_to_infrequent_mappings"]["content"][0]
    put(members, mapping, np.array([0, -7, 0]))
    state["_n_features_outs"]["content"][0]["content"] = "-1"


def larger_groups(state, members):
    mapping = state["_default_to_infrequent_mappings"]["content"][0]
    put(members, mapping, np.array([0, 10**6, 0]))


def other_drop(state, members):
    dropped = state["_drop_idx_after_grouping"]["content"][0]
    dropped["content"] = "-5"


codes = np.repeat([[0.0], [1.0], [2.0]], [3, 2, 2], axis=0)
ENCODERS = [
    (fewer_columns, OneHotEncoder()),
    (unsorted_categories, OneHotEncoder()),
    (unsorted_categories_of_no_column, OneHotEncoder()),
    (larger_groups, OneHotEncoder(min_frequency=3)),
    (negative_groups_of_no_column, OneHotEncoder(min_frequency=3)),
    (other_drop, OneHotEncoder(drop="first")),
]


@pytest.mark.parametrize(("change", "encoder"), ENCODERS)
def test_encoders_that_would_write_outside_their_matrix_are_refused(
    path, change, encoder
):
    save(encoder.fit(codes), path)
    expected = encoder.transform(codes).toarray()
    np.testing.assert_array_equal(load(path).transform(codes).toarray(), expected)
    altered(path, encoder, change)
    with pytest.raises(ValueError, match="OneHotEncoder"):
        load(path)


@pytest.mark.parametrize("position", ["-1", "625", "2000000000"])
def test_generators_that_would_read_beyond_their_numbers_are_refused(path, position):
    def move(state, members):
        inner = state["state"]["content"]["content"]["state"]["content"]
        inner["pos"]["content"] = position

    state = np.random.RandomState(0)
    save({"state": state}, path)
    assert load(path)["state"].random_sample() == state.random_sample()
    altered(path, {"state": state}, move)
    with pytest.raises(ValueError, match=r"position .* 0 (to|and) 624"):
        load(path)


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (3, "At least 3 of the 5 files in the archive do not belong"),
        (50_000, "more than 50000"),
    ],
)
def test_members_that_nothing_refers_to_are_not_read(path, n, words):
    save(LinearKernel(), path)
    with zipfile.ZipFile(path, "a") as file:
        for number in range(n if n < 10 else 1):
            file.writestr(str(number), b"")
    if n > 10:  # as many entries of the directory; none is read
        path.write_bytes(path.read_bytes() + b"PK\x01\x02" * n)
    start = time.process_time()
    with pytest.raises(ValueError, match=words):
        load(path)
    assert time.process_time() - start < 2.0
