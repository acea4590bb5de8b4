"""Model files: exact round trips, nothing untrusted built, never half a file."""

import importlib
import io
import json
import os
import re
import signal
import sys
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from collections import Counter
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io  # noqa: F401 - what it imports itself is no finding of a test
from numpy.lib import format as npy
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, pairwise_distances
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import multikernel
from multikernel import SpicyMKLClassifier, SpicyMKLRegressor, persistence
from multikernel._install import install_line
from multikernel.exceptions import UntrustedTypesError, VersionWarning
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
    with pytest.warns(UserWarning, match=function.__name__):
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
    with pytest.warns(UserWarning, match=r"\['foreign'\] has a type .* trusted="):
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


def test_listed_types_that_cannot_be_imported_are_named(foreign, monkeypatch):
    monkeypatch.delattr(sys.modules[__name__], "Foreign")
    with pytest.raises(ValueError, match=r"Cannot load .*Foreign', which cannot be im"):
        load(foreign, trusted=[FOREIGN])
    monkeypatch.setitem(sys.modules, FOREIGN.rpartition(".")[0], None)
    with pytest.raises(ValueError, match=r"Cannot load .*Foreign', which cannot be im"):
        load(foreign, trusted=[FOREIGN])


def test_a_file_that_cannot_be_read_is_not_called_damaged(foreign, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        load(foreign)


def test_listing_one_type_trusts_no_other(foreign):
    with pytest.raises(UntrustedTypesError, match="Foreign"):
        load(foreign, trusted=[Counter])


def test_functions_are_refused(path):
    with pytest.warns(UserWarning, match="getcwd"):
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
    with pytest.raises(ValueError, match="is not a model file written by"):
        load(path)


def archive(path, schema, **members):
    """Write an archive as skops would, from a tree that it would not."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        text = (
            schema if isinstance(schema, str) else json.dumps({"protocol": 2} | schema)
        )
        file.writestr("schema.json", text)
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


def node(loader, name, **fields):
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, **fields}


def several(content, **fields):
    return node("ListNode", "builtins.list", content=content, **fields)


def stored(values, **header):
    """Return an array as a member of an archive, its header changed."""
    buffer = io.BytesIO()
    facts = npy.header_data_from_array_1_0(values) | header
    npy.write_array_header_1_0(buffer, facts)
    return buffer.getvalue() + values.tobytes()


def read_array(name="numpy.ndarray", **fields):
    return node("NdArrayNode", name, type="numpy", file="a.npy", **fields)


def json_node(content):
    return node("JsonNode", "builtins.str", content=content)


def laughs():
    """Lists that hold the list before ten times, by reference."""
    inner = several([json_node("1")], __id__=1)
    for level in range(2, 12):
        inner = several([inner, *[several([], __id__=level - 1)] * 9], __id__=level)
    return inner


def boxed():
    """Hundreds of references to one array, which an array of objects takes apart."""
    shape = node("TupleNode", "builtins.tuple", content=[json_node("1")] * 2)
    content = [read_array(__id__=1)] * 200
    return node(
        "NdArrayNode", "numpy.ndarray", type="json", content=content, shape=shape
    )


MEGABYTE = stored(np.zeros(125_000))
BOMBS = {
    "zeros": lambda path: archive(path, several([]), a=bytes(60_000_000)),
    "one member, read often": lambda path: archive(
        path, several([read_array(f"numpy.x{i}") for i in range(100)]), a=MEGABYTE
    ),
    "an array taken apart": lambda path: archive(path, boxed(), a=MEGABYTE),
    "many nodes": lambda path: archive(path, several([json_node("1")] * 20_000)),
    "a huge text": lambda path: archive(path, "[" + "[]," * 1_000_000 + "0]"),
    "JSON in JSON": lambda path: archive(
        path, several([json_node("[" + "[]," * 1_000_000 + "0]")])
    ),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_small_files_that_take_much_are_refused_before_they_take_it(path, bomb):
    bomb(path)
    assert path.stat().st_size < 2_000_000
    load_and_measure = partial(load, max_bytes=2**25)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"Cannot load .*model\.skops.*max_bytes"):
            load_and_measure(path)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def test_a_directory_that_lies_about_a_size_is_not_believed(path):
    archive(path, several([read_array()]), a=stored(np.zeros(7_500_000)))
    data = bytearray(path.read_bytes())
    entry = data.rfind(b"PK\x01\x02")  # that of the array
    data[entry + 24 : entry + 28] = (128).to_bytes(4, "little")
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="is not a model file written by"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_max_bytes_lets_larger_models_in(path):
    save({"X": np.ones(100_000)}, path)
    with pytest.raises(ValueError, match="raise max_bytes"):
        load(path, max_bytes=100_000)
    assert load(path, max_bytes=10_000_000)["X"].sum() == 100_000


def test_references_describe_nothing_endless(path):
    archive(path, laughs())
    first, *others = load(path)
    assert others == [[]] * 9  # what the file says there, not what it said before
    assert len(first) == 10


def test_what_is_stored_once_is_read_once_and_shared(path):
    X = np.ones(1000)
    save({"one": X, "other": X, "nested": [X]}, path)
    loaded = load(path)
    assert loaded["one"] is loaded["other"] is loaded["nested"][0]


def flagged(path, place, value, width):
    save(BlockL1(1.0), path)
    data = bytearray(path.read_bytes())
    entry = data.find(b"PK\x01\x02")
    data[entry + place : entry + place + width] = value.to_bytes(width, "little")
    path.write_bytes(data)


def doubled(path):
    archive(path, several([]))
    with zipfile.ZipFile(path, "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr("schema.json", "{}")


def repacked(path, method):
    save(BlockL1(1.0), path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)


def truncated(path):
    save(BlockL1(1.0), path)
    path.write_bytes(path.read_bytes()[:-30])


def changed(path):
    save({"X": np.arange(1000.0)}, path)
    data = bytearray(path.read_bytes())
    data[100:110] = b"\xff" * 10
    path.write_bytes(data)


empty_tuple = node("TupleNode", "builtins.tuple", content=[])
DAMAGED = {
    "truncated": truncated,
    "changed": changed,
    "encrypted": lambda path: flagged(path, 8, 1, 2),
    "a name twice": doubled,
    "bzip2": lambda path: repacked(path, zipfile.ZIP_BZIP2),
    "lzma": lambda path: repacked(path, zipfile.ZIP_LZMA),
    "no dictionary": lambda path: archive(path, "[]"),
    "a protocol of the future": lambda path: archive(path, '{"protocol": 99}'),
    "a protocol that is none": lambda path: archive(path, '{"protocol": "x"}'),
    "an old protocol": lambda path: archive(path, several([]) | {"protocol": 0}, a=b""),
    "deep text": lambda path: archive(path, "[" * 100_000),
    "a deep tree": lambda path: archive(
        path, '{"protocol": 2, "content": [' * 900 + "]}" * 900
    ),
    "an unknown loader": lambda path: archive(path, node("NoNode", "builtins.list")),
    "no such member": lambda path: archive(path, several([read_array()])),
    "a huge shape": lambda path: archive(
        path, read_array(), a=stored(np.zeros(1), shape=(10**15,))
    ),
    "items of no size": lambda path: archive(
        path, read_array(), a=stored(np.zeros(0, "S1"), descr="|S0", shape=(10**9,))
    ),
    "a pickle": lambda path: archive(
        path, read_array(), a=stored(np.zeros(1), descr="|O")
    ),
    "bad arguments": lambda path: archive(
        path,
        node("RandomStateNode", "numpy.random.mtrand.RandomState", content=empty_tuple),
    ),
    "a state that is none": lambda path: archive(
        path,
        node(
            "ObjectNode", "sklearn.linear_model._ridge.Ridge", content=json_node("[1]")
        ),
    ),
    "an abstract class": lambda path: archive(
        path, node("ObjectNode", "multikernel.problem.Status", content=json_node("1"))
    ),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_files_are_one_sentence_that_names_the_file(path, damage):
    damage(path)
    with pytest.raises(ValueError, match=r"model\.skops is not a model file") as caught:
        load(path)
    assert type(caught.value) is ValueError
    assert "\n" not in str(caught.value)


def test_files_of_a_later_format_say_what_to_do(path, monkeypatch):
    monkeypatch.setattr(persistence.archive, "FORMAT", persistence.archive.FORMAT + 1)
    save(BlockL1(1.0), path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"Cannot load .* update multikernel"):
        load(path)


def test_files_of_an_earlier_format_say_which_version_wrote_them(path, monkeypatch):
    monkeypatch.setattr(persistence.archive, "FORMAT", persistence.archive.FORMAT - 1)
    earlier = persistence.archive.versions() | {"multikernel": "0.0.9"}
    monkeypatch.setattr(persistence.archive, "versions", lambda: earlier)
    save(BlockL1(1.0), path)
    monkeypatch.undo()
    with pytest.raises(
        ValueError, match=r"Version 0\.0\.9 of multikernel wrote the file in"
    ):
        load(path)


# Parts of fitted models that are no public names, by where files of format 4 find them.
PARTS_OF_FILES = {
    "estimators.group_omp.stages": ("ReorderedGrams", "StagedModel", "Stages"),
    "estimators.hkl.candidates": ("HullPath",),
    "estimators.hkl.data": ("HullModel", "HullNames", "Scaler"),
    "estimators.publish.combined": ("CombinedKernel",),
    "estimators.publish.fitted": ("FittedModel",),
    "estimators.publish.predict": (
        "AdditiveModel",
        "KernelGrams",
        "LandmarkGrams",
        "PrecomputedGrams",
    ),
    "estimators.read.dictionary": ("KernelNames",),
    "estimators.search.path": ("RegularizationPath",),
    "gram.normalization": ("Normalization",),
    "gram.steps": ("TraceStep", "VarianceStep"),
    "persistence.values": ("StoredValue",),
    "kernels.graph.grid": ("FittedGrid",),
    "kernels.graph.levels": ("PolynomialLevels",),
    "kernels.views": ("OptionalKernel", "ViewDictionary"),
}


def test_classes_that_files_name_stay_where_they_are():
    """One that moves needs another number of the format."""
    for module, names in PARTS_OF_FILES.items():
        found = importlib.import_module(f"multikernel.{module}")
        assert {vars(found)[name].__module__ for name in names} == {found.__name__}
    assert persistence.archive.FORMAT == 4


def test_files_hold_the_versions(path):
    save(BlockL1(1.0), path)
    with zipfile.ZipFile(path) as file:
        version = json.loads(file.read("multikernel.json"))
    assert version == {
        "format": persistence.archive.FORMAT,
        "version": multikernel.__version__,
        "multikernel": multikernel.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }


def saved_with(monkeypatch, path, model, **others):
    """Save a model as other versions of libraries would."""
    here = persistence.archive.versions()
    other = here | {name.replace("_", "-"): text for name, text in others.items()}
    monkeypatch.setattr(persistence.archive, "versions", lambda: other)
    monkeypatch.setattr(sklearn.base, "__version__", other["scikit-learn"])
    save(model, path)
    monkeypatch.undo()


FITTED = make_pipeline(StandardScaler(), StandardScaler()).fit([[0.0], [2.0]])
NEXT_NUMPY = f"{int(np.__version__.partition('.')[0]) + 1}.0.0"


@pytest.mark.parametrize(
    ("model", "others", "words"),
    [
        (FITTED, {"scikit_learn": "1.4.2"}, "scikit-learn 1.4.2 but loaded with"),
        (BlockL1(1.0), {"multikernel": "0.0.9"}, "multikernel 0.0.9 but loaded with"),
        (FITTED, {"numpy": NEXT_NUMPY}, f"numpy {NEXT_NUMPY} but loaded with"),
        (
            make_pipeline(StandardScaler(), SpicyMKLClassifier()),
            {"multikernel": "0.0.9", "scikit_learn": "1.4.2"},
            "multikernel 0.0.9 and scikit-learn 1.4.2 but loaded with multikernel",
        ),
    ],
    ids=["scikit-learn", "ours", "numpy", "both"],
)
def test_files_of_other_versions_are_loaded_with_one_sentence(
    path, monkeypatch, model, others, words
):
    saved_with(monkeypatch, path, model, **others)
    with pytest.warns(InconsistentVersionWarning) as caught:
        load(path)
    assert [each.category for each in caught] == [VersionWarning]
    assert f"model.skops was written with {words}" in str(caught[0].message)
    assert caught[0].filename == __file__
    about = caught[0].message
    assert about.current_sklearn_version == sklearn.__version__
    wrote = others.get("scikit_learn", sklearn.__version__)
    assert about.original_sklearn_version == wrote


@pytest.mark.parametrize(
    ("written", "here", "spoken_of"),
    [
        ("1.0.0", "1.3.2", False),  # promised, and tested by stored files
        ("1.3.2", "1.3.0", False),
        ("1.4.0.dev0", "1.3.2", True),
        ("1.9.0", "2.0.0", True),
        ("0.1.0", "0.2.0", True),
    ],
)
def test_later_versions_of_the_same_first_number_need_no_warning(
    path, monkeypatch, written, here, spoken_of
):
    saved_with(monkeypatch, path, BlockL1(1.0), multikernel=written)
    reader = persistence.archive.versions() | {"multikernel": here}
    monkeypatch.setattr(persistence.archive, "versions", lambda: reader)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path)
    assert [each.category for each in caught] == [VersionWarning] * spoken_of


@pytest.mark.parametrize(
    ("model", "others"),
    [
        (BlockL1(1.0), {"scikit_learn": "1.4.2"}),  # it holds nothing of it
        (FITTED, {"multikernel": "0.0.9"}),
        (FITTED, {"numpy": np.__version__ + ".1"}),  # arrays stay what they are
    ],
    ids=["scikit-learn", "ours", "numpy"],
)
def test_versions_that_do_not_matter_are_not_spoken_of(
    path, monkeypatch, model, others
):
    saved_with(monkeypatch, path, model, **others)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)


def test_an_estimator_without_a_fit_comes_back_with_its_parameters(path):
    model = SpicyMKLClassifier([GaussianKernel("median")], alpha=0.1, storage="lazy")
    save(model, path)
    loaded = load(path)
    assert repr(loaded) == repr(model)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        loaded.predict([[0.0]])
    assert loaded.fit([[0.0], [1.0], [2.0]], [0, 1, 1]).n_features_in_ == 1


def test_files_are_compressed(path):
    names = [f"a column with a rather long name, number {i}" for i in range(3000)]
    save({"names": names, "again": names}, path)
    with zipfile.ZipFile(path) as file:
        unpacked = sum(entry.file_size for entry in file.infolist())
    assert path.stat().st_size < unpacked / 20
    assert load(path)["names"] == names


NUMBER = stored(np.array(7))
CALLED = {
    # Constructors of classes whose objects may be built, but not called.
    "sklearn.linear_model._ridge.Ridge": [
        node("ListNode", "sklearn.linear_model._ridge.Ridge", content=[]),
        node(
            "DictNode",
            "sklearn.linear_model._ridge.Ridge",
            content={},
            key_types=several([]),
        ),
        node(
            "ConstructorFromReduceNode",
            "sklearn.linear_model._ridge.Ridge",
            content=empty_tuple,
        ),
        node("TypeNode", "sklearn.linear_model._ridge.Ridge"),
        read_array("sklearn.linear_model._ridge.Ridge"),
    ],
    "multikernel.kernels.gaussian.GaussianKernel": [
        node("TupleNode", "multikernel.kernels.gaussian.GaussianKernel", content=[]),
        node("FunctionNode", "multikernel.kernels.gaussian.GaussianKernel"),
    ],
    # Types of numpy that take as many bytes as a number says.
    "numpy.void": [read_array("numpy.void")],
    "numpy.bytes_": [read_array("numpy.bytes_")],
    # Classes of scikit-learn's own tests.
    "sklearn.utils._mocking.CheckingClassifier": [
        node("ObjectNode", "sklearn.utils._mocking.CheckingClassifier", content=None)
    ],
    "sklearn.tests.test_base.MyEstimator": [
        node("ObjectNode", "sklearn.tests.test_base.MyEstimator", content=None)
    ],
}


@pytest.mark.parametrize(
    ("name", "content"), [(name, one) for name in CALLED for one in CALLED[name]]
)
def test_constructors_and_test_classes_are_not_trusted(path, name, content):
    before = set(sys.modules)
    archive(path, several([content]), a=NUMBER)
    with pytest.raises(UntrustedTypesError, match=name):
        load(path)
    assert not any("sklearn.tests" in module for module in set(sys.modules) - before)


def test_a_listed_class_may_be_called(path):
    name = "sklearn.linear_model._ridge.Ridge"
    archive(path, node("ConstructorFromReduceNode", name, content=empty_tuple))
    assert load(path, trusted=[name]).alpha == 1.0


def test_zip_without_a_model_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(ValueError, match="is not a model file written by"):
        load(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no model file"):
        load(tmp_path / "none.skops")
    with pytest.raises(IsADirectoryError, match="is a folder: pass the path of a"):
        load(tmp_path)
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

    monkeypatch.setattr(os, step, interrupt)
    with pytest.raises(error):
        save(BlockL1(2.0), path)
    monkeypatch.undo()
    assert load(path) == BlockL1(1.0)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="has no timers of signals")
def test_interrupts_at_any_moment_leave_one_whole_file(path):
    """One that zipfile meets while it writes came out as another error."""
    old, new = ({"X": [np.full(9, i) for i in range(n)]} for n in (1, 40))
    start = time.perf_counter()
    save(new, path)
    seconds = time.perf_counter() - start
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for share in np.linspace(0.05, 1.1, 40):
        save(old, path)
        with suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, share * seconds)
            save(new, path)
            time.sleep(2 * seconds)  # the alarm rings here at the latest
        assert len(load(path)["X"]) in (1, 40)
        assert os.listdir(path.parent) == [path.name]
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_overwriting_and_permissions(path):
    save(BlockL1(1.0), path)
    save(BlockL1(2.0), path)
    assert load(path) == BlockL1(2.0)
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_without_skops_the_extra_is_named(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=re.escape(install_line("persistence"))):
        save(BlockL1(1.0), path)
    with pytest.raises(ImportError, match=re.escape(install_line("persistence"))):
        load(path)


def killed_save(path):
    """Save in a process that is killed when everything is written and nothing moved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of BLAS do not matter to a file
        child = os.fork()
    if child == 0:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        save(BlockL1(2.0), path)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="no processes are forked there")
def test_a_killed_save_leaves_the_old_file(path):
    save(BlockL1(1.0), path)
    killed_save(path)
    assert load(path) == BlockL1(1.0)
    save(BlockL1(3.0), path)
    assert load(path) == BlockL1(3.0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_leaves_the_old_file(path, monkeypatch):
    save(BlockL1(1.0), path)

    def full(*_, **__):
        name = path.with_name("full.part")
        name.touch()
        return os.open("/dev/full", os.O_WRONLY), str(name)

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(OSError, match=r"No space left on device.*model\.skops"):
        save(BlockL1(2.0), path)
    monkeypatch.undo()
    assert load(path) == BlockL1(1.0)
    assert os.listdir(path.parent) == [path.name]


def test_what_is_no_path_and_no_list_of_types_is_named(path):
    for other in (io.BytesIO(), None, b"model.skops"):
        with pytest.raises(ValueError, match="save: path must be the path of a file"):
            save(StandardScaler(), other)
        with pytest.raises(ValueError, match="load: path must be the path of a file"):
            load(other)
    save(StandardScaler(), path)
    for trusted in ("uuid.UUID", True, [3], [Counter()]):
        with pytest.raises(ValueError, match="load: trusted must be a list of types"):
            load(path, trusted=trusted)
